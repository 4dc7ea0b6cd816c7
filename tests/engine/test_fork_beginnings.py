"""A fork that is started over begins where it was forked, and its lost worktree is made again with its own files."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from supervisor.core import events as ev
from supervisor.core.errors import StoreError
from supervisor.core.model import Mode, State
from supervisor.core.rewinds import Source
from supervisor.core.verbs import REWIND, START_OVER
from supervisor.engine import rewinding
from tests.engine.place import sh
from tests.engine.test_forking import lines, tree, works
from tests.engine.world import World, a, attempts, check_books, running, ticket

if TYPE_CHECKING:
    from supervisor.core.verbs import Verb
    from supervisor.engine.batch import Batch

pytestmark = pytest.mark.anyio
CHILD = "001.2"


@pytest.fixture(autouse=True)
def git_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """git has no rules of whoever runs the tests."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


async def _done(world: World, batch: Batch, ident: str, prompts: int) -> None:
    await world.until(lambda: len(world.agents.prompts(ident)) == prompts)
    await world.until(lambda: batch.board[ident].state is State.DONE and not world.agents.open(ident))
    await world.until(lambda: ident not in batch.engine.custody)


async def _fork(world: World, batch: Batch) -> None:
    """Let 001 commit a file and leave another one, fork it, and let the fork make a third."""
    await _done(world, batch, "001", 1)
    sh(tree(batch, "001"), "add", "a.txt")
    sh(tree(batch, "001"), "commit", "-qm", "a")
    (tree(batch, "001") / "left.txt").write_text("the parent's\n")
    batch.submit("fork", ["001"], {"prompt": "Try it without the cache."})
    await world.until(lambda: CHILD in batch.board)
    await _done(world, batch, CHILD, 1)


def _go_on(batch: Batch) -> None:
    """Commit what the fork has made, and leave a fourth file."""
    sh(tree(batch, CHILD), "add", "c.txt")
    sh(tree(batch, CHILD), "commit", "-qm", "c")
    (tree(batch, CHILD) / "d.txt").write_text("mine\n")


async def _give(batch: Batch, verb: Verb, **told: object) -> str:
    accepted, says = await batch.pool.mailroom.request(verb, CHILD, told)
    assert accepted, says
    return says


def _names(batch: Batch) -> set[str]:
    return {p.name for p in tree(batch, CHILD).iterdir()} - {".git", "hello.txt"}


def _works(world: World) -> None:
    world.agents.acts["001"].append(works("a.txt", "a\n"))
    world.agents.acts[CHILD].append(works("c.txt", "c\n"))


async def _check_begun_again(world: World, batch: Batch) -> None:
    """The fork is where it began: its parent's files and conversation, its own branch and prompt."""
    assert _names(batch) == {"a.txt", "left.txt"}
    assert sh(tree(batch, CHILD), "status", "--porcelain") == "?? left.txt"
    assert sh(tree(batch, CHILD), "rev-parse", "HEAD") == sh(tree(batch, "001"), "rev-parse", "HEAD")
    first, second = world.agents.prompts(CHILD)
    assert second.text == first.text, "the same task, and nothing else"
    assert second.session_id not in (first.session_id, batch.board["001"].session_id)
    shared = [line["uuid"] for line in lines(world, batch.board["001"].session_id)]
    told = [line["uuid"] for line in lines(world, second.session_id)]
    assert told[: len(shared)] == shared
    assert first.uuid not in told, "what the fork did before is left behind"
    assert [r.mode for r in await attempts(batch, CHILD)] == [Mode.FORK, Mode.FORK]
    await check_books(batch)


async def test_a_fork_that_is_started_over_begins_where_it_was_forked(world: World) -> None:
    _works(world)
    async with world.batch(ticket()) as batch, running(batch):
        await _fork(world, batch)
        _go_on(batch)
        found = await rewinding.preview(batch.engine, CHILD, "", Source.BASE)
        assert found.to == "how they were when it was forked"
        assert {f.path for f in found.changes.files} == {"c.txt", "d.txt"}
        await _give(batch, START_OVER)
        await _done(world, batch, CHILD, 2)
        await _check_begun_again(world, batch)
        await _give(batch, REWIND, source="undo")
        assert _names(batch) == {"a.txt", "left.txt", "c.txt", "d.txt"}


async def test_a_death_in_the_middle_of_that_only_repeats_it(world: World) -> None:
    _works(world)
    world.disk.die_at(a(ev.StartedOver))
    with pytest.raises(StoreError):
        async with world.batch(ticket()) as batch, running(batch):
            await _fork(world, batch)
            _go_on(batch)
            await _give(batch, START_OVER)
    async with world.batch(ticket()) as batch, running(batch):
        await _done(world, batch, CHILD, 2)
        await _check_begun_again(world, batch)


async def test_a_death_before_its_first_prompt_begins_it_right(world: World) -> None:
    _works(world)
    async with world.batch(ticket()) as batch:
        with pytest.raises(StoreError):
            async with running(batch):
                await _fork(world, batch)
                world.disk.die_at(a(ev.PromptStored, ticket=CHILD))
                await _give(batch, START_OVER)
                await world.until(lambda: world.disk.dead)
    async with world.batch(ticket()) as batch, running(batch):
        await _done(world, batch, CHILD, 2)
        first, second = world.agents.prompts(CHILD)
        assert (second.text, second.session_id) == (first.text, batch.board[CHILD].session_id)


async def test_its_own_session_s_file_is_enough_or_else_its_parent_s(world: World) -> None:
    _works(world)
    async with world.batch(ticket()) as batch, running(batch):
        await _fork(world, batch)
        first = world.agents.prompts(CHILD)[0]
        world.agents.path(first.session_id).unlink()
        await _give(batch, START_OVER)
        await _done(world, batch, CHILD, 2)
        assert world.agents.prompts(CHILD)[1].text == first.text
        for session in (batch.board["001"].session_id, world.agents.prompts(CHILD)[1].session_id):
            world.agents.path(session or "").unlink()
        await _give(batch, START_OVER)
        await _done(world, batch, CHILD, 3)
        alone = world.agents.prompts(CHILD)[2]
        assert alone.text.startswith("Try it without the cache.\n\n---\nThis ticket was forked from 001")
        assert [r.mode for r in await attempts(batch, CHILD)] == [Mode.FORK, Mode.FORK, Mode.FRESH]
        assert _names(batch) == {"a.txt", "left.txt"}


async def test_a_fork_whose_worktree_is_lost_gets_its_own_files_before_they_are_taken_back(world: World) -> None:
    """So the rewind can be undone: not to what its branch holds, but to what its agent left."""
    _works(world)
    async with world.batch(ticket()) as batch, running(batch):
        await _fork(world, batch)
        shutil.rmtree(tree(batch, CHILD))
        await _give(batch, REWIND, to="1")
        assert _names(batch) == {"a.txt", "left.txt"}
        await _give(batch, REWIND, source="undo")
        assert _names(batch) == {"a.txt", "left.txt", "c.txt"}
