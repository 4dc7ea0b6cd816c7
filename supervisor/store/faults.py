"""What SQLite complains of, in our words and with what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.errors import DamagedError, StoreError

if TYPE_CHECKING:
    from pathlib import Path

RESTORE = "put a backup in its place"
REPAIR = f"run `supervise doctor --repair`, or {RESTORE}"
"""What to do about a damaged database of a batch."""
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_REMEDIES = (
    ("SQLITE_FULL", "free some space on its disk, or raise the quota; what was written is kept, start again then"),
    ("SQLITE_READONLY", "make the state directory writable, or name another one with --state-dir"),
    ("SQLITE_CANTOPEN", "check that the state directory exists and is writable"),
    ("SQLITE_PERM", "make the state directory writable for you"),
    ("SQLITE_IOERR", "the disk failed or a quota is used up: look at the system's log and at the free space"),
    ("SQLITE_BUSY", "another program holds the database: close it and try again"),
    ("SQLITE_LOCKED", "another program holds the database: close it and try again"),
)


def store_error(path: Path, error: Exception, if_damaged: str = REPAIR) -> StoreError:
    """Return what is to be raised for an error of SQLite.

    It names its codes more finely than its sentences: a full disk and a used-up quota may read the same.
    """
    name = getattr(error, "sqlite_errorname", None) or ""
    if is_damage(error):
        return DamagedError(path, str(error), if_damaged)
    remedy = next((remedy for code, remedy in _REMEDIES if name.startswith(code)), "")
    return StoreError(f"{path}: {error}", remedy or "look at the state directory with `supervise doctor`")


def is_damage(error: Exception) -> bool:
    """Return whether an error says that the file itself is damaged."""
    return (getattr(error, "sqlite_errorname", None) or "").startswith(_DAMAGED)
