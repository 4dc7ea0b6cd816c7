"""Whether a database file is whole, looked at without changing a byte of it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from supervisor.core.errors import DamagedError
from supervisor.store.driver import sqlite3
from supervisor.store.faults import REPAIR, RESTORE, is_damage, store_error
from supervisor.store.watermark import NEAR

if TYPE_CHECKING:
    from pathlib import Path

CHECK_UP_TO = 64 * 2**20
"""Largest file, in bytes, that is read through before it is opened: that takes about 0.8 ms for each MB."""
_TIMEOUT_S = 30.0


def refuse_missing(path: Path) -> None:
    """Raise DamagedError when a database is gone that was there once."""
    if path.exists() and path.stat().st_size:
        return
    if newest_aside(path) is not None:
        raise DamagedError(path, "the database is gone, but for a damaged one that was set aside", REPAIR)
    if (path.parent / NEAR).exists():
        raise DamagedError(path, "the database is gone", f"{RESTORE}, or name another directory with --state-dir")


def refuse_damaged(path: Path) -> None:
    """Raise DamagedError when a file is no whole database, or is gone; a large one is not read through.

    Done before it is opened for writing: opening alone would fold the write-ahead log into a damaged file, and would
    make a new database where the old one is missing.
    """
    refuse_missing(path)
    size = path.stat().st_size if path.exists() else 0
    found = damage(path) if 0 < size <= CHECK_UP_TO else ()
    if found:
        raise DamagedError(path, f"the database is damaged ({found[0]})", REPAIR)


def newest_aside(path: Path) -> Path | None:
    """Return the damaged database that was set aside last; None where there is none."""
    aside = path.parent.glob(f"{path.name}.damaged-*")
    return max((p for p in aside if not p.name.endswith(("-wal", "-shm"))), key=lambda p: p.name, default=None)


def damage(path: Path) -> tuple[str, ...]:
    """Return what SQLite finds wrong with a file, in its own words; empty when nothing is. Raises StoreError."""
    try:
        with closing(open_readonly(path)) as db:
            return quick_check(db)
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            return (str(error),)
        raise store_error(path, error) from error


def open_readonly(path: Path) -> Any:
    """Return a plain connection that cannot write. Raises what SQLite raises."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_TIMEOUT_S)


def quick_check(db: Any) -> tuple[str, ...]:
    """Return what SQLite finds wrong with an open database, a line for each fault, the first 20."""
    lines = [line for row in db.execute("PRAGMA quick_check(20)") for line in str(row[0]).splitlines()]
    return () if lines == ["ok"] else tuple(line for line in lines if not line.startswith("***"))
