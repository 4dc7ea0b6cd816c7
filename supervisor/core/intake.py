"""What a ticket is to do, as the event that puts it on the board or brings it up to date there. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.events import TicketAdded
from supervisor.core.prompts import fingerprint

if TYPE_CHECKING:
    from supervisor.core.spec import TicketSpec


def added(ticket: TicketSpec, at: float, order: int, parent: str | None = None) -> TicketAdded:
    """Return what is asked of a ticket now.

    Args:
        ticket: the ticket.
        at: when it was read.
        order: its place in the file; a fork has its parent's.
        parent: the ticket that it was forked from.
    """
    return TicketAdded(
        ticket.id,
        at,
        title=ticket.title,
        order=order,
        priority=ticket.priority,
        after=ticket.after,
        budget_usd=ticket.budget_usd,
        reserve_usd=ticket.reserve_usd or 0.0,
        max_turns=ticket.max_turns,
        model=ticket.model,
        parent=parent,
        instructions=fingerprint(ticket),
        budget_turns=ticket.budget_turns,
        budget_tokens=ticket.budget_tokens,
    )
