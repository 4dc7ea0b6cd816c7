"""Worktrees: ours are reused, everybody else's are left alone, and eight at once all succeed."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.errors import WorktreeError
from supervisor.engine.git import git, slug
from supervisor.engine.worktree import Worktrees
from tests.e2e.stage import GIT, make_repo

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with one commit."""
    return make_repo(tmp_path / "repo")


@pytest.fixture
def worktrees(repo: Path, tmp_path: Path) -> Worktrees:
    """The worktrees of a batch."""
    return Worktrees(repo, tmp_path / "state" / "worktrees", "batch")


def _git(cwd: Path, *args: str) -> str:
    done = subprocess.run(
        ["git", *args], cwd=cwd, env={**os.environ, **GIT}, check=True, capture_output=True, text=True, timeout=30
    )
    return done.stdout.strip()


async def test_a_new_worktree_is_on_its_own_branch(worktrees: Worktrees, repo: Path) -> None:
    tree = await worktrees.ensure("001", "main", None)
    assert (tree.created, tree.branch) == (True, "supervise/batch/001")
    assert (tree.path / "hello.txt").read_text() == "hello\n"
    assert tree.base_commit == _git(repo, "rev-parse", "main")
    assert _git(repo, "branch", "--show-current") == "main"


async def test_ours_is_reused_with_what_is_in_it(worktrees: Worktrees, repo: Path) -> None:
    first = await worktrees.ensure("001", "main", None)
    (first.path / "work.txt").write_text("uncommitted")
    (repo / "more.txt").write_text("more")
    _git(repo, "add", ".")
    _git(repo, "commit", "-qm", "main moves on")
    again = await worktrees.ensure("001", "main", first.base_commit)
    assert (again.created, again.base_commit) == (False, first.base_commit)
    assert (again.path / "work.txt").read_text() == "uncommitted"


async def test_a_worktree_that_was_removed_comes_back_from_its_branch(worktrees: Worktrees, repo: Path) -> None:
    first = await worktrees.ensure("001", "main", None)
    (first.path / "kept.txt").write_text("kept")
    _git(first.path, "add", ".")
    _git(first.path, "commit", "-qm", "work")
    _git(repo, "worktree", "remove", "--force", str(first.path))
    again = await worktrees.ensure("001", "main", first.base_commit)
    assert again.created
    assert (again.path / "kept.txt").read_text() == "kept"
    assert again.base_commit == first.base_commit


async def test_a_plain_folder_in_the_way_is_an_error_and_stays(worktrees: Worktrees) -> None:
    theirs = worktrees.path("001")
    theirs.mkdir(parents=True)
    (theirs / "precious.txt").write_text("mine")
    with pytest.raises(WorktreeError, match="not a worktree of this repository: move it away"):
        await worktrees.ensure("001", "main", None)
    assert (theirs / "precious.txt").read_text() == "mine"


async def test_somebody_elses_repository_in_the_way_is_an_error(worktrees: Worktrees) -> None:
    worktrees.path("001").parent.mkdir(parents=True)
    make_repo(worktrees.path("001"))
    with pytest.raises(WorktreeError, match="not a worktree of this repository"):
        await worktrees.ensure("001", "main", None)


async def test_a_branch_that_is_checked_out_elsewhere_is_an_error(
    worktrees: Worktrees, repo: Path, tmp_path: Path
) -> None:
    _git(repo, "worktree", "add", "-q", "-b", worktrees.branch("001"), str(tmp_path / "elsewhere"))
    with pytest.raises(WorktreeError, match="already"):
        await worktrees.ensure("001", "main", None)
    assert _git(repo, "rev-parse", "--verify", worktrees.branch("001")), "a branch that is not ours is not deleted"


async def test_a_worktree_switched_to_another_branch_is_an_error(worktrees: Worktrees) -> None:
    tree = await worktrees.ensure("001", "main", None)
    _git(tree.path, "switch", "-qc", "my-own")
    with pytest.raises(WorktreeError, match="is on my-own instead of supervise/batch/001"):
        await worktrees.ensure("001", "main", None)


async def test_an_unknown_base_is_an_error_without_a_trace(worktrees: Worktrees, repo: Path) -> None:
    with pytest.raises(WorktreeError, match="names no commit"):
        await worktrees.ensure("001", "no-such-branch", None)
    assert _git(repo, "branch", "--list", "supervise/*") == ""


async def test_what_an_interrupted_start_left_is_taken_over(worktrees: Worktrees, repo: Path) -> None:
    draft = worktrees.path("001").with_name(".new-001")
    draft.parent.mkdir(parents=True)
    _git(repo, "worktree", "add", "-q", "-b", worktrees.branch("001"), str(draft))
    tree = await worktrees.ensure("001", "main", None)
    assert tree.created
    assert not draft.exists()


async def test_the_lock_of_a_git_that_was_killed_is_in_nobodys_way(worktrees: Worktrees, repo: Path) -> None:
    lock = repo / ".git" / "refs" / "heads" / "supervise" / "batch" / "001.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    tree = await worktrees.ensure("001", "main", None)
    assert tree.created
    lock.touch()
    await worktrees.begin_anew("001", tree.base_commit)
    assert not lock.exists()
    _git(tree.path, "commit", "-q", "--allow-empty", "-m", "work")


async def test_eight_at_the_same_moment_all_get_one(worktrees: Worktrees, repo: Path) -> None:
    async with anyio.create_task_group() as group:
        for n in range(8):
            group.start_soon(worktrees.ensure, f"{n:03}", "main", None)
    assert len(_git(repo, "worktree", "list").splitlines()) == 9
    assert len(_git(repo, "branch", "--list", "supervise/*").splitlines()) == 8


async def test_files_that_git_does_not_carry_are_copied_once(worktrees: Worktrees, repo: Path) -> None:
    (repo / ".env").write_text("TOKEN=1")
    (repo / "data").mkdir()
    (repo / "data" / "big.bin").write_bytes(b"x")
    tree = await worktrees.ensure("001", "main", None, (".env", "data", "*.txt"))
    assert (tree.path / ".env").read_text() == "TOKEN=1"
    assert (tree.path / "data" / "big.bin").exists()
    with pytest.raises(WorktreeError, match="nothing matches 'missing'"):
        await worktrees.ensure("002", "main", None, ("missing",))
    assert not worktrees.path("002").exists()
    assert _git(repo, "branch", "--list", worktrees.branch("002")) == ""


NASTY = [
    "a b",
    "x~1",
    "@{-1}",
    "..",
    "a..b",
    "x.lock",
    "-rf",
    "HEAD",
    "feature/x",
    "修复 🏷️",
    "a\\b",
    "x" * 300,
    ".hidden",
    "x.",
]


@pytest.mark.parametrize("ident", NASTY)
async def test_any_id_gives_a_branch_and_a_directory(worktrees: Worktrees, ident: str) -> None:
    tree = await worktrees.ensure(ident, "main", None)
    assert tree.path.parent == worktrees.path("x").parent
    assert await git(tree.path, "branch", "--show-current") == tree.branch


@given(st.text(max_size=80), st.text(max_size=80))
def test_slugs_are_safe_and_differ(one: str, other: str) -> None:
    safe = slug(one)
    assert safe.isascii()
    assert 0 < len(safe) <= 80
    assert not set(safe) & set("/\\ ~^:?*[@{\0")
    assert ".." not in safe
    assert safe[0] not in ".-"
    if one != other:
        assert slug(one) != slug(other)
