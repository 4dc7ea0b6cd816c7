"""The public ``SessionTable``: ticket to session id and last total, in a small SQLite file of its own.

For programs that run tickets by themselves; a batch keeps all this in its own database.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from sqlite_utils import Database, Migrations

from supervisor.core.errors import StoreError
from supervisor.core.sessions import is_session_id
from supervisor.store.codec import clean
from supervisor.store.driver import sqlite3

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

BUSY_TIMEOUT_S = 30.0
"""How long a write waits for another process that holds the file."""

MIGRATIONS = Migrations("supervisor.session_table")


@MIGRATIONS(name="0001_sessions")
def sessions(db: Database) -> None:
    """One row for each ticket; a session, whatever the case of its id, belongs to one of them."""
    db.execute(
        """
        CREATE TABLE sessions (
          ticket TEXT PRIMARY KEY,
          session_id TEXT NOT NULL UNIQUE COLLATE NOCASE,
          total_cost_usd REAL NOT NULL CHECK (total_cost_usd >= 0)
        ) STRICT
        """
    )


class SessionIdError(StoreError, ValueError):
    """A session id that cannot be stored for a ticket.

    Attributes:
        ticket: whom it was meant for.
        session_id: the id.
    """

    def __init__(self, ticket: str, session_id: object, message: str, remedy: str) -> None:
        super().__init__(f"ticket {ticket}: {message}", remedy)
        self.ticket = ticket
        self.session_id = session_id


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A row of the table."""

    ticket: str
    session_id: str
    """What to give to ``resume``."""
    total_cost_usd: float = 0.0
    """The session's total after its last call: the ``previous_cost_usd`` of the next one, if that really resumes."""


class SessionTable:
    """Which session each ticket is in, and what that session has cost so far.

    On disk when a method returns. May be used from any thread, and by several processes at once.

    Args:
        path: the file; made if it is missing, its directory is not.

    Raises:
        StoreError: the file cannot be opened, or is no database.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lock = threading.Lock()
        try:
            raw = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
            self._db = Database(raw, execute_plugins=False)
            self._db.enable_wal()
            self._db.execute("PRAGMA synchronous = FULL")
            MIGRATIONS.apply(self._db)
        except sqlite3.Error as error:
            raise StoreError(f"{path}: {error}", "check that its directory exists and that it is a database") from error

    def get(self, ticket: str) -> StoredSession | None:
        """Return a ticket's session, or None if it has none yet. Raises StoreError."""
        with self._locked() as db:
            return next(map(_session, db.query("SELECT * FROM sessions WHERE ticket = ?", [clean(ticket)])), None)

    def put(self, ticket: str, session_id: str, total_cost_usd: float | None = None) -> StoredSession:
        """Store a ticket's session in place of the one before; best done before the id is used.

        Args:
            ticket: any text.
            session_id: a UUID that no other ticket holds.
            total_cost_usd: the session's total; None keeps what is known, which for another session is 0.

        Raises:
            SessionIdError: the id is not a UUID, or is another ticket's session.
            StoreError: the file cannot be written.
        """
        if not is_session_id(session_id):
            words = f"{session_id!r} is not a session id, which must be a valid UUID"
            raise SessionIdError(ticket, session_id, words, "uuid.uuid5 over ticket and attempt makes one")
        total = None if total_cost_usd is None else max(0.0, total_cost_usd)
        with self._locked() as db:
            try:
                return _session(_written(db, clean(ticket), session_id, total))
            except sqlite3.IntegrityError as error:
                owner = _owner(db, session_id)
                if owner is None:
                    raise
                words = f"session {session_id} belongs to ticket {owner}"
                raise SessionIdError(ticket, session_id, words, "two tickets never share a session") from error

    def put_result(self, ticket: str, message: Any) -> StoredSession:
        """Store the session and total of a ResultMessage, whatever its subtype: an error is a reason to resume.

        A result without a total keeps the known one. Raises like ``put``.
        """
        return self.put(ticket, message.session_id, message.total_cost_usd)

    def __iter__(self) -> Iterator[StoredSession]:
        """Return all rows as they are now, by ticket."""
        with self._locked() as db:
            return iter([_session(row) for row in db.query("SELECT * FROM sessions ORDER BY ticket")])

    def close(self) -> None:
        """Close the file; safe to call twice."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _locked(self) -> Iterator[Database]:
        with self._lock:
            try:
                yield self._db
            except sqlite3.Error as error:
                remedy = "check that the file is writable, that the disk has free space, and that it is still open"
                raise StoreError(str(error), remedy) from error


_PUT = """
INSERT INTO sessions (ticket, session_id, total_cost_usd) VALUES (:ticket, :session_id, coalesce(:total, 0))
ON CONFLICT (ticket) DO UPDATE SET
  session_id = excluded.session_id,
  total_cost_usd = coalesce(:total, iif(session_id = excluded.session_id, total_cost_usd, 0))
RETURNING *
"""


def _written(db: Database, ticket: str, session_id: str, total: float | None) -> dict[str, Any]:
    """One statement is one transaction, so that no other process comes between the look and the write."""
    (row,) = db.query(_PUT, {"ticket": ticket, "session_id": session_id, "total": total})
    return row


def _owner(db: Database, session_id: str) -> str | None:
    rows = db.query("SELECT ticket FROM sessions WHERE session_id = ?", [session_id])
    return next((row["ticket"] for row in rows), None)


def _session(row: dict[str, Any]) -> StoredSession:
    return StoredSession(row["ticket"], row["session_id"], row["total_cost_usd"])
