"""Forks on the disk: written whole with their tickets or not at all, and read back as they were."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.core import events as ev
from supervisor.core.board import Board
from supervisor.core.effects import EffectState, askers
from supervisor.core.errors import StoreError
from supervisor.core.forks import Fork
from supervisor.core.letters import Letter
from supervisor.engine.journal import Journal
from supervisor.store import chain
from supervisor.store.database import connect
from tests.store.ledgers import claim, decide, epoch, settle

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.store.tickets import TicketStore

FORK = Fork("001.2", "001", "l1", "s2", "s1", "m7", "c" * 40, "as then", "Do it.", "Title", 1.5, None, None, 3.0)


async def _parent(store: TicketStore) -> Journal:
    journal = Journal(Board(), store)
    await journal.emit(ev.TicketAdded("001", 1.0, title="one", order=0))
    await journal.emit(ev.LetterPosted("001", 2.0, "l1", "fork", {"prompt": "Do it."}))
    return journal


def _making(fork: Fork) -> list[ev.Event]:
    added = ev.TicketAdded(fork.child, 3.0, title="t", order=0, parent="001")
    closed = ev.LettersClosed(fork.parent, 3.0, (fork.letter,), f"forked as {fork.child}")
    return [added, ev.Forked(fork.child, 3.0, fork, "b"), closed]


@pytest.mark.anyio
async def test_a_fork_its_ticket_and_the_end_of_its_letter_are_one_step(store: TicketStore) -> None:
    journal = await _parent(store)
    await journal.emit_all(*_making(FORK))
    child = journal.board["001.2"]
    assert (child.parent, child.session_id, child.base_commit) == ("001", "s2", "b")
    assert journal.board["001"].pending is None
    assert {t.id: t for t in await store.snapshots()} == {t.id: t for t in journal.board}
    assert await store.forks() == (FORK,)
    letter = await store.letter("l1")
    assert isinstance(letter, Letter)
    assert (letter.is_open, letter.says) == (False, "forked as 001.2")
    replayed = Board()
    for event in await store.events():
        replayed.apply(event)
    assert replayed.rows() == journal.board.rows()


@pytest.mark.anyio
@pytest.mark.parametrize("again", [{"child": "001.3"}, {"child": "001.3", "letter": "l2", "parent": "002"}])
async def test_a_second_fork_of_a_letter_or_of_nobody_leaves_nothing_behind(
    store: TicketStore, again: dict[str, Any]
) -> None:
    journal = await _parent(store)
    await journal.emit_all(*_making(FORK))
    before = len(await store.events())
    with pytest.raises(StoreError):
        await journal.emit_all(*_making(replace(FORK, session_id="s3", **again)))
    assert [t.id for t in await store.snapshots()] == ["001", "001.2"]
    assert len(await store.events()) == before
    assert "001.3" not in journal.board


def test_who_asks_for_what_another_has_claimed_is_written_down_once(tmp_path: Path) -> None:
    db = connect(tmp_path / "state.db")
    one = epoch(db)

    def asking() -> set[str]:
        return set(askers(chain.log(db, "001", "deploy")))

    held = claim(db, one).record
    for _ in range(2):
        claim(db, one, ticket="001.2")
    assert asking() == {"001", "001.2"}
    refused = settle(db, held, EffectState.REFUSED)
    assert asking() == {"001", "001.2"}, "they hear of the end"
    again = claim(db, one, ticket="001.3")
    assert (refused.version, again.record.version) == (2, 3)
    assert asking() == {"001.3"}, "whoever heard of it waits for nothing"
    claim(db, one)
    assert asking() == {"001", "001.3"}
    stuck = settle(db, again.record, EffectState.UNRESOLVED)
    claim(db, one, ticket="001.2")
    decide(db, decide(db, stuck, "not_done"), "grant", ticket="001.2")
    assert asking() == {"001", "001.2", "001.3"}
    claim(db, one)
    assert [row.verb for row in chain.log(db, "001", "deploy")] == [
        "claim", "ask", "settle", "claim", "ask", "settle", "ask", "not_done", "grant",
    ]  # fmt: skip
    assert chain.verify(db) == ()
    db.close()
