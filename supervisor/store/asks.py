"""Asks as rows, written together with the event that changes them and the ticket it concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.ask_fold import AskEvent, ends_grants, ends_waiting, fold_ask
from supervisor.core.asks import Ask
from supervisor.store.codec import from_row, to_row

if TYPE_CHECKING:
    from sqlite_utils import Database as Connection

    from supervisor.core import events as ev
    from supervisor.core.model import TicketSnapshot


def follow(db: Connection, event: ev.Event, after: TicketSnapshot) -> None:
    """Write what an event makes of its ticket's asks. The caller holds the transaction."""
    if isinstance(event, AskEvent):
        _change(db, event)
    elif ends_waiting(event, after):
        db.execute(
            "UPDATE asks SET state = 'withdrawn', version = version + 1"
            " WHERE ticket = ? AND state IN ('open', 'resting')",
            [after.id],
        )
    if ends_grants(event, after):
        db.execute("UPDATE asks SET granted = 0, version = version + 1 WHERE ticket = ? AND granted", [after.id])


def _change(db: Connection, event: AskEvent) -> None:
    held = ask(db, event.id)
    new = fold_ask(held, event)
    if new is None or new is held:
        return
    row = to_row(new)
    names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    changes = ", ".join(f"{name} = excluded.{name}" for name in row if name != "id")
    db.execute(f"INSERT INTO asks ({names}) VALUES ({values}) ON CONFLICT (id) DO UPDATE SET {changes}", row)


def ask(db: Connection, ident: str) -> Ask | None:
    """Return one ask."""
    return next((from_row(Ask, row) for row in db.query("SELECT * FROM asks WHERE id = ?", [ident])), None)


def pending(db: Connection) -> tuple[Ask, ...]:
    """Return the asks of all tickets that wait or whose grant was not used yet, oldest first."""
    rows = db.query("SELECT * FROM asks WHERE state IN ('open', 'resting') OR granted ORDER BY at, rowid")
    return tuple(from_row(Ask, row) for row in rows)


def of_ticket(db: Connection, ticket: str) -> tuple[Ask, ...]:
    """Return all asks of a ticket's present work, oldest first: those before it was started over are left out."""
    rows = db.query(
        "SELECT * FROM asks WHERE ticket = :ticket AND at >= coalesce("
        "(SELECT max(at) FROM events WHERE ticket = :ticket AND type = 'StartedOver'), 0) ORDER BY at, rowid",
        {"ticket": ticket},
    )
    return tuple(from_row(Ask, row) for row in rows)
