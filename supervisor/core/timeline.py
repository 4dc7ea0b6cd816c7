"""When each ticket was at work, waited for the operator or was parked, and what was spent when. Folded from events.

Pure. Times are seconds since the epoch, money is USD.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.fold import reduce
from supervisor.core.model import Outcome, State, TicketSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN = frozenset({State.STARTING, State.RUNNING, State.NEEDS_YOU, State.PARKED})
"""States that last for a while and are worth seeing; in all others a ticket waits for its turn, or rests."""
OVER = frozenset({State.DONE, State.FAILED, State.CANCELLED})


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which a ticket was in one state."""

    state: State
    begin: float
    end: float | None = None
    """None while it lasts."""
    attempt: int = 0


@dataclass(slots=True)
class Lane:
    """One ticket's time."""

    spans: list[Span] = field(default_factory=list)
    """Oldest first; only the last one may be open."""
    endings: list[tuple[float, State]] = field(default_factory=list)
    """When it was done, failed or cancelled, oldest first."""
    attempt: int = 0
    heard: float = 0.0
    """When something of it was heard last."""
    version: int = 0
    """Rises with every change."""


class Timeline:
    """All tickets' time, and what was spent. Grows with what happens."""

    def __init__(self) -> None:
        self.lanes: dict[str, Lane] = {}
        self._at: list[float] = []
        self._sums: list[float] = []
        self.first: float | None = None
        """When the first attempt was started; None before that."""
        self.version = 0
        """Rises with every sum that is spent."""

    @classmethod
    def of(cls, events: Iterable[ev.Event]) -> Timeline:
        """Return the timeline of stored events, in the order they were written. Takes some 10 µs for each."""
        made = cls()
        tickets: dict[str, TicketSnapshot] = {}
        for event in events:
            before = tickets.get(event.ticket) or TicketSnapshot(event.ticket)
            after = tickets[event.ticket] = reduce(before, event)
            made.take(event, before, after)
        return made

    @property
    def total(self) -> float:
        """What was spent in all."""
        return self._sums[-1] if self._sums else 0.0

    def spent_by(self, at: float) -> float:
        """Return what had been spent up to a moment, as far as that is known by now."""
        place = bisect_right(self._at, at)
        return self._sums[place - 1] if place else 0.0

    def take(self, event: ev.Event, before: TicketSnapshot, after: TicketSnapshot) -> None:
        """Take what happened to a ticket, with its snapshot before and after."""
        lane = self.lanes.get(event.ticket)
        if lane is None:
            lane = self.lanes[event.ticket] = Lane()
        if isinstance(event, ev.AttemptStarted):
            self._begin(lane, event)
        elif isinstance(event, ev.AttemptEnded) and event.outcome is Outcome.LOST:
            _close(lane, lane.heard)  # nobody was there to see it end
        self._spend(event.at, after.spent_usd - before.spent_usd)
        if before.state is not after.state:
            _close(lane, event.at)
            if after.state in SHOWN:
                lane.spans.append(Span(after.state, event.at, attempt=lane.attempt))
                self._note_first(event.at)
            elif after.state in OVER:
                lane.endings.append((event.at, after.state))
            lane.version += 1
        lane.heard = max(lane.heard, event.at)

    def _begin(self, lane: Lane, event: ev.AttemptStarted) -> None:
        lane.attempt = event.number
        if lane.spans and lane.spans[-1].end is None:
            lane.spans[-1] = replace(lane.spans[-1], attempt=event.number)
            lane.version += 1

    def _note_first(self, at: float) -> None:
        self.first = at if self.first is None else min(self.first, at)

    def _spend(self, at: float, usd: float) -> None:
        if usd:
            # Kept in order, also where the clock was set back.
            self._at.append(max(at, self._at[-1]) if self._at else at)
            self._sums.append(self.total + usd)
            self.version += 1


def _close(lane: Lane, at: float) -> None:
    """End the open span; a clock that was set back ends it where it began."""
    if lane.spans and lane.spans[-1].end is None:
        lane.spans[-1] = replace(lane.spans[-1], end=max(at, lane.spans[-1].begin))
        lane.version += 1
