"""A ticket's snapshots are bounded, and what can be gone back to is never among those that are dropped."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from supervisor.core import events as ev
from supervisor.core.model import Outcome, PromptKind, State
from supervisor.core.rewinds import can_be_gone_back_to
from supervisor.core.verbs import REWIND, START_OVER
from supervisor.engine import pruning, rewinding
from tests.engine.place import sh
from tests.engine.world import World, running, ticket

if TYPE_CHECKING:
    from supervisor.core.verbs import Verb
    from supervisor.engine.batch import Batch
    from supervisor.engine.context import Engine
    from tests.engine.fake_session import Act, FakeSession

pytestmark = pytest.mark.anyio
KEPT = 2


PRUNED: list[str] = []
"""The tickets that were looked at, once for each time that one came to rest."""


@pytest.fixture(autouse=True)
def few(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few snapshots are kept, and git has no rules of whoever runs the tests."""
    prune = pruning.prune
    PRUNED.clear()

    async def told(engine: Engine, ticket: str) -> int:
        gone = await prune(engine, ticket)
        PRUNED.append(ticket)
        world.agents.changed()
        return gone

    monkeypatch.setattr(pruning, "prune", told)
    monkeypatch.setattr(pruning, "KEPT", KEPT)
    monkeypatch.setattr(pruning, "EVERY", 0)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


def writes(words: str) -> Act:
    """Write a file, and finish."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        (session.start.cwd / "work.txt").write_text(words)
        session.speak("Written.")
        session.result(uuid, "success", "completed")

    return act


async def _rested(world: World, batch: Batch, times: int, ident: str = "001") -> None:
    """Wait until a ticket has come to rest so often."""
    await world.until(lambda: PRUNED.count(ident) == times)
    assert batch.board[ident].state is State.DONE


async def _talk(world: World, batch: Batch, turns: int) -> None:
    """Let the ticket take so many turns, each an attempt of its own that writes another text."""
    await _rested(world, batch, 1)
    for number in range(2, turns + 1):
        batch.submit("message", ["001"], {"text": f"Once more: {number}."})
        await _rested(world, batch, number)


def _refs(world: World, ident: str = "001") -> dict[str, str]:
    told = sh(world.repo, "for-each-ref", "--format=%(objectname) %(subject)", f"refs/supervisor/stage/{ident}/")
    return dict(line.split(" ", 1) for line in told.splitlines())


def _clean_up(world: World) -> None:
    sh(world.repo, "reflog", "expire", "--expire=now", "--all")
    sh(world.repo, "gc", "-q", "--prune=now")


async def _give(batch: Batch, verb: Verb, **told: object) -> str:
    accepted, says = await batch.pool.mailroom.request(verb, "001", told)
    assert accepted, says
    return says


def _text(batch: Batch) -> str:
    return (batch.engine.worktrees.path("001") / "work.txt").read_text()


async def test_what_agents_left_long_ago_is_dropped_and_every_prompt_can_be_gone_back_to(world: World) -> None:
    world.agents.acts["001"] += [writes(str(n)) for n in range(1, 7)]
    async with world.batch(ticket()) as batch, running(batch):
        await _talk(world, batch, 6)
        assert sorted(_refs(world).values()) == ["after the agent's work"] + ["before a prompt"] * 6
        _clean_up(world)
        for number in range(2, 7):
            await _give(batch, REWIND, to=str(number), source="snapshot")
            assert _text(batch) == str(number - 1)
        await _give(batch, REWIND, source="undo")
        assert _text(batch) == "4"


async def test_what_undoing_needs_stays(world: World) -> None:
    """Of a rewind as of a start over, also when many prompts came after them."""
    world.agents.acts["001"] += [writes(str(n)) for n in range(1, 12)]
    async with world.batch(ticket()) as batch, running(batch):
        await _talk(world, batch, 2)
        says = await _give(batch, START_OVER)
        await _rested(world, batch, 3)
        (over,) = [e for e in await batch.engine.journal.store.events("001") if isinstance(e, ev.StartedOver)]
        assert over.snapshot[:12] in says
        for number in range(4, 8):
            batch.submit("message", ["001"], {"text": f"Once more: {number}."})
            await _rested(world, batch, number)
        _clean_up(world)
        assert over.snapshot in _refs(world)
        await _give(batch, REWIND, source="undo")
        assert _text(batch) == "2"


async def test_what_a_fork_begins_with_stays(world: World) -> None:
    world.agents.acts["001"] += [writes(str(n)) for n in range(1, 5)]
    world.agents.acts["001.2"] += [writes(f"fork {n}") for n in range(1, 7)]
    async with world.batch(ticket()) as batch, running(batch):
        await _talk(world, batch, 4)
        cuts = await batch.engine.journal.store.prompts("001")
        batch.submit("fork", ["001"], {"prompt": "Otherwise.", "at": cuts[1].uuid})
        for number in range(1, 6):
            await _rested(world, batch, number, "001.2")
            batch.submit("message", ["001.2"], {"text": f"Once more: {number}."})
        fork = batch.engine.forks["001.2"]
        _clean_up(world)
        assert fork.files in _refs(world, "001.2")
        found = await rewinding.preview(batch.engine, "001.2", "", "base")
        assert [f.path for f in found.changes.files] == ["work.txt"]


async def test_it_is_looked_only_once_many_were_taken(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.agents.acts["001"] += [writes(str(n)) for n in range(1, 9)]
    monkeypatch.setattr(pruning, "EVERY", 8)
    seen: list[int] = []
    async with world.batch(ticket()) as batch, running(batch):
        for number in range(1, 9):
            await _rested(world, batch, number)
            seen.append(len(_refs(world)))
            batch.submit("message", ["001"], {"text": f"Once more: {number}."})
        await _rested(world, batch, 9)
    assert seen == [2, 4, 6, 8, 6, 8, 10, 12]


async def test_a_letter_that_was_begun_keeps_its_snapshot(world: World) -> None:
    """What it was begun with is found by its id when it is carried out again."""
    async with world.batch(ticket()) as batch, running(batch):
        await _rested(world, batch, 1)
        take, path = batch.engine.snapshots.take, batch.engine.worktrees.path("001")
        letter = ev.LetterPosted("001", world.now(), "an-id", "rewind", {"to": "1"}, "operator")
        await batch.engine.journal.emit(letter)
        mark = await take("001", path, "before rewind an-id")
        for _ in range(KEPT + 2):
            await take("001", path, "in the middle of something else")
        assert await pruning.prune(batch.engine, "001") == 2
        assert mark.commit in _refs(world)


def test_what_can_be_gone_back_to() -> None:
    ids = ("001", 1.0)
    events = [
        ev.PromptStored(*ids, 1, "u", PromptKind.TASK, "text", snapshot="p"),
        ev.AttemptEnded(*ids, 1, Outcome.DONE, snapshot="old"),
        ev.FilesRewound(*ids, "to", "before", left="after"),
        ev.StartedOver(*ids, "whole"),
        ev.AttemptEnded(*ids, 2, Outcome.DONE, snapshot="last"),
        ev.AttemptEnded(*ids, 3, Outcome.DONE),
    ]
    assert can_be_gone_back_to(events) == {"p", "before", "after", "whole", "last"}
    assert can_be_gone_back_to([]) == frozenset()
