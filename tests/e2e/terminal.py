"""Runs a command in a pseudo-terminal and keeps what it writes, as a terminal would."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class Terminal:
    """One command in a terminal of its own."""

    def __init__(self, argv: Sequence[str], cwd: Path, env: dict[str, str], rows: int = 24, columns: int = 80) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before: list[Any] = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            argv, cwd=cwd, env={**env, "TERM": "xterm-256color"}, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        self._slave: int | None = slave
        self.output = bytearray()
        self._hung_up = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """A read that waits would keep the terminal open when it is hung up, so it only reads what is there."""
        with contextlib.suppress(OSError):
            while not self._hung_up.is_set():
                if select.select([self._master], [], [], 0.05)[0]:
                    self.output += os.read(self._master, 65_536)

    def keys(self, keys: str) -> None:
        """Type."""
        os.write(self._master, keys.encode())

    def settings(self) -> list[Any]:
        """The terminal's settings now."""
        assert self._slave is not None
        return termios.tcgetattr(self._slave)

    def hang_up(self) -> None:
        """Close the terminal, as when its window is closed."""
        self._hung_up.set()
        self._reader.join()
        os.close(self._master)
        if self._slave is not None:
            os.close(self._slave)
            self._slave = None

    def wait(self, seconds: float) -> int:
        """Wait for the command's end and return its exit code."""
        return self.process.wait(seconds)

    def close(self) -> None:
        """End the command if it still runs."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait(10)
        self._hung_up.set()
        self._reader.join()


def wait_until(true: Callable[[], object], seconds: float = 60.0) -> None:
    """Poll what happens in another process; fail after a while."""
    end = time.monotonic() + seconds
    gap = threading.Event()
    while not true():
        if time.monotonic() > end:
            raise TimeoutError
        gap.wait(0.02)
