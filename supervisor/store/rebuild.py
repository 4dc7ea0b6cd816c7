"""A new database of the rows that were saved from a damaged one, at the same step of the schema and then brought on."""

from __future__ import annotations

from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlite_utils import Database as Connection

from supervisor.core.board import Board
from supervisor.core.errors import StoreError
from supervisor.core.model import State, TicketSnapshot
from supervisor.store import turn_sums
from supervisor.store.codec import event_from_row, to_row
from supervisor.store.driver import sqlite3
from supervisor.store.migrations import MIGRATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from supervisor.store.salvage import Salvage, Table

LOST = "its row was lost when the database was damaged"


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What could be saved."""

    rows: dict[str, int]
    """How many rows of each table were read and kept."""
    torn: tuple[str, ...]
    """Tables of which not all could be read, or not all could be kept."""
    tickets: tuple[str, ...]
    """Tickets whose row was lost and made again."""


def rebuild(salvage: Salvage, target: Path) -> Rebuilt:
    """Make a database of everything that can be read. Raises StoreError for one of a newer version."""
    with closing(sqlite3.connect(str(target))) as raw:
        db = Connection(raw, execute_plugins=False)
        MIGRATIONS.apply(db, stop_before=_first_unknown(db, salvage))
        read: dict[str, Table] = {}
        kept: dict[str, int] = {}
        with without_triggers(db):
            for name in _tables(db):
                keys = [(row["scope"], row["op"]) for row in read["effect_log"].rows] if name == "effects" else ()
                read[name] = salvage.read(name, list(db[name].columns_dict), keys)
                kept[name] = _fill(db, name, read[name].rows)
                if kept[name] < len(read[name].rows):
                    read[name].whole = False
        MIGRATIONS.apply(db)
        with without_triggers(db):
            made = _make_tickets(db, is_certain=read["events"].whole)
            _make_epochs(db)
            turn_sums.fill(db)
            for name in _without_parents(db) & read.keys():
                read[name].whole = False
    return Rebuilt(kept, tuple(name for name, table in read.items() if not table.whole), made)


def _first_unknown(db: Connection, salvage: Salvage) -> str | None:
    """Return the first step of the schema that the damaged database had not taken."""
    ours = [migration.name for migration in MIGRATIONS.pending(db)]
    steps = salvage.read(MIGRATIONS.migrations_table, ("name",))
    taken = {row["name"] for row in steps.rows}
    if newer := sorted(taken - set(ours)):
        raise StoreError(f"it was made by a newer version ({', '.join(newer)})", "repair it with that version")
    return next((name for name in ours if steps.whole and name not in taken), None)


def _tables(db: Connection) -> list[str]:
    """Return the names of our tables; effects last, since the log names them."""
    names = [n for n in db.table_names() if n != MIGRATIONS.migrations_table and not n.startswith("sqlite_")]
    return sorted(names, key=lambda name: (name == "effects", name))


def _fill(db: Connection, name: str, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write saved rows in place of those that a new table has; return how many could be kept."""
    kept = 0
    for row in rows:
        if not kept:
            db.execute(f"DELETE FROM {name}")
        names, values = ", ".join(f'"{n}"' for n in row), ", ".join(f":{n}" for n in row)
        with suppress(sqlite3.IntegrityError):  # a value that the damage has changed into one that cannot be
            db.execute(f"INSERT INTO {name} ({names}) VALUES ({values})", dict(row))
            kept += 1
    return kept


@contextmanager
def without_triggers(db: Connection) -> Iterator[None]:
    """Run a block in one transaction in which no trigger fires; they are all back when it commits."""
    db.execute("BEGIN IMMEDIATE")
    try:
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        yield
        for _, sql in triggers:
            db.execute(sql)
        db.commit()
    except BaseException:
        db.rollback()
        raise


def _make_tickets(db: Connection, *, is_certain: bool) -> tuple[str, ...]:
    """Make rows for tickets that others name and that have none: from their events, as far as those tell."""
    made = []
    while missing := _missing_tickets(db):
        for ident in missing:
            row = to_row(_from_events(db, ident, is_certain=is_certain))
            names, values = ", ".join(f'"{n}"' for n in row), ", ".join(f":{n}" for n in row)
            db.execute(f"INSERT INTO tickets ({names}) VALUES ({values})", row)
            made.append(ident)
    return tuple(made)


def _missing_tickets(db: Connection) -> list[str]:
    named: set[str] = set()
    for table in db.table_names():
        for _, _, other, column, *_ in db.execute(f"PRAGMA foreign_key_list({table})").fetchall():
            if other == "tickets":
                named |= {row[0] for row in db.execute(f"SELECT DISTINCT {column} FROM {table}").fetchall()}
    return sorted(named - {None} - {row[0] for row in db.execute("SELECT id FROM tickets").fetchall()})


def _from_events(db: Connection, ident: str, *, is_certain: bool) -> TicketSnapshot:
    """Fold a ticket's events again. It is paused: nobody knows whether the last of them are there."""
    board = Board()
    for row in db.query("SELECT * FROM events WHERE ticket = ? ORDER BY seq", [ident]):
        with suppress(KeyError, ValueError, TypeError):
            board.apply(event_from_row(row))
    found = board[ident] if ident in board else TicketSnapshot(ident, ident)
    last = next(db.query("SELECT * FROM attempts WHERE ticket = ? ORDER BY number DESC LIMIT 1", [ident]), None)
    if last is not None:
        found = replace(found, attempts=max(found.attempts, last["number"]), session_id=last["session_id"])
    if _is_taken(db, found.session_id):
        found = replace(found, session_id=None)
    found = replace(found, parent=None if found.parent == ident else found.parent, live=False, pending=None)
    return found if is_certain and ident in board else replace(found, state=State.PAUSED, why=None, detail=LOST)


def _is_taken(db: Connection, session: str | None) -> bool:
    return db.execute("SELECT 1 FROM tickets WHERE session_id = ?", [session]).fetchone() is not None


def _make_epochs(db: Connection) -> None:
    """Make rows for starts that effects name and that have none, of a process whose death nobody can prove."""
    db.execute(
        "INSERT INTO epochs (n, host, pid, started_at)"
        " SELECT DISTINCT epoch, '(lost)', 0, 0 FROM effects"
        " WHERE epoch IS NOT NULL AND epoch NOT IN (SELECT n FROM epochs)"
    )


def _without_parents(db: Connection) -> set[str]:
    """Remove rows that name others which are lost, but for the log, whose effects are made again; return the tables."""
    lost = [(table, number) for table, number, *_ in db.execute("PRAGMA foreign_key_check").fetchall()]
    for table, number in lost:
        if table != "effect_log":
            db.execute(f"DELETE FROM {table} WHERE rowid = ?", [number])
    return {table for table, _ in lost if table != "effect_log"}
