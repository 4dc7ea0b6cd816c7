"""Tickets, attempts, prompts and events as they are written down. Reads only; `tickets` writes them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from supervisor.core.model import AttemptRecord, PromptRecord, TicketSnapshot
from supervisor.store.codec import RETIRED, event_from_row, from_row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlite_utils import Database as Connection

    from supervisor.core import events as ev


def snapshots(db: Connection) -> tuple[TicketSnapshot, ...]:
    """Return all tickets in the file's order."""
    return tuple(from_row(TicketSnapshot, row) for row in db.query('SELECT * FROM tickets ORDER BY "order", id'))


def attempts(db: Connection, ticket: str) -> tuple[AttemptRecord, ...]:
    """Return a ticket's attempts, oldest first."""
    rows = db.query("SELECT * FROM attempts WHERE ticket = ? ORDER BY number", [ticket])
    return tuple(from_row(AttemptRecord, row) for row in rows)


def last_attempt(db: Connection, ticket: str) -> AttemptRecord | None:
    """Return a ticket's latest attempt; None where it has had none."""
    rows = db.query("SELECT * FROM attempts WHERE ticket = ? ORDER BY number DESC LIMIT 1", [ticket])
    return next((from_row(AttemptRecord, row) for row in rows), None)


def last_on_session(db: Connection, ticket: str, session_id: str) -> int | None:
    """Return the number of a ticket's latest ended attempt that knew what its session had cost; None without."""
    rows = db.query(
        "SELECT number FROM attempts WHERE ticket = ? AND session_id = ? AND ended IS NOT NULL"
        " AND baseline_usd IS NOT NULL ORDER BY number DESC LIMIT 1",
        [ticket, session_id],
    )
    return next((row["number"] for row in rows), None)


def open_attempts(db: Connection) -> tuple[AttemptRecord, ...]:
    """Return the attempts of all tickets that have no ending, oldest first."""
    rows = db.query("SELECT * FROM attempts WHERE ended IS NULL ORDER BY ticket, number")
    return tuple(from_row(AttemptRecord, row) for row in rows)


def last_prompt(db: Connection, ticket: str) -> PromptRecord | None:
    """Return the latest prompt stored for a ticket."""
    sql = "SELECT * FROM prompts WHERE ticket = ? ORDER BY at DESC, rowid DESC LIMIT 1"
    return next((from_row(PromptRecord, row) for row in db.query(sql, [ticket])), None)


def prompts(db: Connection, ticket: str) -> tuple[PromptRecord, ...]:
    """Return all prompts stored for a ticket, oldest first."""
    rows = db.query("SELECT * FROM prompts WHERE ticket = ? ORDER BY at, rowid", [ticket])
    return tuple(from_row(PromptRecord, row) for row in rows)


def work_times(db: Connection, now: float | None = None) -> dict[str, float]:
    """Return for how many seconds agents have worked on each ticket.

    Args:
        db: the database.
        now: attempts without an end count up to then; None leaves them out.
    """
    sql = "SELECT ticket, sum(max(0.0, coalesce(ended, ?, started) - started)) AS seconds FROM attempts GROUP BY ticket"
    return {row["ticket"]: float(row["seconds"]) for row in db.query(sql, [now])}


def events(db: Connection, ticket: str | None = None) -> tuple[ev.Event, ...]:
    """Return the lasting events in the order they were written."""
    where, values = ("WHERE ticket = ?", [ticket]) if ticket else ("", [])
    rows = db.query(f"SELECT * FROM events {where} ORDER BY seq", values)
    return tuple(event_from_row(row) for row in rows if row["type"] not in RETIRED)


def events_of(db: Connection, ticket: str, kinds: Sequence[type[ev.Event]]) -> tuple[ev.Event, ...]:
    """Return a ticket's lasting events of some kinds, in the order they were written."""
    names = [kind.__name__ for kind in kinds]
    marks = ", ".join("?" * len(names))
    rows = db.query(f"SELECT * FROM events WHERE ticket = ? AND type IN ({marks}) ORDER BY seq", [ticket, *names])
    return tuple(map(event_from_row, rows))


def events_since(db: Connection, ticket: str, begins: Callable[[ev.Event], object]) -> tuple[ev.Event, ...]:
    """Return the newest event that begins something, and all after it, oldest first; all where none does."""
    found: list[ev.Event] = []
    with closing(db.query("SELECT * FROM events WHERE ticket = ? ORDER BY seq DESC", [ticket])) as rows:
        for row in rows:
            if row["type"] in RETIRED:
                continue
            found.append(event_from_row(row))
            if begins(found[-1]):
                break
    return tuple(reversed(found))
