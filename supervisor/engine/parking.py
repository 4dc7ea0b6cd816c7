"""When parked tickets go on: at their time by the wall clock, or once that much time has really passed.

The wall clock alone would keep a ticket parked for an hour more when it is set back by one; running time alone would
not count the hours that the machine slept. Whichever comes first is believed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.model import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from supervisor.core.model import TicketSnapshot

LOOK_S = 30.0
"""Longest time between two looks: nothing tells when a clock is set, or the machine has slept."""


class Parking:
    """Remembers since when each ticket is seen to be parked. For the tasks of one loop."""

    def __init__(self, clock: Callable[[], float], running: Callable[[], float]) -> None:
        """Begin without any ticket.

        Args:
            clock: seconds since the epoch, as it is set right now.
            running: seconds on a clock that is never set.
        """
        self._clock = clock
        self._running = running
        self._ends: dict[str, tuple[float, float]] = {}
        """By ticket, its time by the wall clock, and by the running one as it was when we first saw that."""

    def look(self, tickets: Iterable[TicketSnapshot]) -> tuple[list[str], float | None]:
        """Return which tickets go on now, and after how many seconds to look again; None where none is parked."""
        now, running = self._clock(), self._running()
        parked = [(t, now if t.until is None else t.until) for t in tickets if t.state is State.PARKED]
        ends = {t.id: (until, self._end(t, until, now, running)) for t, until in parked}
        self._ends = ends
        left = {ticket: min(until - now, end - running) for ticket, (until, end) in ends.items()}
        waiting = [seconds for seconds in left.values() if seconds > 0]
        due = [ticket for ticket, seconds in left.items() if seconds <= 0]
        return due, min(LOOK_S, *waiting) if waiting else None

    def _end(self, ticket: TicketSnapshot, until: float, now: float, running: float) -> float:
        """Return when the ticket goes on by the running clock.

        The clock may have been set back before we first look: nobody waits longer than was meant when it was parked.
        """
        known = self._ends.get(ticket.id)
        if known is not None and known[0] == until:
            return known[1]
        since = now if ticket.last_activity is None else max(now, ticket.last_activity)
        return running + max(0.0, until - since)
