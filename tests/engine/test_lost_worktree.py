"""A worktree that is gone at a start: its ticket goes on in the same session, with the files as they were last kept."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.core import events as ev
from supervisor.core.errors import StoreError
from supervisor.core.model import Mode, State
from supervisor.core.rewinds import last_files
from tests.engine.acts import hang
from tests.engine.place import sh
from tests.engine.world import World, a, attempts, running, ticket

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.engine.batch import Batch
    from tests.engine.fake_session import Act, FakeSession

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def git_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """git has no rules of whoever runs the tests."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


def work(*commits: str, left: str = "left.txt") -> Act:
    """Commit some files one by one, leave one more without a commit, and work on until interrupted."""

    async def act(session: FakeSession, uuid: str) -> None:
        for name in commits:
            (session.start.cwd / name).write_text("committed\n")
            sh(session.start.cwd, "add", name)
            sh(session.start.cwd, "commit", "-qm", name)
        session.edit(left, "mine\n")
        await hang()(session, uuid)

    return act


async def _work_and_lose(world: World, act: Act, **more: Any) -> Path:
    """Let an agent work, rest, and delete its worktree; return where that was."""
    world.agents.acts["001"].append(act)
    async with world.batch(ticket(**more)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        path = batch.engine.worktrees.path("001")
    shutil.rmtree(path)
    return path


def _notes(batch: Batch) -> list[str]:
    return [e.text for e in batch.board.transcript("001").since() if e.text.startswith("the worktree was gone")]


async def test_what_was_not_committed_is_there_again(world: World) -> None:
    path = await _work_and_lose(world, work())
    async with world.batch(ticket()) as batch:
        await batch.pool.run()
        assert batch.board["001"].state is State.DONE
        assert (path / "left.txt").read_text() == "mine\n"
        assert sh(path, "status", "--porcelain") == "?? left.txt", "as it was: not committed"
        (note,) = _notes(batch)
        assert "with the files as they were last kept" in note
        first, second = await attempts(batch)
    assert (second.mode, second.session_id) == (Mode.RESUME, first.session_id)


async def test_commits_of_the_agent_and_what_came_after_them(world: World) -> None:
    path = await _work_and_lose(world, work("one.txt", "two.txt"))
    async with world.batch(ticket()) as batch:
        await batch.pool.run()
        assert batch.board["001"].state is State.DONE
    assert {p.name for p in path.iterdir()} >= {"one.txt", "two.txt", "left.txt"}
    assert sh(path, "log", "--format=%s") == "two.txt\none.txt\nfirst"
    assert sh(path, "status", "--porcelain") == "?? left.txt"


async def test_a_branch_that_has_gone_on_since_is_not_laid_over(world: World) -> None:
    path = await _work_and_lose(world, work())
    branch = "supervise/stage/001"
    sh(world.repo, "worktree", "prune")
    other = world.root / "other"
    sh(world.repo, "worktree", "add", "-q", str(other), branch)
    (other / "hello.txt").write_text("by hand\n")
    sh(other, "commit", "-qam", "by hand")
    sh(world.repo, "worktree", "remove", str(other))
    async with world.batch(ticket()) as batch:
        await batch.pool.run()
        assert "made again from its branch" in _notes(batch)[0]
    assert (path / "hello.txt").read_text() == "by hand\n"
    assert not (path / "left.txt").exists()


async def test_a_snapshot_that_is_gone_too(world: World) -> None:
    path = await _work_and_lose(world, work())
    for ref in sh(world.repo, "for-each-ref", "--format=%(refname)", "refs/supervisor").splitlines():
        sh(world.repo, "update-ref", "-d", ref)
    sh(world.repo, "worktree", "prune")
    sh(world.repo, "gc", "-q", "--prune=now")
    async with world.batch(ticket()) as batch:
        await batch.pool.run()
        assert batch.board["001"].state is State.DONE
        assert "what was not committed is lost" in _notes(batch)[0]
    assert not (path / "left.txt").exists()


async def test_a_ticket_that_was_started_over_does_not_get_its_old_files(world: World) -> None:
    world.agents.acts["001"].append(work())
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["001"].state is State.PAUSED)
        path = batch.engine.worktrees.path("001")
        world.disk.at(a(ev.StartedOver), batch.request_stop)
        batch.submit("start-over", ["001"])
        await world.until(lambda: batch.board["001"].session_id is None)
    shutil.rmtree(path)
    async with world.batch(ticket()) as batch:
        await batch.pool.run()
        assert batch.board["001"].state is State.DONE
    assert not (path / "left.txt").exists()


async def test_the_setup_runs_in_it_also_after_a_death_before_it_was_noted(world: World) -> None:
    setups = world.root / "setups"
    more: dict[str, Any] = {"setup": ("sh", "-c", 'echo x >> "$0"', str(setups))}
    path = await _work_and_lose(world, work(), **more)
    world.disk.die_at(a(ev.WorktreeReady))
    async with world.batch(ticket(**more)) as batch:
        with pytest.raises(StoreError):
            await batch.pool.run()
    assert path.exists()
    setups.unlink()
    async with world.batch(ticket(**more)) as batch:
        await batch.pool.run()
        assert batch.board["001"].state is State.DONE
    assert setups.read_text() == "x\n"
    assert (path / "left.txt").exists()


def test_the_last_files_are_those_of_the_latest_event_that_knows_them() -> None:
    ids = ("001", 1.0)
    prompt = ev.PromptStored(*ids, 1, "u", "task", "text", snapshot="p")  # type: ignore[arg-type]
    ended = ev.AttemptEnded(*ids, 1, "done", snapshot="e")  # type: ignore[arg-type]
    rewound = ev.FilesRewound(*ids, "to", "before", left="r")
    over = ev.StartedOver(*ids, "before")
    unknown = ev.AttemptEnded(*ids, 2, "done")  # type: ignore[arg-type]
    assert last_files([]) == ""
    assert last_files([prompt]) == "p"
    assert last_files([prompt, ended, unknown]) == "e"
    assert last_files([prompt, ended, rewound]) == "r"
    assert last_files([prompt, ended, over]) == ""
    assert last_files([prompt, ended, over, prompt]) == "p"
