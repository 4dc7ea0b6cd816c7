"""Something that is read from disk or git when it is looked at, and read again once what it depends on has moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from supervisor.app.lookup import Lookup
from supervisor.core.errors import SupervisorError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from supervisor.app.ports import BatchPort
    from supervisor.engine.reader import Reader

T = TypeVar("T")

PACE_S = 2.0
"""Least time between two readings that nobody asked for."""


class Fresh(Generic[T]):
    """What was read last, and whether that still holds.

    Answers may come from any task of the loop, so they only leave a mark: whoever draws looks at ``is_new`` once a
    frame.
    """

    def __init__(self, port: BatchPort, read: Callable[[Reader], Awaitable[T]], pace_s: float = PACE_S) -> None:
        """Prepare it; nothing is read before `want`.

        Args:
            port: The batch.
            read: How to read it.
            pace_s: Least time between two readings, seconds; `forget` does not wait for it.
        """
        self._read, self._pace_s = read, pace_s
        self._lookup: Lookup[T] = Lookup(port, self._came)
        self._stamp: Hashable = None
        self._asked_at: float | None = None
        self.value: T | None = None
        """What was found last; None before that."""
        self.fault: SupervisorError | None = None
        """Why the last reading found nothing."""
        self.is_new = False
        """An answer came since `taken`."""
        self.version = 0
        """Rises with every answer."""

    @property
    def is_read(self) -> bool:
        """Whether there is anything to show, be it a fault."""
        return self.value is not None or self.fault is not None

    def want(self, stamp: Hashable, now: float) -> None:
        """Have it read, if it was not since ``stamp`` changed; a reading under way is waited for.

        Args:
            stamp: What it depends on.
            now: Seconds since the epoch.
        """
        if self._lookup.is_open or (self._asked_at is not None and stamp == self._stamp):
            return
        if self._asked_at is not None and 0 <= now - self._asked_at < self._pace_s:
            return
        self._stamp, self._asked_at = stamp, now
        self._lookup.ask(self._read)

    def forget(self, read: Callable[[Reader], Awaitable[T]] | None = None) -> None:
        """Drop what was read; the next `want` reads at once, in another way if one is given."""
        self._read = read or self._read
        self._lookup.drop()
        self.value, self.fault, self._asked_at = None, None, None

    def taken(self) -> None:
        """Take note that the answer is being shown."""
        self.is_new = False

    def _came(self, found: T | SupervisorError) -> None:
        if isinstance(found, SupervisorError):
            self.fault = found
        else:
            self.value, self.fault = found, None
        self.is_new = True
        self.version += 1
