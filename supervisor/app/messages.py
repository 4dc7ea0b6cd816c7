"""What will become of a message, in words for the operator before they send it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.model import RESTING, State
from widgets.formatting import state_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.core.model import TicketSnapshot


def is_at_work(ticket: TicketSnapshot) -> bool:
    """Return whether an agent has the ticket, so that a message has to wait for the end of its turn."""
    return ticket.holds_slot


def fate(tickets: Sequence[TicketSnapshot]) -> str:
    """Return what a message to these tickets leads to, safe to draw."""
    if len(tickets) == 1:
        return _of_one(tickets[0])
    busy = sum(map(is_at_work, tickets))
    rest = sum(ticket.state in RESTING and not is_at_work(ticket) for ticket in tickets)
    parts = [
        busy and f"{busy} {_has(busy)} an agent at work, which gets it when its turn ends",
        rest and f"{rest} {_do(rest, 'rest')} and {_do(rest, 'go')} on with it",
        (more := len(tickets) - busy - rest) and f"{more} {_do(more, 'wait')} for {_its(more)} turn and {_get(more)}",
    ]
    return "; ".join(part for part in parts if part) + "."


def _of_one(ticket: TicketSnapshot) -> str:
    state = state_words(ticket.state)
    if ticket.state is State.NEEDS_YOU and ticket.live:
        return f"{state}: its agent waits for your answer, and gets this when its turn ends."
    if is_at_work(ticket):
        return f"{state}: the agent gets this when its turn ends."
    if ticket.state in RESTING:
        return f"{state}: it goes on with this as soon as a slot is free."
    when = "when its time comes" if ticket.state is State.PARKED else "when a slot is free"
    return f"{state}: it {'goes on' if ticket.attempts else 'begins'} with this {when}."


def _has(count: int) -> str:
    return "has" if count == 1 else "have"


def _do(count: int, verb: str) -> str:
    ending = "es" if verb.endswith("o") else "s"
    return f"{verb}{ending if count == 1 else ''}"


def _its(count: int) -> str:
    return "its" if count == 1 else "their"


def _get(count: int) -> str:
    return "begins with it" if count == 1 else "begin with it"
