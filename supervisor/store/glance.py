"""A look at a batch's database, beside whoever writes it: nothing is changed, and no schema is brought up to date."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from supervisor.core import checks
from supervisor.core.errors import StoreError
from supervisor.store import chain, effect_rows, mailbox, reading, settings
from supervisor.store.database import connect_readonly
from supervisor.store.driver import sqlite3

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlite_utils import Database as Connection

    from supervisor.core.checks import CheckRun
    from supervisor.core.effects import EffectRecord, LogRow
    from supervisor.core.events import Event
    from supervisor.core.letters import Letter
    from supervisor.core.model import AttemptRecord, TicketSnapshot


class Glance:
    """What is written down at one moment."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def tickets(self) -> tuple[TicketSnapshot, ...]:
        """Return all tickets in the file's order."""
        return reading.snapshots(self._db)

    def attempts(self, ticket: str) -> tuple[AttemptRecord, ...]:
        """Return a ticket's attempts, oldest first."""
        return reading.attempts(self._db, ticket)

    def events(self, ticket: str) -> tuple[Event, ...]:
        """Return what happened to a ticket, in the order in which it was written."""
        return reading.events(self._db, ticket)

    def checks(self, ticket: str) -> tuple[CheckRun, ...]:
        """Return the runs of a ticket's check, oldest first."""
        return checks.check_runs(reading.events_of(self._db, ticket, checks.TOLD_BY))

    def letters(self, ticket: str) -> tuple[Letter, ...]:
        """Return the operator's verbs for a ticket that wait to be carried out, oldest first."""
        return mailbox.open_letters(self._db, ticket) if self._has("mailbox") else ()

    def work_times(self, now: float | None = None) -> dict[str, float]:
        """Return for how many seconds agents have worked on each ticket; see ``store.reading.work_times``."""
        return reading.work_times(self._db, now)

    def setting(self, name: str) -> str:
        """Return what holds for the whole batch under a name; empty where that was never set."""
        return settings.value(self._db, name) if self._has("settings") else ""

    def _has(self, table: str) -> bool:
        """Whether the database is new enough to have a table."""
        found = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [table]).fetchone()
        return found is not None

    def effects(self) -> tuple[EffectRecord, ...]:
        """Return all effects by key; none where the database is older than the ledger."""
        return effect_rows.select(self._db) if self._has("effect_log") else ()

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
