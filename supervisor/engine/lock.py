"""The batch lock: one supervisor for each state directory.

The kernel drops the lock with the process that held it, so a file left by a dead supervisor locks nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from supervisor.core.errors import LockedError, StoreError
from supervisor.engine.process import ProcessId, identify, is_alive

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


_LOOKS, _LOOK_S = 10, 0.02


class BatchLock:
    """Held from ``acquire`` to ``release``; also a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def acquire(self) -> None:
        """Take the lock and write who we are into the file. Raises LockedError with the holder's pid, StoreError."""
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(
                f"cannot open {self._path}: {error.strerror}", "make the state directory writable"
            ) from error
        if not self._try(fd):
            os.close(fd)
            named = _named(self._path)
            raise LockedError(named.pid if named else None, str(self._path.parent))
        me = identify(os.getpid())
        os.ftruncate(fd, 0)
        os.write(fd, json.dumps({"pid": me.pid, "start": me.start, "boot_id": me.boot_id}).encode())
        self._fd = fd

    def _try(self, fd: int) -> bool:
        """Take the lock; somebody who only looks (``holder``) has it for a moment, so a dead holder is asked again."""
        for _ in range(_LOOKS):
            with suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            named = _named(self._path)
            if named is not None and is_alive(named):
                return False
            time.sleep(_LOOK_S)
        return False

    def release(self) -> None:
        """Give the lock back. The file stays: removing it would race with the next holder."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> BatchLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _named(path: Path) -> ProcessId | None:
    """Return the process that the file names, alive or not."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        data = json.loads(path.read_text())
        return ProcessId(int(data["pid"]), data["start"], data["boot_id"])
    return None


def holder(path: Path) -> ProcessId | None:
    """Return the supervisor that holds the lock right now, or None."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _named(path)
    finally:
        os.close(fd)
    return None
