"""A damaged database is set aside, and a new one is made of whatever can be read of it.

Nothing of the damaged file is changed or lost: work goes on in copies, and names change only once the new database is
whole and on the disk. The caller holds the batch lock.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlite_utils import Database as Connection

from supervisor.core.errors import DamagedError, StoreError
from supervisor.store import chain, rebuild
from supervisor.store.doubts import unsettle
from supervisor.store.driver import sqlite3
from supervisor.store.faults import RESTORE, store_error
from supervisor.store.health import newest_aside, quick_check
from supervisor.store.salvage import Salvage
from supervisor.store.watermark import sync_directory

if TYPE_CHECKING:
    from supervisor.core.effects import EffectRecord
    from supervisor.store.rebuild import Rebuilt
    from supervisor.store.watermark import Watermark

SECONDS = 600.0
"""How long reading a damaged file may take."""
_LEDGER = ("ledger", "effects", "effect_log", "epochs")


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair came to."""

    aside: Path
    """The damaged file, as it was; its write-ahead log has the same name with ``-wal`` behind it."""
    rows: dict[str, int]
    """How many rows of each table were saved."""
    torn: tuple[str, ...]
    """Tables of which not all could be read."""
    tickets: tuple[str, ...]
    """Tickets whose row was lost and made again from what else is known of them."""
    unresolved: tuple[str, ...]
    """Keys of the effects whose state cannot be proved any more."""
    held: str
    """Why effects are held from now on; empty where all of the ledger was saved."""


def repair(path: Path, watermark: Watermark, at: float, seconds: float = SECONDS) -> Repaired:
    """Set a damaged database aside and put a new one in its place. Takes as long as ``seconds``, and some.

    Args:
        path: ``state.db``; where it is gone, a repair that was cut off is taken up again.
        watermark: how far its ledger had come.
        at: seconds since the epoch, for the log.
        seconds: how long reading may take.

    Raises:
        DamagedError: nothing can be read of it; it is left as it is.
        StoreError: there is no room for a second copy, or reading takes too long; nothing was changed.
    """
    source = path if path.exists() and path.stat().st_size else newest_aside(path) or path
    try:
        with tempfile.TemporaryDirectory(prefix="repair-", dir=path.parent) as work:
            rebuilt = _rebuild(source, path, Path(work), seconds)
            moved, held = _doubt(Path(work) / "new.db", rebuilt, watermark, at)
            aside = _swap(source, path, Path(work) / "new.db", at)
    except sqlite3.Error as error:
        raise store_error(path, error) from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}", "free some space; nothing was changed") from error
    return Repaired(aside, rebuilt.rows, rebuilt.torn, rebuilt.tickets, tuple(r.key for r in moved), held)


def _rebuild(source: Path, path: Path, work: Path, seconds: float) -> Rebuilt:
    """Make ``new.db`` of a copy of the damaged file."""
    if not source.exists():
        raise DamagedError(path, "there is nothing to repair", RESTORE)
    copy = work / "damaged.db"
    shutil.copyfile(source, copy)
    log = next((p for p in (_beside(source, "-wal"), _beside(path, "-wal")) if p.exists()), None)
    if log is not None:
        shutil.copyfile(log, _beside(copy, "-wal"))
    with closing(Salvage(copy, seconds)) as salvage:
        rebuilt = rebuild.rebuild(salvage, work / "new.db")
        if salvage.late:
            words = f"{path} cannot be read in {seconds:g} seconds; nothing was changed"
            raise StoreError(words, "repair it on a faster disk, or put a backup in its place")
    if not any(kept for name, kept in rebuilt.rows.items() if name != "ledger"):
        raise DamagedError(source, "nothing can be read of it, so it is left as it is", RESTORE)
    return rebuilt


def _doubt(new: Path, rebuilt: Rebuilt, watermark: Watermark, at: float) -> tuple[tuple[EffectRecord, ...], str]:
    """Make doubtful effects unresolved, and set the marks; return those effects, and why effects are held."""
    with closing(sqlite3.connect(str(new))) as raw:
        db = Connection(raw, execute_plugins=False)
        whole = not set(_LEDGER) & set(rebuilt.torn) and not chain.verify(db) and not watermark.compare(db)
        with rebuild.without_triggers(db):
            moved = unsettle(db, at, whole=whole)
        held = "" if whole else f"not all of the ledger could be saved when the database was repaired on {_stamp(at)}"
        db.enable_wal()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if found := quick_check(db):
            raise StoreError(f"{new}: the new database is not whole ({found[0]})", RESTORE)
        watermark.accept(db, held)
    return moved, held


def _swap(source: Path, path: Path, new: Path, at: float) -> Path:
    """Give the damaged file its new name, and the new file the old one.

    Whenever this is cut off, no database is there that could be taken for a whole one: a start is refused then, and the
    next repair begins from the file set aside.
    """
    fd = os.open(new, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    aside = source
    if source == path:
        aside = path.with_name(f"{path.name}.damaged-{_stamp(at)}")
        path.rename(aside)
    for end in ("-wal", "-shm"):
        if _beside(path, end).exists():
            _beside(path, end).rename(_beside(aside, end))
    sync_directory(path.parent)
    new.chmod(0o600)
    new.rename(path)
    sync_directory(path.parent)
    return aside


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
