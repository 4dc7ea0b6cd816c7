"""The throwaway repositories."""

from __future__ import annotations

import subprocess
import tomllib
from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.rehearsal import harness
from supervisor.rehearsal.harness import RehearsalError, clone_repo, prepare_sample, sample_path

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


async def git(repo: Path, *words: str) -> str:
    return (await anyio.run_process(["git", *words], cwd=repo)).stdout.decode().strip()


@pytest.fixture
def someones_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with habits: everything is signed, hooks refuse, and we stand inside a hook of another repository."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-commit").chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(f"[core]\nhooksPath = {hooks}\n[commit]\ngpgSign = true\n[init]\ndefaultBranch = trunk\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))


async def test_the_sample_is_the_same_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").mkdir()
    first = await prepare_sample(tmp_path / "one")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    (tmp_path / "two").mkdir()
    second = await prepare_sample(tmp_path / "two")
    monkeypatch.undo()
    assert await git(first, "rev-parse", "HEAD") == await git(second, "rev-parse", "HEAD")
    assert await git(first, "log", "-1", "--format=%an %ae %D") == "Rehearsal rehearsal@localhost HEAD -> main"
    assert await git(first, "status", "--porcelain", "--ignored") == ""
    assert (first / "tickets.toml").read_bytes() == sample_path().read_bytes()
    assert "tests/test_pricing.py" in await git(first, "ls-files")


@pytest.mark.usefixtures("someones_git")
async def test_the_machines_git_settings_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = await prepare_sample(tmp_path)
    copy = await clone_repo(repo, tmp_path / "copy")
    monkeypatch.undo()
    assert await git(copy, "log", "--format=%s") == "The shop"


async def test_a_clone_has_every_branch_and_no_way_back(tmp_path: Path) -> None:
    repo = await prepare_sample(tmp_path)
    await git(repo, "branch", "develop")
    await git(repo, "tag", "v1")
    await git(repo, "update-ref", "refs/remotes/origin/main", "HEAD")
    await git(repo, "switch", "--quiet", "--create", "feature/x")
    copy = await clone_repo(repo, tmp_path / "copy")
    assert await git(copy, "symbolic-ref", "--short", "HEAD") == "feature/x"
    names = (await git(copy, "for-each-ref", "--format=%(refname)")).split()
    assert {"refs/heads/main", "refs/heads/develop", "refs/tags/v1", "refs/remotes/origin/main"} <= set(names)
    assert await git(copy, "remote") == ""
    assert await git(copy, "status", "--porcelain") == ""
    own, theirs = next((copy / ".git/objects").rglob("??/*")), repo / ".git/objects"
    assert own.stat().st_nlink == 1
    assert not (copy / ".git/objects/info/alternates").exists()
    assert theirs.exists()


async def test_a_worktree_and_a_detached_head_can_be_cloned(tmp_path: Path) -> None:
    repo = await prepare_sample(tmp_path)
    await git(repo, "worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"))
    copy = await clone_repo(tmp_path / "tree", tmp_path / "copy")
    assert await git(copy, "rev-parse", "HEAD") == await git(repo, "rev-parse", "main")
    assert (copy / "tickets.toml").exists()


async def test_what_git_says_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match=r"git clone failed: .*does not exist"):
        await clone_repo(tmp_path / "nothing", tmp_path / "copy")


async def test_the_loop_is_not_blocked(tmp_path: Path) -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await anyio.sleep(0.001)
            beats += 1

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        await prepare_sample(tmp_path)
        group.cancel_scope.cancel()
    assert beats > 5


def test_the_sample_of_a_wheel_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sample_path().name == "tickets.toml"
    monkeypatch.setattr(harness, "HERE", tmp_path)
    (tmp_path / "sample.toml").write_text("")
    assert sample_path() == tmp_path / "sample.toml"


def test_the_shops_tests_are_plain_unittest(tmp_path: Path) -> None:
    """Neither the shop nor its tests need anything but Python, and some fail until their bug is mended."""
    shop = harness.HERE / "tinyshop"
    argv = ["python3", "-m", "unittest", "-q"]
    done = subprocess.run(argv, cwd=shop, env={"PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"}, check=False)
    assert done.returncode == 1


def test_every_ticket_of_the_sample_is_scripted_on_purpose() -> None:
    batch = tomllib.loads(sample_path().read_text("utf-8"))
    assert [ticket["id"] for ticket in batch["ticket"] if "rehearsal" not in ticket] == ["011-look"]
