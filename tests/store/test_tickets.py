"""The store: what was acknowledged is there after a restart, whole, and says the same as the board did."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from supervisor.core import events as ev
from supervisor.core.ask_fold import AskEvent
from supervisor.core.board import Board
from supervisor.core.errors import StoreError
from supervisor.core.model import Mode, Outcome, PromptKind, State, TicketSnapshot
from supervisor.store import asks, reading, tickets
from supervisor.store.database import connect, connect_readonly
from supervisor.store.driver import sqlite3
from supervisor.store.tickets import TicketStore
from tests.core.events_strategy import lasting

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


def _own_ids(event: ev.Event) -> ev.Event:
    """Two tickets never share a session or an ask; the store refuses it, so the random events keep to that."""
    if isinstance(event, ev.AttemptStarted | ev.SessionReplaced):
        return replace(event, session_id=f"{event.ticket}-{event.session_id}")
    return replace(event, id=f"{event.ticket}-{event.id}") if isinstance(event, AskEvent) else event


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(lasting.map(_own_ids), max_size=30))
def test_a_reopened_store_and_its_replay_equal_the_live_board(
    tmp_path_factory: pytest.TempPathFactory, events: list[ev.Event]
) -> None:
    path = tmp_path_factory.mktemp("store") / "state.db"
    board = Board()
    db = connect(path)
    for event in events:
        db.execute("BEGIN IMMEDIATE")
        tickets.append(db, event, board.preview(event))
        db.commit()
        board.apply(event)
    db.close()

    again = connect_readonly(path)
    stored = {t.id: t for t in reading.snapshots(again)}
    assert stored == {t.id: t for t in board}
    replayed = Board()
    for event in reading.events(again):
        replayed.apply(event)
    assert replayed.rows() == board.rows()
    known = {row["id"]: asks.ask(again, row["id"]) for row in again.query("SELECT id FROM asks")}
    assert known == {ask.id: ask for ask in board.asks()}
    pending = {ask.id for ask in board.asks() if ask.waits or ask.granted}
    assert {ask.id for ask in asks.pending(again)} == pending
    again.close()


async def test_an_attempt_is_complete_on_every_ending(store: TicketStore) -> None:
    board = Board()
    for event in _one_attempt("001", "s1"):
        await store.append(event, board.preview(event))
        board.apply(event)
    (row,) = await store.attempts("001")
    assert (row.outcome, row.subtype, row.terminal_reason) == (Outcome.LIMIT, "error_max_turns", "max_turns")
    assert (row.num_turns, row.ended, row.pid, row.exit_code) == (3, 6.0, 4711, None)
    assert row.cost_usd == pytest.approx(0.3)
    assert row.errors == ("too many",)
    assert row.estimated is True
    prompt = await store.last_prompt("001")
    assert prompt is not None
    assert (prompt.uuid, prompt.kind, prompt.answered) == ("u1", PromptKind.TASK, True)


def _one_attempt(ticket: str, session: str) -> list[ev.Event]:
    return [
        ev.TicketAdded(ticket, 1.0, title="one", order=0, budget_usd=1.0),
        ev.AttemptStarted(ticket, 2.0, number=1, mode=Mode.FRESH, session_id=session, cap_usd=0.9),
        ev.AttemptConnected(ticket, 3.0, number=1, pid=4711, pid_start=1, boot_id="b", baseline_usd=0.0),
        ev.PromptStored(ticket, 4.0, number=1, uuid="u1", kind=PromptKind.TASK, text="do it"),
        ev.TurnEnded(
            ticket, 5.0, number=1, prompt_uuid="u1", subtype="error_max_turns", terminal_reason="max_turns",
            is_error=True, num_turns=3, cost_usd=0.2, errors=("too many",), prices={"m": {"costUSD": 0.2}},
        ),
        ev.AttemptEnded(ticket, 6.0, number=1, outcome=Outcome.LIMIT, estimated_usd=0.1),
    ]  # fmt: skip


async def test_a_history_is_read_back_to_where_something_began(store: TicketStore) -> None:
    for number, ticket in enumerate(("001", "001", "002", "001", "001")):
        event = ev.AttemptStarted(ticket, float(number), number, Mode.FRESH, f"{ticket}-s")
        await store.append(event, TicketSnapshot(ticket, session_id=f"{ticket}-s"))
    seen: list[float] = []

    def begins(event: ev.Event) -> bool:
        seen.append(event.at)
        return event.at <= 2.0

    assert [e.at for e in await store.events_since("001", begins)] == [1.0, 3.0, 4.0]
    assert seen == [4.0, 3.0, 1.0], "what came before is not even looked at"
    assert await store.events_since("001", lambda _: False) == await store.events("001")
    assert await store.events_since("003", begins) == ()
    last = await store.last_attempt("001")
    assert last is not None
    assert last.number == 4
    assert await store.last_attempt("003") is None


async def test_one_session_belongs_to_one_ticket(store: TicketStore) -> None:
    first = ev.AttemptStarted("001", 1.0, number=1, mode=Mode.FRESH, session_id="s1")
    await store.append(first, TicketSnapshot("001", session_id="s1"))
    with pytest.raises(StoreError, match="UNIQUE"):
        await store.append(replace(first, ticket="002"), TicketSnapshot("002", session_id="s1"))
    assert [t.id for t in await store.snapshots()] == ["001"]
    assert len(await store.events()) == 1, "the refused event left nothing behind"


async def test_text_that_sqlite_cannot_hold_is_made_harmless(store: TicketStore) -> None:
    nasty = "lone \ud83d half, NUL \0, and 🏷️"
    event = ev.StateChanged("001", 1.0, to=State.STARTING, detail=nasty)
    await store.append(event, TicketSnapshot("001", detail=nasty))
    (kept,) = await store.snapshots()
    assert kept.detail == "lone \ufffd half, NUL \u2400, and 🏷️"


async def test_a_write_waits_for_another_process_that_holds_the_database(store: TicketStore) -> None:
    other = sqlite3.connect(str(store.database.path), check_same_thread=False, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.3, lambda: other.execute("COMMIT"))
    release.start()
    ticks = 0

    async def heartbeat() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await anyio.sleep(0.01)

    async with anyio.create_task_group() as group:
        group.start_soon(heartbeat)
        await store.append(ev.StateChanged("001", 1.0, to=State.STARTING), TicketSnapshot("001"))
        group.cancel_scope.cancel()
    release.join()
    other.close()
    assert ticks > 5, "the loop stood still while the writer waited"
    assert len(await store.snapshots()) == 1


async def test_a_cancelled_caller_does_not_undo_its_write(store: TicketStore) -> None:
    event = ev.StateChanged("001", 1.0, to=State.STARTING)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.append(event, TicketSnapshot("001"))
    assert await store.events() == (event,)


async def test_a_damaged_file_is_named_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"this is not a database, but long enough to look like a header" * 20)
    with pytest.raises(StoreError, match=r"not a database.*doctor --repair"):
        await TicketStore(path).open()


async def test_a_missing_directory_is_named_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="writable"):
        await TicketStore(tmp_path / "nowhere" / "state.db").open()


async def test_every_commit_is_on_the_disk_before_it_is_acknowledged(store: TicketStore) -> None:
    pragmas = await store.database.run(
        lambda db: [
            db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    )
    assert pragmas == ["wal", 2, 1]
