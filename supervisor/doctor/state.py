"""What a batch's state directory is like: its place, its disk, its database, and who is at work on it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from supervisor.control_client import ask
from supervisor.core.errors import StoreError
from supervisor.doctor.findings import Finding, fault, listed, ok, warn
from supervisor.engine.filesystem import caution, find_mount, objection
from supervisor.engine.lock import holder
from supervisor.engine.recovery import survivors
from supervisor.engine.storage import shortage
from supervisor.store.checkup import Checkup, check_up
from supervisor.store.faults import REPAIR
from supervisor.store.health import newest_aside, refuse_missing
from supervisor.store.watermark import ACCEPT, Watermark, users_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from supervisor.engine.process import ProcessId

_ASK_S = 3.0
_ELSEWHERE = "name a directory on a local disk with --state-dir"


def place(state_dir: Path) -> Iterator[Finding]:
    """Look at where the directory is, and who may read it."""
    if not state_dir.exists():
        yield ok("state", f"{state_dir} is not made yet")
    elif not state_dir.is_dir():
        yield fault("state", f"{state_dir} is no directory", "name another one with --state-dir")
        return
    elif state_dir.stat().st_mode & 0o077:
        yield warn("state", f"others may look into {state_dir}", f"chmod 700 {state_dir}")
    elif not os.access(state_dir, os.W_OK):
        yield fault("state", f"you may not write to {state_dir}", "run as the user who made it")
    else:
        yield ok("state", str(state_dir))
    yield _file_system(state_dir)
    yield _space(next(path for path in (state_dir, *state_dir.parents) if path.exists()))


def _file_system(state_dir: Path) -> Finding:
    mount = find_mount(state_dir)
    if mount is None:
        return ok("filesystem", "this system does not tell; it must be a local disk")
    if words := objection(mount):
        return fault("filesystem", f"{words}, where databases get damaged", _ELSEWHERE)
    if words := caution(mount):
        return warn("filesystem", words, _ELSEWHERE)
    return ok("filesystem", f"{mount.kind} on {mount.point}")


def _space(path: Path) -> Finding:
    space = os.statvfs(path)
    free = f"{space.f_bavail * space.f_frsize / 1e9:,.1f} GB free"
    if words := shortage(space):
        return fault("space", f"{free}, {words}: no ticket starts", "free some space")
    return ok("space", free)


def database(state_dir: Path) -> tuple[Checkup | None, list[Finding]]:
    """Look the database through; return what it says of itself too, where it can be read."""
    path = state_dir / "state.db"
    try:
        refuse_missing(path)
        if not path.exists():
            return None, [ok("database", "none yet")]
        seen = check_up(path, Watermark(state_dir, users_directory()))
    except StoreError as error:
        return None, [fault("database", error.message, error.remedy)]
    size = f"{seen.size / 1e6:,.1f} MB"
    if seen.damage:
        return None, [fault("database", f"{size}, damaged: {listed(seen.damage, 2)}", REPAIR)]
    return seen, [ok("database", f"{size}, whole"), *_ledger(seen), *_aside(path)]


def _ledger(seen: Checkup) -> Iterator[Finding]:
    if seen.misfits:
        remedy = "somebody or something changed it: look at these effects before you trust it, or restore a backup"
        yield fault("ledger", listed(seen.misfits, 3), remedy)
    else:
        yield ok("ledger", f"{seen.entries} entries, which fit together")
    if seen.held:
        yield fault("marks", seen.held.removesuffix(f": {ACCEPT}"), ACCEPT)


def _aside(path: Path) -> Iterator[Finding]:
    aside = newest_aside(path)
    if aside is not None:
        yield ok("aside", f"{aside.name} is what a repair has set aside; remove it when you need it no more")


def at_work(state_dir: Path, seen: Checkup | None, sessions: tuple[Path, ...]) -> Iterator[Finding]:
    """Look at who is at work on the batch.

    Args:
        state_dir: the batch's.
        seen: what its database says.
        sessions: directories in which Claude Code may have registered its agents.
    """
    running = holder(state_dir / "lock")
    if running is not None:
        yield ok("lock", f"a supervisor is running (pid {running.pid})")
        yield _socket(state_dir)
        return
    yield ok("lock", "no supervisor is running")
    left = _left(seen, sessions)
    if left:
        pids = listed((str(process.pid) for process in left), 10)
        yield warn("agents", f"left over and at work: pid {pids}", "start the supervisor: it ends them first")
    else:
        yield ok("agents", "none is left over")


def _socket(state_dir: Path) -> Finding:
    try:
        reply = ask(state_dir, {"do": "status"}, _ASK_S)
    except StoreError as error:
        return fault("socket", error.message, error.remedy)
    return ok("socket", "it answers") if reply is not None else warn("socket", "it has just stopped", "look again")


def _left(seen: Checkup | None, sessions: tuple[Path, ...]) -> list[ProcessId]:
    if seen is None or not seen.open_attempts:
        return []
    found = {p.pid: p for directory in sessions for p in survivors(directory, seen.open_attempts)}
    return [found[pid] for pid in sorted(found)]
