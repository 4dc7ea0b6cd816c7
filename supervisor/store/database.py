"""One SQLite connection on one thread of its own, behind an async front that never blocks the loop.

Every unit of work is one function that runs whole on that thread, so no task can slip a statement into another's
transaction. WAL with ``synchronous=FULL``: a claim that was acknowledged survives a power cut.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import anyio
from sqlite_utils import Database as Connection

from supervisor.core.errors import StoreError
from supervisor.store.driver import sqlite3
from supervisor.store.migrations import MIGRATIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

P = ParamSpec("P")
T = TypeVar("T")

BUSY_TIMEOUT_S = 30.0
"""How long a write waits for another process that holds the database."""


def connect(path: Path) -> Connection:
    """Open the database for writing and bring its schema up to date. For use on one thread only.

    Raises StoreError when the file cannot be opened, is not a database, or belongs to a newer version.
    """
    try:
        raw = sqlite3.connect(str(path), timeout=BUSY_TIMEOUT_S, check_same_thread=False)
        db = Connection(raw, execute_plugins=False)
        db.enable_wal()
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        MIGRATIONS.apply(db)
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}", _remedy(error)) from error
    return db


def connect_readonly(path: Path) -> Connection:
    """Open the database only to look at it, beside whoever writes. Raises StoreError."""
    try:
        raw = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)
        db = Connection(raw, execute_plugins=False)
        db.execute("SELECT 1 FROM tickets LIMIT 1").fetchone()
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}", _remedy(error)) from error
    return db


def _remedy(error: Exception) -> str:
    words = str(error)
    if "not a database" in words or "malformed" in words:
        return "the file is damaged: move it aside and start again, or restore a backup"
    if "locked" in words:
        return "another program holds the database: close it and try again"
    return "check that the state directory exists, is writable and has free space"


class Database:
    """The async front. ``run`` hands one whole unit of work to the writer's thread and waits for its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="supervise-store")
        self._db: Connection | None = None

    async def open(self) -> None:
        """Open the connection on its thread. Raises StoreError."""
        self._db = await self._submit(lambda: connect(self.path))

    async def run(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``work(connection, …)`` on the writer's thread. Raises StoreError for any fault of the database.

        A cancelled caller still lets its work finish: what was handed over is either done or failed, never lost.
        """
        db = self._opened()
        return await self._submit(lambda: _guarded(lambda: work(db, *args, **kwargs)))

    async def transact(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like ``run``, inside one BEGIN IMMEDIATE … COMMIT that is rolled back if ``work`` raises."""
        db = self._opened()
        return await self._submit(lambda: _guarded(lambda: _transaction(db, lambda: work(db, *args, **kwargs))))

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


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except sqlite3.Error as error:
        raise StoreError(str(error), _remedy(error)) from error


def _transaction(db: Connection, work: Callable[[], T]) -> T:
    db.execute("BEGIN IMMEDIATE")
    try:
        result = work()
        db.commit()
    except BaseException:
        db.rollback()  # also after a failed commit: the transaction would stay open
        raise
    return result
