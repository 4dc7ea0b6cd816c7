"""One SQLite connection on one thread of its own, behind an async front that never blocks the loop.

Every unit of work is one function that runs whole on that thread, so no task can slip a statement into another's
transaction. WAL with ``synchronous=FULL``: a claim that was acknowledged survives a power cut.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import anyio
from sqlite_utils import Database as Connection

from supervisor.core.errors import StoreError
from supervisor.store.driver import sqlite3
from supervisor.store.faults import REPAIR, RESTORE, store_error
from supervisor.store.health import refuse_damaged
from supervisor.store.migrations import MIGRATIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

P = ParamSpec("P")
T = TypeVar("T")

BUSY_TIMEOUT_S = 30.0
"""How long a write waits for another process that holds the database."""


def connect(path: Path, *, if_damaged: str = RESTORE) -> Connection:
    """Open the database for writing and bring its schema up to date. For use on one thread only.

    Raises StoreError when the file cannot be opened or belongs to a newer version, and DamagedError, whose remedy is
    ``if_damaged``, when it is no database.
    """
    with ExitStack() as undo:
        try:
            raw = sqlite3.connect(str(path), timeout=BUSY_TIMEOUT_S, check_same_thread=False)
            undo.callback(raw.close)
            db = Connection(raw, execute_plugins=False)
            db.enable_wal()
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA foreign_keys = ON")
            _refuse_newer(path, db)
            MIGRATIONS.apply(db)
        except sqlite3.Error as error:
            raise store_error(path, error, if_damaged) from error
        undo.pop_all()
    return db


def _refuse_newer(path: Path, db: Connection) -> None:
    ours = {migration.name for migration in MIGRATIONS.pending(Connection(memory=True))}
    if newer := [migration.name for migration in MIGRATIONS.applied(db) if migration.name not in ours]:
        words = f"{path} was made by a newer version of supervise ({', '.join(newer)})"
        raise StoreError(words, "use that version to open it")


def connect_readonly(path: Path) -> Connection:
    """Open the database only to look at it, beside whoever writes. Raises StoreError."""
    with ExitStack() as undo:
        try:
            raw = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)
            undo.callback(raw.close)
            db = Connection(raw, execute_plugins=False)
            db.execute("SELECT 1 FROM tickets LIMIT 1").fetchone()
        except sqlite3.Error as error:
            raise store_error(path, error) from error
        undo.pop_all()
    return db


def _open_checked(path: Path) -> Connection:
    refuse_damaged(path)
    return connect(path, if_damaged=REPAIR)


class Database:
    """The async front. ``run`` hands one whole unit of work to the writer's thread and waits for its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="supervise-store")
        self._db: Connection | None = None

    async def open(self) -> None:
        """Open the connection on its thread, and read a small database through. Raises StoreError, DamagedError."""
        self._db = await self._submit(lambda: _open_checked(self.path))

    async def run(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``work(connection, …)`` on the writer's thread. Raises StoreError for any fault of the database.

        A cancelled caller still lets its work finish: what was handed over is either done or failed, never lost.
        """
        db = self._opened()
        return await self._submit(lambda: _guarded(self.path, lambda: work(db, *args, **kwargs)))

    async def transact(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like ``run``, inside one BEGIN IMMEDIATE … COMMIT that is rolled back if ``work`` raises."""
        db = self._opened()
        return await self._submit(
            lambda: _guarded(self.path, lambda: _transaction(db, lambda: work(db, *args, **kwargs)))
        )

    def _opened(self) -> Connection:
        if self._db is None:
            raise StoreError(f"{self.path} is not open", "open the store first")
        return self._db

    async def close(self) -> None:
        """Close the connection and end the thread."""
        if self._db is not None:
            db, self._db = self._db, None
            await self._submit(db.close)
        self._thread.shutdown(wait=False)

    async def _submit(self, work: Callable[[], T]) -> T:
        future = self._thread.submit(work)
        with anyio.CancelScope(shield=True):
            result = await asyncio.wrap_future(future)
        return result


def _guarded(path: Path, work: Callable[[], T]) -> T:
    try:
        return work()
    except sqlite3.Error as error:
        raise store_error(path, error) from error


def _transaction(db: Connection, work: Callable[[], T]) -> T:
    db.execute("BEGIN IMMEDIATE")
    try:
        result = work()
        db.commit()
    except BaseException:
        db.rollback()  # also after a failed commit: the transaction would stay open
        raise
    return result
