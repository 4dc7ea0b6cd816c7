"""A look at a batch's database, beside whoever writes it: nothing is changed, and no schema is brought up to date."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from supervisor.core.errors import StoreError
from supervisor.store import chain, effect_rows, tickets
from supervisor.store.database import connect_readonly
from supervisor.store.driver import sqlite3

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlite_utils import Database as Connection

    from supervisor.core.effects import EffectRecord, LogRow
    from supervisor.core.model import TicketSnapshot


class Glance:
    """What is written down at one moment."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def tickets(self) -> tuple[TicketSnapshot, ...]:
        """Return all tickets in the file's order."""
        return tickets.snapshots(self._db)

    def effects(self) -> tuple[EffectRecord, ...]:
        """Return all effects by key; none where the database is older than the ledger."""
        known = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'effect_log'").fetchone()
        return effect_rows.select(self._db) if known else ()

    def log(self, record: EffectRecord) -> tuple[LogRow, ...]:
        """Return the history of one effect, oldest first."""
        return chain.log(self._db, record.scope, record.op)


@contextmanager
def glance(state_dir: Path) -> Iterator[Glance]:
    """Look at a state directory's database; all that is read in the block belongs together. Raises StoreError."""
    path = state_dir / "state.db"
    if not path.exists():
        raise StoreError(f"{state_dir} holds no batch", "start one with `supervise run`, or name it with --state-dir")
    db = connect_readonly(path)
    try:
        db.execute("BEGIN")
        yield Glance(db)
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}", "try again, or look at it with the supervisor that wrote it") from error
    finally:
        db.close()
