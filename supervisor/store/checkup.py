"""What a database says of its own health, looked at beside whoever uses it; and the one thing that only a person may
accept: that it is an older one."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core.effects import EffectState
from supervisor.core.model import AttemptRecord
from supervisor.store import chain, effect_rows
from supervisor.store.codec import from_row
from supervisor.store.database import connect, connect_readonly
from supervisor.store.driver import sqlite3
from supervisor.store.faults import store_error
from supervisor.store.health import damage

if TYPE_CHECKING:
    from pathlib import Path

    from sqlite_utils import Database as Connection

    from supervisor.store.watermark import Watermark

SQLITE_VERSION = str(sqlite3.sqlite_version)
_MAY_RUN = (EffectState.REQUESTED, EffectState.GRANTED, EffectState.REFUSED, EffectState.NOT_DONE)


@dataclass(frozen=True, slots=True)
class Checkup:
    """What was found in a database."""

    size: int
    """Bytes of the file."""
    damage: tuple[str, ...] = ()
    """What SQLite finds wrong with it. Nothing else is known then."""
    entries: int = 0
    """Rows of the ledger's log."""
    misfits: tuple[str, ...] = ()
    """What does not fit together in the ledger."""
    held: str = ""
    """Why effects are held."""
    may_run: tuple[str, ...] = ()
    """Keys of effects that are begun or allowed, or may be asked for again, and would run."""
    open_attempts: tuple[AttemptRecord, ...] = ()
    """Attempts without an ending: their agents may be at work."""


def check_up(path: Path, watermark: Watermark) -> Checkup:
    """Look a database through. Takes about 1 ms for each MB; changes nothing. Raises StoreError."""
    size = path.stat().st_size
    found = damage(path)
    if found:
        return Checkup(size, found)
    db = connect_readonly(path)
    try:
        with closing(db):
            db.execute("BEGIN")
            return _read(db, size, watermark)
    except sqlite3.Error as error:
        raise store_error(path, error) from error


def _read(db: Connection, size: int, watermark: Watermark) -> Checkup:
    attempts = db.query("SELECT * FROM attempts WHERE ended IS NULL ORDER BY ticket, number")
    open_attempts = tuple(from_row(AttemptRecord, row) for row in attempts)
    if "effect_log" not in db.table_names():
        return Checkup(size, open_attempts=open_attempts)
    entries, held = chain.head(db)[0], watermark.compare(db)
    return Checkup(
        size,
        entries=entries,
        misfits=chain.verify(db),
        held=held,
        may_run=_may_run(db),
        open_attempts=open_attempts,
    )


def _may_run(db: Connection) -> tuple[str, ...]:
    where = f"WHERE e.state IN ({', '.join('?' * len(_MAY_RUN))})"
    return tuple(record.key for record in effect_rows.select(db, where, [state.value for state in _MAY_RUN]))


def accept_older(path: Path, watermark: Watermark) -> None:
    """Let effects run on from where this database is. The caller holds the batch lock. Raises StoreError."""
    db = connect(path)
    try:
        with closing(db):
            watermark.accept(db)
    except sqlite3.Error as error:
        raise store_error(path, error) from error


def has_reset_bug(version: str = SQLITE_VERSION) -> bool:
    """Return whether SQLite may damage a database that two connections write to at the same time.

    Versions 3.7.0 to 3.51.2 may; 3.44.6 and 3.50.7 were put right.
    """
    parts = tuple(int(part) for part in version.split(".")[:3])
    mended = (3, 44, 6) <= parts < (3, 45) or (3, 50, 7) <= parts < (3, 51)
    return (3, 7, 0) <= parts < (3, 51, 3) and not mended
