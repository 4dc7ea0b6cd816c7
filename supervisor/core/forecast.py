"""What a batch will have cost and when it will have ended, by what its finished tickets took. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median, quantiles
from typing import TYPE_CHECKING

from supervisor.core.model import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from supervisor.core.model import TicketSnapshot

_OVER = frozenset({State.DONE, State.FAILED, State.CANCELLED})
_FOR_QUARTERS = 4
"""With fewer finished tickets the range is from the least to the most of them."""


_MOST_S = 10 * 366 * 86_400.0
"""No forecast goes further; a clock that was set may have made an attempt very long."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure that is not known yet: what is expected, and between what it will probably be."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """How a batch will end, if the tickets that are left are like those that are done."""

    finished: int
    """How many tickets it is made from."""
    left: int
    """How many are not over yet."""
    cost_usd: Spread
    """Of the whole batch, what was spent so far included."""
    seconds: Spread
    """From now to the end."""


def forecast(tickets: Iterable[TicketSnapshot], work_s: Mapping[str, float], slots: int, now: float) -> Forecast | None:
    """Return how the batch will end; None while no ticket is done, and once none is left.

    Args:
        tickets: all of them.
        work_s: for how many seconds agents have worked on each ticket so far.
        slots: how many run at the same time.
        now: seconds since the epoch; parked tickets go on at theirs.
    """
    known = list(tickets)
    done = [t for t in known if t.state is State.DONE]
    left = [t for t in known if t.state not in _OVER]
    if not done or not left:
        return None
    cost, took = _spread([t.spent_usd for t in done]), _spread([work_s.get(t.id, 0.0) for t in done])
    spent, beside = sum(t.spent_usd for t in known), max(1, min(slots, len(left)))
    parked = max((t.until - now for t in left if t.state is State.PARKED and t.until is not None), default=0.0)

    def money(each: float) -> float:
        return spent + sum(max(0.0, each - t.spent_usd) for t in left)

    def time(each: float) -> float:
        work = [max(0.0, each - work_s.get(t.id, 0.0)) for t in left]
        return max(sum(work) / beside, *work, parked)

    return Forecast(
        len(done),
        len(left),
        Spread(money(cost.expected), money(cost.low), money(cost.high)),
        Spread(time(took.expected), time(took.low), time(took.high)),
    )


def _spread(values: Sequence[float]) -> Spread:
    """Return the median and the middle half of some values."""
    if len(values) < _FOR_QUARTERS:
        return Spread(median(values), min(values), max(values))
    first, _, last = quantiles(values, n=4, method="inclusive")
    return Spread(median(values), first, last)


def words(found: Forecast, now: float, *, notional: bool = False) -> str:
    """Return a forecast in one line, times by the local clock.

    Args:
        found: the forecast.
        now: seconds since the epoch.
        notional: leave the money out, since none is paid.
    """
    cost, end = found.cost_usd, found.seconds
    parts = [] if notional else [f"≈ ${cost.expected:.2f} in all (${cost.low:.2f} to ${cost.high:.2f})"]
    parts.append(f"ends about {_clock(now, end.expected)} ({_clock(now, end.low)} to {_clock(now, end.high)})")
    return ", ".join(parts)


def _clock(now: float, seconds: float) -> str:
    begun = datetime.fromtimestamp(now)
    then = begun + timedelta(seconds=min(seconds, _MOST_S))
    days = (then.date() - begun.date()).days
    return f"{then:%H:%M}" + (f" +{days} d" if days else "")
