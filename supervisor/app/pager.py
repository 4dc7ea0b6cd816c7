"""The way out to a pager and back: a private file, the terminal handed over, and the engine never waiting.

The engine lives on our loop, so the pager is waited for in a thread. Meanwhile it is the terminal's foreground job, in
a process group of its own: ctrl+c is the pager's, and does not stop the batch.
"""

from __future__ import annotations

import os
import shlex
import signal
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from textual.app import SuspendNotSupported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import App

_DEFAULT = "less -R"
_OUR_SIGNALS = (signal.SIGPIPE, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
"""What the pager gets back as every program has it."""


async def read_in_pager(app: App[Any], text: str) -> None:
    """Show text in ``$PAGER``, ``less -R`` by default, and come back when that ends. Says why where it cannot.

    If the task is cancelled, the pager is ended and the terminal stays as the pager left it: the app is leaving too.
    """
    try:
        argv = shlex.split(os.environ.get("PAGER", "")) or shlex.split(_DEFAULT)
    except ValueError as error:
        _say(app, f"PAGER cannot be read: {error}.")
        return
    path = await anyio.to_thread.run_sync(_write, text)
    trouble = None
    try:
        with app.suspend():
            trouble = await _run([*argv, str(path)])
    except SuspendNotSupported:
        trouble = "This terminal cannot be handed to a pager."
    finally:
        path.unlink(missing_ok=True)
    if trouble is not None:
        _say(app, trouble)


def _say(app: App[Any], words: str) -> None:
    app.notify(words, severity="warning", markup=False)


def _write(text: str) -> Path:
    """Write a file that only we can read."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="supervise-", suffix=".txt", delete=False, encoding="utf-8", errors="replace"
    ) as file:
        file.write(text)
    return Path(file.name)


def _start(argv: list[str]) -> int:
    """Start a program in a process group of its own; return its id, which is the group's too. Raises OSError."""
    return os.posix_spawnp(argv[0], argv, os.environ, setpgroup=0, setsigdef=_OUR_SIGNALS)


async def _run(argv: list[str]) -> str | None:
    """Run a program in the foreground of our terminal; return why that failed, None if it did not."""
    with _terminal() as terminal:
        try:
            pid = _start(argv)
        except OSError as error:
            return f"{argv[0]} cannot be started: {error.strerror}. Set PAGER to another program."
        _to_front(terminal, pid)
        try:
            await anyio.to_thread.run_sync(_wait, pid, abandon_on_cancel=True)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            raise
    return None


def _wait(pid: int) -> None:
    """Wait for a program's end. One that stops itself, by ctrl+z, goes on at once: nobody could wake it."""
    with suppress(ChildProcessError):
        while os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1]):
            os.killpg(pid, signal.SIGCONT)


@contextmanager
def _terminal() -> Iterator[int | None]:
    """Open our terminal; whatever happens, be its foreground job again afterwards. None where there is none."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield terminal
    finally:
        _to_front(terminal, os.getpgrp())
        os.close(terminal)


def _to_front(terminal: int | None, group: int) -> None:
    """Make a process group the one that the terminal's keys go to."""
    if terminal is None:
        return
    # Whoever asks from the background is stopped for it, unless it will not hear of that.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        with suppress(OSError):
            os.tcsetpgrp(terminal, group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
