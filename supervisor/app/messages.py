"""What will become of a message, in words for the operator before they send it. Pure."""

from __future__ import annotations

from collections import Counter
from enum import Enum, auto
from typing import TYPE_CHECKING

from supervisor.core.model import RESTING, State
from supervisor.core.text import safe_line
from supervisor.core.verbs import MESSAGE
from widgets.formatting import state_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.core.model import TicketSnapshot


def is_at_work(ticket: TicketSnapshot) -> bool:
    """Return whether an agent has the ticket, be it that it waits: a message has to wait for the end of its turn."""
    return ticket.holds_slot


def fate(tickets: Sequence[TicketSnapshot], starts: str = "as soon as a slot is free") -> str:
    """Return what a message to these tickets leads to, safe to draw.

    Args:
        tickets: to whom it goes.
        starts: when a ticket in the queue gets an agent, as ``core.starts`` says it.
    """
    if len(tickets) == 1:
        return _of_one(tickets[0], safe_line(starts))
    stand = Counter(map(_standing, tickets))
    works, asks, rest, more, gone = (stand[each] for each in _Standing)
    parts = [
        works and f"{works} {_has(works)} an agent at work, which gets it when its turn ends",
        asks and f"{asks} {_has(asks)} an agent that waits for you, which gets it when its turn ends",
        rest and f"{rest} {_do(rest, 'rest')} and {_do(rest, 'go')} on with it",
        more and f"{more} {_do(more, 'wait')} for {_its(more)} turn and {_get(more)}",
        gone and f"{gone} {'is' if gone == 1 else 'are'} cancelled by now and {_do(gone, 'get')} nothing",
    ]
    return "; ".join(part for part in parts if part) + "."


class _Standing(Enum):
    """What decides when a message arrives."""

    WORKS = auto()
    ASKS = auto()
    """Its agent waits for the operator."""
    RESTS = auto()
    WAITS = auto()
    """For its turn."""
    GONE = auto()


def _standing(ticket: TicketSnapshot) -> _Standing:
    if MESSAGE.refusal(ticket) is not None:
        return _Standing.GONE
    if is_at_work(ticket):
        return _Standing.ASKS if ticket.state is State.NEEDS_YOU else _Standing.WORKS
    return _Standing.RESTS if ticket.state in RESTING else _Standing.WAITS


def _of_one(ticket: TicketSnapshot, starts: str) -> str:
    match _standing(ticket):
        case _Standing.GONE:
            words = "resume it first, it takes no message"
        case _Standing.ASKS:
            words = "its agent waits for your answer, and gets this when its turn ends"
        case _Standing.WORKS:
            words = "the agent gets this when its turn ends"
        case _Standing.RESTS if ticket.held_by:
            words = f"it {ticket.held_by}; then it goes on with this"
        case _Standing.RESTS:
            words = f"it goes on with this {starts}"
        case _Standing.WAITS:
            when = "when its time comes" if ticket.state is State.PARKED else starts
            words = f"it {'goes on' if ticket.attempts else 'begins'} with this {when}"
    return f"{state_words(ticket.state)}: {words}."


def _has(count: int) -> str:
    return "has" if count == 1 else "have"


def _do(count: int, verb: str) -> str:
    ending = "es" if verb.endswith("o") else "s"
    return f"{verb}{ending if count == 1 else ''}"


def _its(count: int) -> str:
    return "its" if count == 1 else "their"


def _get(count: int) -> str:
    return "begins with it" if count == 1 else "begin with it"
