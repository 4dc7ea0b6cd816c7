"""Who may spend how much: the one place that decides the cap of an attempt, before anything is started.

A ticket's cap is what is left of its own budget, and its fair share of what the batch has not promised to others, each
less the reserve that the last API call may overshoot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core import budget

if TYPE_CHECKING:
    from supervisor.core.model import TicketSnapshot
    from supervisor.core.spec import TicketSpec
    from supervisor.engine.context import Engine


@dataclass(frozen=True, slots=True)
class Allowance:
    """The answer."""

    cap_usd: float | None
    """None without any limit."""
    own_limit: bool = False
    """The ticket's own budget is used up: only the operator can raise it."""

    @property
    def nothing(self) -> bool:
        """Whether it is too little to start an agent."""
        return self.cap_usd is not None and self.cap_usd < budget.MIN_CAP_USD


def allowance(engine: Engine, ticket: TicketSpec, snapshot: TicketSnapshot, sharers: int) -> Allowance:
    """Return what a ticket's next attempt may spend.

    Args:
        engine: the batch.
        ticket: the ticket that asks.
        snapshot: where it stands.
        sharers: among how many tickets the batch's free money is shared, this one included.
    """
    kept = budget.reserve(ticket.reserve_usd, 0.0)
    own = budget.attempt_cap(snapshot.headroom_usd, kept, None, 1)
    if own is not None and own < budget.MIN_CAP_USD:
        return Allowance(own, own_limit=True)
    free = engine.purse.unreserved(engine.board.totals().spent_usd, ticket.id)
    return Allowance(budget.attempt_cap(snapshot.headroom_usd, kept, free, sharers))
