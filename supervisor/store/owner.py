"""Who this process is, and whether another one is proved dead. In doubt it is not: a claim is then left alone.

Unlike "is it alive?", which may guess, a wrong yes here would run an effect twice.
"""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress
from pathlib import Path

from supervisor.core.effects import Owner

_STATE, _GROUP, _THREADS, _START = 0, 2, 17, 19
"""Places in ``/proc/PID/stat`` after the command's name: man 5 proc, fields 3, 5, 20 and 22."""


def this_process() -> Owner:
    """Return the name of the calling process."""
    pid = os.getpid()
    fields = _stat(pid)
    start = int(fields[_START]) if fields else None
    return Owner(_host(), pid, start, _boot_id(), _namespace())


def is_proved_dead(owner: Owner) -> bool:
    """Return whether a process, or the whole group it leads, has surely ended.

    Proof is: the same host has booted since; or, in the same pid namespace, the pid is free or belongs to a process
    that started at another time. Nothing about another host can be proved from here.
    """
    if owner.host != _host():
        return False
    boot = _boot_id()
    if owner.boot_id != boot:
        return None not in (owner.boot_id, boot)
    if owner.namespace != _namespace():
        return False
    return _group_is_dead(owner) if owner.group else _process_is_dead(owner)


def _process_is_dead(owner: Owner) -> bool:
    if not _exists(owner.pid):
        return True
    fields = _stat(owner.pid)
    if fields is None:
        return False
    # A leader that ended while threads of it go on is shown as a zombie too.
    ended = fields[_STATE] in ("Z", "X") and int(fields[_THREADS]) <= 1
    return ended or _is_another(owner, fields)


def _is_another(owner: Owner, fields: list[str]) -> bool:
    return owner.start is not None and int(fields[_START]) != owner.start


def _group_is_dead(owner: Owner) -> bool:
    """The kernel gives a pid out again only when no group of that number is left."""
    leader = _stat(owner.pid)
    if leader is not None and _is_another(owner, leader):
        return True
    if not _exists(-owner.pid):
        return not _exists(owner.pid) or _process_is_dead(owner)
    return _only_zombies(owner.pid)


def _only_zombies(group: int) -> bool:
    """Return whether all members are seen and none of them runs: an unreaped child still counts for ``kill``."""
    seen = False
    try:
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except OSError:
        return False
    for pid in pids:
        fields = _stat(pid)
        if fields is not None and int(fields[_GROUP]) == group:
            seen = True
            if fields[_STATE] not in ("Z", "X") or int(fields[_THREADS]) > 1:
                return False
    return seen


def _exists(target: int) -> bool:
    """Return whether the kernel knows a process, or a group where the number is negative."""
    try:
        os.kill(target, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True


def _stat(pid: int) -> list[str] | None:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    return None


def _host() -> str:
    """Return the host's name with a few digits of its machine id: names such as "localhost" are not one machine's."""
    machine = ""
    with suppress(OSError):
        machine = Path("/etc/machine-id").read_text().strip()[:8]
    name = socket.gethostname()
    return f"{name} ({machine})" if machine else name


def _boot_id() -> str | None:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return None


def _namespace() -> int | None:
    with suppress(OSError):
        return Path("/proc/self/ns/pid").stat().st_ino
    return None
