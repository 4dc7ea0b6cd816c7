"""Arithmetic of money: differences of cumulative totals, caps and reserves.

Pure. All amounts are USD and are the SDK's client-side estimates, not billing data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from supervisor.core.spec import DEFAULT_RESERVE_USD

if TYPE_CHECKING:
    from supervisor.core.model import TicketSnapshot

ROUNDING_USD = 1e-7
"""Totals that differ by less are the same: one of them was written out and read back."""


@dataclass(slots=True)
class CostMeter:
    """Turns a session's cumulative ``total_cost_usd`` into what each turn cost.

    ``total_cost_usd`` counts over the whole session, earlier processes included, so totals are never summed. The
    baseline is read right after connect, before any prompt.
    """

    baseline_usd: float = 0.0
    _last: float = field(init=False)
    _read: float = field(init=False)

    def __post_init__(self) -> None:
        self._last = self._read = max(0.0, self.baseline_usd)

    @property
    def total_usd(self) -> float:
        """The session's total as of the last reading; after a reset that of the session before, until the next."""
        return self._read

    def turn(self, total_usd: float | None) -> float:
        """Return what was spent since the last reading. Never negative; a missing total counts as no change.

        A total that shrank has begun again from zero, so all of it is new; one of zero says nothing.
        """
        if total_usd is None or not total_usd > 0:  # NaN too
            return 0.0
        last, self._last, self._read = self._last, total_usd, total_usd
        return total_usd if total_usd < last - ROUNDING_USD else max(0.0, total_usd - last)

    def reset(self) -> None:
        """The conversation was replaced: the session's total starts again from zero."""
        self._last = 0.0


def unreported(known_usd: float, told_usd: float | None) -> float | None:
    """Return what a session has cost beyond what its results reported; None where nobody can tell.

    A process that leaves in good order writes the session's total down, also what no result has reported; one that is
    killed does not, and the total is then that of an earlier process (CLI 2.1.332).

    Args:
        known_usd: the session's total as its last process reported it, or as that process found it.
        told_usd: the total that is written down: what the next process finds.
    """
    if told_usd is None or told_usd <= known_usd + ROUNDING_USD:
        return None
    return told_usd - known_usd


def reserve(asked: float | None, largest_call_usd: float) -> float:
    """Return what is kept free below a cap: the ticket's own wish, or the largest call seen, at least 0.05."""
    return asked if asked is not None else max(DEFAULT_RESERVE_USD, largest_call_usd)


MIN_CAP_USD = 0.01
"""With less an agent would only be started to be stopped."""


def attempt_cap(
    headroom_usd: float | None, reserve_usd: float, unreserved_usd: float | None, sharers: int
) -> float | None:
    """Return the ``max_budget_usd`` of the next connect; None means no limit, less than the minimum do not start.

    A share must hold one more call than the reserve: where what is left does not give that to everyone, it is shared
    among fewer, and the last one gets all of it.

    Args:
        headroom_usd: what the ticket may still spend; None without a budget of its own.
        reserve_usd: kept free below the cap, since the API call that crosses it still counts.
        unreserved_usd: what the batch may still promise to attempts; None without a batch budget.
        sharers: tickets that the rest is shared among, this one included.
    """
    limits = []
    if headroom_usd is not None:
        limits.append(headroom_usd - reserve_usd)
    if unreserved_usd is not None:
        useful = max(MIN_CAP_USD, reserve_usd - ROUNDING_USD)
        shares = (unreserved_usd / among - reserve_usd for among in range(max(1, sharers), 1, -1))
        limits.append(next((share for share in shares if share >= useful), unreserved_usd - reserve_usd))
    return min(limits) if limits else None


def is_short(ticket: TicketSnapshot, reserve_usd: float) -> bool:
    """Return whether a ticket's own budget is too little for another attempt."""
    own = attempt_cap(ticket.headroom_usd, reserve_usd, None, 1)
    return own is not None and own < MIN_CAP_USD


def used_up(ticket: TicketSnapshot, reserve_usd: float) -> str:
    """Return which of a ticket's own limits is used up, in words; empty while it may go on."""
    if is_short(ticket, reserve_usd):
        return f"{usd_words(max(0.0, ticket.headroom_usd or 0.0))} left, less than the reserve {usd_words(reserve_usd)}"
    if ticket.turns_left == 0:
        return f"all {ticket.budget_turns} turns are taken"
    if ticket.tokens_left == 0:
        return f"all {ticket.budget_tokens:,} tokens are used"
    return ""


def usd_words(usd: float) -> str:
    """Return an amount that came about, to the cent; less than half a cent is said to be that."""
    return "<1¢" if 0 < usd < 0.005 else f"${usd:.2f}"


def exact_usd(usd: float) -> str:
    """Return an amount that somebody chose: with cents, and with more digits where there are more."""
    whole, _, part = f"{usd:.6f}".partition(".")
    return f"${whole}.{part.rstrip('0'):0<2}"


def raised(limit: float, first: float, ceiling: float | None, enough: float) -> float | None:
    """Return the next higher limit of a ticket that raises its own; None where that is not enough or not allowed.

    Args:
        limit: what it has reached.
        first: what the file gave it.
        ceiling: it is never raised beyond; None means twice what the file gave it.
        enough: with less it could not go on.
    """
    most = 2 * first if ceiling is None else ceiling
    more = limit
    while more < most and (more <= limit or more < enough):
        more = min(most, more * RAISE_BY)
    return more if more > limit and more >= enough else None


RAISE_BY = 1.5
"""A ticket that raises its own limit takes half as much again each time."""


@dataclass(slots=True)
class Purse:
    """The batch's money: what running attempts may still spend is set aside, so that together they stay within it.

    What is set aside for an attempt is its cap and the reserve: the call that crosses the cap is paid for too.
    """

    budget_usd: float | None = None
    _promised: dict[str, float] = field(default_factory=dict)

    def promise(self, ticket: str, usd: float | None) -> None:
        """Set an attempt's money aside; what the ticket held before is given back first."""
        self._promised[ticket] = max(0.0, usd or 0.0)

    def spent(self, ticket: str, usd: float) -> None:
        """An attempt spent part of its promise."""
        if ticket in self._promised:
            self._promised[ticket] = max(0.0, self._promised[ticket] - max(0.0, usd))

    def release(self, ticket: str) -> None:
        """An attempt is over: give back what it did not spend."""
        self._promised.pop(ticket, None)

    def unreserved(self, spent_usd: float, ticket: str | None = None) -> float | None:
        """Return what can still be promised, given all that was spent; None without a batch budget.

        ``ticket``'s own promise counts as free.
        """
        if self.budget_usd is None:
            return None
        others = sum(usd for holder, usd in self._promised.items() if holder != ticket)
        return self.budget_usd - spent_usd - others
