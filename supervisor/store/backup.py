"""A copy of a batch's database and ticket file, made beside a running supervisor and checked before it counts."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlite_utils import Database as Connection

from supervisor.core.errors import DamagedError, StoreError
from supervisor.store import chain
from supervisor.store.driver import sqlite3
from supervisor.store.faults import REPAIR, store_error
from supervisor.store.health import open_readonly
from supervisor.store.watermark import sync_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

DATABASE = "state.db"


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was read through and found whole."""

    path: Path
    """The directory."""
    files: tuple[str, ...]
    """What is in it."""
    size: int
    """Bytes, all files together."""


def back_up(state_dir: Path, ticket_file: Path | None, target: Path) -> Backup:
    """Copy a batch to a directory that does not exist yet; it appears there only when it is whole and on the disk.

    Args:
        state_dir: the batch's state directory; a supervisor may be writing to it.
        ticket_file: copied too, where it is given.
        target: the new directory.

    Raises:
        StoreError: something is there already, or it cannot be written.
        DamagedError: the database, and so its copy, is damaged.
    """
    if target.exists():
        raise StoreError(f"{target} exists, and a backup never writes over anything", "name another directory")
    source = state_dir / DATABASE
    if not source.exists():
        raise StoreError(f"{state_dir} holds no batch", "name its state directory with --state-dir")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=target.parent) as work:
            whole = Path(work) / "whole"
            whole.mkdir(mode=0o700)
            _copy_database(source, whole / DATABASE)
            if ticket_file is not None:
                shutil.copyfile(ticket_file, whole / ticket_file.name)
            files = tuple(sorted(p.name for p in whole.iterdir()))
            size = sum(_sync(whole / name) for name in files)
            sync_directory(whole)
            whole.rename(target)
        sync_directory(target.parent)
    except sqlite3.Error as error:
        raise store_error(source, error) from error
    except OSError as error:
        raise StoreError(f"{error.filename or target}: {error.strerror or error}", "name another directory") from error
    return Backup(target, files, size)


def _copy_database(source: Path, target: Path) -> None:
    target.touch(mode=0o600)
    with closing(open_readonly(source)) as original, closing(sqlite3.connect(str(target))) as copy:
        original.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE").fetchone()  # one file, without a log beside it
        if found := next(_faults(copy), None):
            raise DamagedError(source, f"its copy is not whole ({found})", REPAIR)


def _faults(copy: object) -> Iterator[str]:
    db = Connection(copy, execute_plugins=False)  # type: ignore[arg-type]  # either SQLite module's connection
    yield from (str(row[0]) for row in db.execute("PRAGMA integrity_check(1)").fetchall() if row[0] != "ok")
    if "effect_log" in db.table_names():
        yield from chain.verify(db)


def _sync(path: Path) -> int:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
        return os.fstat(fd).st_size
    finally:
        os.close(fd)
