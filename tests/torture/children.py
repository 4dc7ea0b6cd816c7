"""Child processes by fork: up in a millisecond with everything imported, and killed only by the pid we got."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
BROKEN = 70
"""Exit code of a child that raised what it should not have."""


def start(work: Callable[..., object], *args: Any, log: str = os.devnull) -> int:
    """Run ``work`` in a child and return its pid. What it raises goes to ``log``, and it then exits with BROKEN."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        work(*args)
    except BaseException:
        with open(log, "a") as file:  # noqa: PTH123
            file.write(traceback.format_exc())
        os._exit(BROKEN)
    os._exit(0)


def kill(pid: int) -> None:
    """End a child of ours at once."""
    os.kill(pid, signal.SIGKILL)


def wait(pid: int) -> int:
    """Wait for a child and return its exit code; negative is the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def call(work: Callable[..., T], *args: Any) -> T:
    """Return what ``work`` returns in a child of its own: no connection is ever open on both sides of a fork."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = pickle.dumps((work(*args), None))
        except BaseException:
            answer = pickle.dumps((None, traceback.format_exc()))
        with os.fdopen(theirs, "wb") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        result, fault = pickle.loads(pipe.read())
    wait(pid)
    if fault is not None:
        raise RuntimeError(fault)
    return result  # type: ignore[no-any-return]
