"""Processes: who they are, that they die with us, and that they are gone.

A pid alone names nothing for long. Boot id, pid and start time together name a process for good; nothing is
signalled unless all of them match.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from supervisor.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from anyio.abc import Process

TERM_GRACE_S = 5.0
"""How long a process gets between TERM and KILL."""
_POLL_S = 0.02
_PS_S = 5.0


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process, named for good."""

    pid: int
    start: int | None
    """Start time in clock ticks since boot (field 22 of ``/proc/PID/stat``); None where the system tells none, and for
    a process that was gone already when it was named."""
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
        return len(fields) > 19 and int(fields[19]) == process.start and fields[0] not in ("Z", "X")
    if Path("/proc/self/stat").exists():
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def command_line(pid: int) -> str:
    """Return with which words a process was started, empty where there is none. Blocks."""
    with suppress(OSError, subprocess.TimeoutExpired):
        argv = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
        return subprocess.run(argv, capture_output=True, timeout=_PS_S, check=False).stdout.decode(errors="replace")
    return ""


def descendants(pid: int) -> list[ProcessId]:
    """Return the living descendants of ``pid``. The CLI runs each Bash command in a session of its own, so a
    process group is not enough to find them. Blocks."""
    return _below(pid, _children())


def families(processes: Iterable[ProcessId]) -> dict[ProcessId, list[ProcessId]]:
    """Return the living descendants of several processes at once; one that is gone has none. Blocks."""
    children = _children()
    return {process: _below(process.pid, children) if is_alive(process) else [] for process in processes}


def _children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    with suppress(OSError):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and (fields := _stat_fields(int(entry.name))):
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    return children


def _below(pid: int, children: Mapping[int, list[int]]) -> list[ProcessId]:
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
    _signal(process, signal.SIGTERM, signal.SIGCONT)
    if not await wait_gone(process, grace_s):
        family += await anyio.to_thread.run_sync(descendants, process.pid)  # what it has started meanwhile
        if _leads_group(process):
            end_group(process.pid)
        _signal(process, signal.SIGKILL)
    gone = await wait_gone(process, grace_s)
    return await end_all(family, grace_s) and gone


async def end_all(processes: Iterable[ProcessId], grace_s: float = TERM_GRACE_S) -> bool:
    """Kill processes that nobody is left to ask for; return whether all are gone."""
    alive = [process for process in processes if is_alive(process)]
    for process in alive:
        _signal(process, signal.SIGKILL)
    with anyio.move_on_after(grace_s):
        for process in alive:
            await wait_gone(process, grace_s)
    return not any(map(is_alive, alive))


def _signal(process: ProcessId, *numbers: signal.Signals) -> None:
    """Send signals; one that has been stopped needs CONT after TERM, or it would never take it."""
    if is_alive(process):
        with suppress(ProcessLookupError, PermissionError):
            for number in numbers:
                os.kill(process.pid, number)


def _leads_group(process: ProcessId) -> bool:
    """Return whether it leads a group of its own, which therefore holds nothing of ours."""
    fields = _stat_fields(process.pid)
    return is_alive(process) and fields is not None and int(fields[2]) == process.pid


MARK = "SUPERVISOR_SESSION"
"""Name of the variable by which everything that an agent starts can be told, wherever it has gone: its session's id."""


def marked(sessions: Collection[str]) -> list[ProcessId]:
    """Return the living processes that were started by agents of these sessions, and the agents. Blocks.

    Needed once an agent has been killed: its children have lost their parent then, and no list of children finds them.
    Empty where the system does not show a process's environment.
    """
    wanted = {f"{MARK}={session}".encode() for session in sessions}
    entries: list[Path] = []
    with suppress(OSError):
        entries += Path("/proc").iterdir() if wanted else ()
    found = [identify(int(entry.name)) for entry in entries if not wanted.isdisjoint(_environment(entry))]
    return [process for process in found if is_alive(process)]


def _environment(entry: Path) -> list[bytes]:
    """Return the variables of one entry of ``/proc``; none where it is no process, or not ours to look at."""
    with suppress(OSError):
        return (entry / "environ").read_bytes().split(b"\0") if entry.name.isdigit() else []
    return []


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


async def end_command(process: Process) -> None:
    """End a command of ours that leads a process group, with all of the group, and see it gone. Never cut short."""
    end_group(process.pid)
    with anyio.CancelScope(shield=True):
        await process.aclose()


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
    the kernel for SIGTERM when the parent dies, by ``setpriv``, or by Python where that is not installed. It also
    leaves our process group, so that a Ctrl-C or a hangup of the terminal reaches only us. Where the kernel has no such
    signal, as on macOS, and in the few milliseconds before it was asked for, the survivors are found at the next start:
    by the pid of the attempt, the CLI's own register, and the mark.
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
