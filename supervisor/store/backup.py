"""A copy of a batch's database, ticket file and conversations, made beside a running supervisor and checked before it
counts; and the way back, into a state directory that holds nothing yet.

Conversations lie in a backup as in a configuration directory of Claude Code, ``projects/*/<session>.jsonl``, below a
name that says which one they came from. Who makes the backup knows where those directories are.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from contextlib import closing, contextmanager
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
    from collections.abc import Iterator, Mapping

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
    conversations: int = 0
    """How many tickets' conversations are in it."""
    missing: int = 0
    """How many tickets have one that could not be found."""


Find = Callable[[str], "tuple[str, Path] | None"]
"""Returns a session's file and the name of the directory that it is kept under; None where there is none."""


def back_up(state_dir: Path, ticket_file: Path | None, target: Path, find: Find | None = None) -> Backup:
    """Copy a batch to a directory that does not exist yet; it appears there only when it is whole and on the disk.

    Args:
        state_dir: the batch's state directory; a supervisor may be writing to it.
        ticket_file: copied too, where it is given.
        target: the new directory.
        find: finds the conversations, to which agents may be writing; None leaves them out.

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
        with _draft(target) as whole:
            _copy_database(source, whole / DATABASE)
            if ticket_file is not None:
                shutil.copyfile(ticket_file, whole / ticket_file.name)
            sessions = _sessions(whole / DATABASE) if find is not None else ()
            found = [place for session in sessions if find is not None and (place := find(session)) is not None]
            for home, conversation in found:
                copy_conversation(conversation, whole / home)
            files = tuple(sorted(p.name for p in whole.iterdir()))
            size = _settle(whole, target)
    except sqlite3.Error as error:
        raise store_error(source, error) from error
    except OSError as error:
        raise StoreError(f"{error.filename or target}: {error.strerror or error}", "name another directory") from error
    return Backup(target, files, size, len(found), len(sessions) - len(found))


def restore(source: Path, state_dir: Path, homes: Mapping[str, Path]) -> int:
    """Put a backup into a state directory that does not exist or is empty; return how many conversations were put back.

    Nothing is written over: a conversation that is there already stays as it is.

    Args:
        source: the backup.
        state_dir: appears only when it is whole and on the disk.
        homes: where conversations go that were kept under these names; those under another name are left out. One that
            lies in ``state_dir`` appears with it.

    Raises:
        StoreError: something is there already, there is no such backup, or it cannot be written.
        DamagedError: the backup's database is damaged.
    """
    if state_dir.exists() and (not state_dir.is_dir() or any(state_dir.iterdir())):
        raise StoreError(f"{state_dir} is not empty, and nothing is written over", "move it away, then try again")
    if not (source / DATABASE).exists():
        raise StoreError(f"{source} holds no backup", "name a directory that `supervise backup` has made")
    count = 0
    try:
        state_dir.parent.mkdir(parents=True, exist_ok=True)
        with _draft(state_dir) as whole:
            (whole / ".gitignore").write_text("*\n")
            _copy_database(source / DATABASE, whole / DATABASE)
            for name, home in homes.items():
                inside = whole / home.relative_to(state_dir) if home.is_relative_to(state_dir) else home
                for conversation in sorted((source / name / "projects").glob("*/*.jsonl")):
                    count += copy_conversation(conversation, inside)
            _settle(whole, state_dir)
    except sqlite3.Error as error:
        raise store_error(source / DATABASE, error) from error
    except OSError as error:
        raise StoreError(f"{error.filename or state_dir}: {error.strerror or error}", "nothing was restored") from error
    return count


@contextmanager
def _draft(target: Path) -> Iterator[Path]:
    """Make a directory beside a target, for its owner only, and remove what is left of it in the end.

    One that was killed has left its own, which goes first. Raises OSError, and StoreError while another is at work.
    """
    work = target.with_name(f".{target.name}.draft")
    work.mkdir(mode=0o700, exist_ok=True)
    held = os.open(work, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"{target} is being made by another command", "wait for it") from None
        whole = work / "whole"
        shutil.rmtree(whole, ignore_errors=True)
        whole.mkdir(mode=0o700)
        try:
            yield whole
        finally:
            shutil.rmtree(work)
    finally:
        os.close(held)


def copy_conversation(source: Path, home: Path) -> bool:
    """Copy a session's file, and what the CLI keeps beside it, unless it is there; return whether it was copied.

    A line that is still being written is left out. Raises OSError.
    """
    target = home / "projects" / source.parent.name / source.name
    if target.exists():
        return False
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = source.with_suffix("")
    if beside.is_dir():
        shutil.copytree(beside, target.with_suffix(""), symlinks=True, dirs_exist_ok=True)
    draft = target.with_suffix(".new")
    draft.touch(mode=0o600)
    with source.open("rb") as lines, draft.open("wb") as out:
        out.writelines(line for line in lines if line.endswith(b"\n"))
    draft.rename(target)
    return True


def _sessions(database: Path) -> tuple[str, ...]:
    with closing(sqlite3.connect(str(database))) as copy:
        rows = copy.execute("SELECT session_id FROM tickets WHERE session_id IS NOT NULL AND attempts > 0").fetchall()
    return tuple(str(row[0]) for row in rows)


def _settle(whole: Path, target: Path) -> int:
    """Let a directory last, and put it in its place; return how many bytes its files have."""
    size = 0
    for directory, _, names in os.walk(whole):
        place = Path(directory)
        size += sum(_sync(place / name) for name in names if not (place / name).is_symlink())
        sync_directory(place)
    whole.rename(target)
    sync_directory(target.parent)
    return size


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
