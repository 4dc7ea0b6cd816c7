"""The way to the terminal: never waited for, and survived.

Textual's own writer blocks the loop once thirty writes are queued, and for ever once its thread has died on a closed
terminal. The engine lives on the same loop, so neither may happen: output goes through an unbounded queue, a terminal
that is gone swallows it, and the frame timer draws nothing while the queue is long.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

from textual.drivers.linux_driver import LinuxDriver

from supervisor.app.terminal_codes import give_title_back, take_title, title

if TYPE_CHECKING:
    from typing import TextIO

_STOP_S = 1.0
"""How long a terminal that does not read may delay our end."""


class Output:
    """Writes text to a file on a thread of its own."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._gone = False
        self._thread = threading.Thread(target=self._run, name="supervise-terminal", daemon=True)
        self._thread.start()

    @property
    def backlog(self) -> int:
        """Writes that wait for the terminal."""
        return self._queue.qsize()

    def put(self, text: str) -> None:
        """Queue text. Never blocks."""
        if not self._gone:
            self._queue.put(text)

    def stop(self) -> None:
        """Write what is queued, as far as the terminal takes it in a second."""
        self._queue.put(None)
        self._thread.join(_STOP_S)

    def _run(self) -> None:
        text: str | None = ""
        while text is not None:
            text = self._queue.get()
            try:
                self._file.write(text or "")
                if text is None or self._queue.empty():
                    self._file.flush()
            except (OSError, ValueError):  # the terminal was closed
                self._gone = True
                return


class TerminalDriver(LinuxDriver):
    """Textual's driver with our way of writing."""

    _output: Output | None = None
    _title = ""
    _is_titled = False

    @property
    def is_terminal(self) -> bool:
        """Whether somebody may see or hear what is sent beside the screen."""
        return self._output is not None and self._file is not None and self._file.isatty()

    @property
    def backlog(self) -> int:
        """Writes that wait for the terminal."""
        return self._output.backlog if self._output is not None else 0

    def start_application_mode(self) -> None:
        """Take the terminal over."""
        if self._output is None and self._file is not None:
            self._output = Output(self._file)
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._title:
            self.show_title(self._title)

    def stop_application_mode(self) -> None:
        """Bring back the terminal's own state, its title included."""
        if self._is_titled:
            self._is_titled = False
            self.write(give_title_back())
        super().stop_application_mode()

    def show_title(self, text: str) -> None:
        """Set the window's title, for as long as the terminal is ours. The text may hold anything."""
        self._title = text
        if self.is_terminal:
            self.write(title(text) if self._is_titled else take_title(text))
            self._is_titled = True

    def signal(self, data: str) -> None:
        """Send what is no part of the screen, if there is a terminal."""
        if self.is_terminal:
            self.write(data)

    def write(self, data: str) -> None:
        """Queue output. Never blocks."""
        if self._output is not None:
            self._output.put(data)

    def close(self) -> None:
        """Give the terminal back."""
        if self._output is not None:
            self._output.stop()
            self._output = None
        super().close()
