"""Notices that an agent has fallen silent, by time that this process really had.

A turn may never end without anybody being to blame. A machine that slept, or a supervisor that was stopped for a while
with Ctrl-Z, has heard nothing either, and that is not the agent's fault: such gaps count as one look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_LOOK_S = 15.0
"""Longest time between two looks."""
_LOOKS = 10
"""So many looks make up a short limit."""


class Watchdog:
    """Counts for how long nothing was heard. Ask it after each ``look_s`` seconds in which nothing came."""

    def __init__(self, limit_s: float, running: Callable[[], float] = anyio.current_time) -> None:
        """Begin to count with the first look.

        Args:
            limit_s: how long an agent may say nothing.
            running: seconds on a clock that is never set, and stands still while the machine sleeps.
        """
        self.look_s = min(MOST_LOOK_S, limit_s / _LOOKS)
        self._limit = limit_s
        self._running = running
        self._silent = 0.0
        self._looked: float | None = None

    def heard(self) -> None:
        """The agent has said something, or waits for us: count anew."""
        self._silent = 0.0
        self._looked = self._running()

    def is_overdue(self) -> bool:
        """Look, and return whether the agent has been silent for the limit."""
        now = self._running()
        passed = self.look_s if self._looked is None else min(now - self._looked, 2 * self.look_s)
        self._silent += passed
        self._looked = now
        return self._silent >= self._limit
