"""Where complaints go: into a file of the state directory, and never to the terminal that a screen draws on.

Without this, Python writes warnings, errors of tasks that nobody waits for and faults of libraries to standard error,
in the middle of whatever is drawn there.
"""

from __future__ import annotations

import logging
import queue
import sys
import threading
from contextlib import contextmanager
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from typing import TYPE_CHECKING, Any

from supervisor.core.redaction import Redactor
from supervisor.core.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FILE = "supervise.log"
"""Name of the file in the state directory."""
MOST_BYTES = 1_000_000
"""So much is kept of it, and as much again under the name with ``.1``."""
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class _Safe(logging.Formatter):
    """Writes what others said without secrets, so that it can be shown on a terminal; later lines are indented."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__(_FORMAT)
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        lines = self._redactor.text(super().format(record)).split("\n")
        return "\n    ".join(safe_line(line) for line in lines)


class _File(RotatingFileHandler):
    """The file. A disk that takes nothing more is told of elsewhere: here it is borne in silence."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Do nothing."""


@contextmanager
def keep(state_dir: Path, secrets: Mapping[str, str] | None = None) -> Iterator[None]:
    """Take all complaints of this process into the log file; it is made with the first one.

    The file is written in a thread, so that nobody waits for the disk. ``secrets`` holds names and values of what must
    not be written down.
    """
    file = _File(state_dir / FILE, maxBytes=MOST_BYTES, backupCount=1, encoding="utf-8", delay=True, errors="replace")
    file.setFormatter(_Safe(Redactor(secrets or {})))
    records: queue.SimpleQueue[Any] = queue.SimpleQueue()
    listener, handler = QueueListener(records, file), QueueHandler(records)
    root, hooks = logging.getLogger(), (sys.unraisablehook, threading.excepthook)
    listener.start()
    root.addHandler(handler)
    logging.captureWarnings(True)
    sys.unraisablehook, threading.excepthook = _unraisable, _of_a_thread
    try:
        yield
    finally:
        sys.unraisablehook, threading.excepthook = hooks
        logging.captureWarnings(False)
        root.removeHandler(handler)
        listener.stop()
        file.close()


def _unraisable(fault: sys.UnraisableHookArgs) -> None:
    what = fault.err_msg or "an error that nobody could be told of"
    logging.getLogger("python").error("%s: %r", what, fault.object, exc_info=fault.exc_value)


def _of_a_thread(fault: threading.ExceptHookArgs) -> None:
    name = fault.thread.name if fault.thread is not None else "a thread"
    logging.getLogger("python").error("%s ended by an error", name, exc_info=fault.exc_value)
