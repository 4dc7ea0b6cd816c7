"""Processes: who they are, that they die with us, and that they are gone.

A pid alone names nothing for long. Boot id, pid and start time together name a process for good; nothing is
signalled unless all of them match.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from supervisor.core.errors import StoreError

TERM_GRACE_S = 5.0
"""How long a process gets between TERM and KILL."""
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process, named for good."""

    pid: int
    start: int | None
    """Start time in clock ticks since boot (field 22 of ``/proc/PID/stat``); None where the system has none."""
    boot_id: str | None


def boot_id() -> str | None:
    """Return the id of this boot of the machine, or None where the system gives none."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return None


def _stat_fields(pid: int) -> list[str] | None:
    """Return the fields of ``/proc/PID/stat`` after the command's name, which may itself hold spaces and brackets."""
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return None


def identify(pid: int) -> ProcessId:
    """Return the full name of a living process."""
    fields = _stat_fields(pid)
    start = int(fields[19]) if fields and len(fields) > 19 else None
    return ProcessId(pid, start, boot_id())


def is_alive(process: ProcessId) -> bool:
    """Return whether that very process still runs; a zombie or another process of the same pid does not count."""
    if process.boot_id is not None and process.boot_id != boot_id():
        return False
    fields = _stat_fields(process.pid)
    if fields is not None:
        same = process.start is None or (len(fields) > 19 and int(fields[19]) == process.start)
        return same and fields[0] not in ("Z", "X")
    if Path("/proc/self/stat").exists():
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def descendants(pid: int) -> list[ProcessId]:
    """Return the living descendants of ``pid``. The CLI runs each Bash command in a session of its own, so a
    process group is not enough to find them."""
    children: dict[int, list[int]] = {}
    with suppress(OSError):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and (fields := _stat_fields(int(entry.name))):
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[ProcessId] = []
    todo = list(children.get(pid, ()))
    while todo:
        child = todo.pop()
        found.append(identify(child))
        todo.extend(children.get(child, ()))
    return found


async def wait_gone(process: ProcessId, seconds: float) -> bool:
    """Wait until the process is gone; return whether it is."""
    with anyio.move_on_after(seconds):
        while is_alive(process):  # noqa: ASYNC110 - there is no event for a process that is not our child
            await anyio.sleep(_POLL_S)
    return not is_alive(process)


async def stop(process: ProcessId, grace_s: float = TERM_GRACE_S) -> bool:
    """End a process and what it started: TERM, wait, KILL, and then the children that KILL would leave behind.

    Returns whether all of them are gone.
    """
    if not is_alive(process):
        return True
    family = await anyio.to_thread.run_sync(descendants, process.pid)
    _signal(process, signal.SIGTERM)
    if not await wait_gone(process, grace_s):
        _signal(process, signal.SIGKILL)
    gone = await wait_gone(process, grace_s)
    for child in family:
        if is_alive(child):
            _signal(child, signal.SIGKILL)
            gone = await wait_gone(child, grace_s) and gone
    return gone


def _signal(process: ProcessId, number: signal.Signals) -> None:
    if is_alive(process):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)


_GIT_LOCATORS = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX",
)  # fmt: skip


def forget_git_locators() -> None:
    """Take out of our environment what would point git, and every agent's git, at another repository.

    git sets these for its hooks and aliases, so we have them when we are started from one.
    """
    for name in _GIT_LOCATORS:
        os.environ.pop(name, None)


def end_group(pid: int) -> None:
    """End a process group of ours, whatever is left of it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


_PYTHON_LAUNCHER = """\
import ctypes, os, signal, sys
if os.getpid() != os.getpgrp():
    os.setsid()
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
os.execv(sys.argv[1], sys.argv[1:])
"""


def write_launcher(path: Path, cli: Path) -> Path:
    """Write the script that starts the CLI so that it cannot outlive us, and return its path.

    The CLI does not stop when its input ends: it finishes the whole turn, and pays for it. On Linux the script asks
    the kernel for SIGTERM when the parent dies. It also leaves our process group, so that a Ctrl-C or a hangup of the
    terminal reaches only us. Where the kernel has no such signal the survivors are found at the next start.
    """
    setsid, setpriv = shutil.which("setsid"), shutil.which("setpriv")
    if sys.platform == "linux" and setsid and setpriv:
        command = f"exec {shlex.quote(setsid)} {shlex.quote(setpriv)} --pdeathsig TERM -- {shlex.quote(str(cli))}"
    else:
        command = f"exec {shlex.quote(sys.executable)} -I -S -c {shlex.quote(_PYTHON_LAUNCHER)} {shlex.quote(str(cli))}"
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(f'#!/bin/sh\n{command} "$@"\n')
        draft.chmod(0o700)
        draft.replace(path)  # in one step: another supervisor may be starting an agent with the old one
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}", "make the state directory writable") from error
    return path
