"""Orders: a verb with what it is told and whom it is for, sorted into tickets that take it and tickets that do not.

Pure. The mailroom leaves out what does not apply, and says so to nobody; here the operator is told, ticket by ticket.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from supervisor.core.verb_args import BadArgs, checked
from widgets.cells import drawable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from supervisor.core.board import Board
    from supervisor.core.model import TicketSnapshot
    from supervisor.core.verbs import Verb

_NAMED = 3
"""Most refusals that are spelled out, and most tickets that are named for one of them."""
_PLURAL = {"is": "are", "has": "have"}


@dataclass(frozen=True, slots=True)
class Order:
    """One verb for some tickets."""

    verb: Verb
    tickets: tuple[str, ...]
    told: Mapping[str, Any] = field(default_factory=dict)
    """As ``core.verb_args`` takes it."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """Who takes an order, and why the others do not."""

    accepted: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    """Ids and reasons."""

    def but(self, refused: Sequence[tuple[str, str]]) -> Sorted:
        """Return the same with some more refused."""
        others = {ticket for ticket, _ in refused}
        return Sorted(tuple(t for t in self.accepted if t not in others), (*self.refused, *refused))


def sort_out(board: Board, order: Order) -> Sorted:
    """Return who would take an order right now."""
    accepted, refused = [], []
    for ticket in order.tickets:
        why = _refusal(board, order, ticket)
        if why is None:
            accepted.append(ticket)
        else:
            refused.append((ticket, why))
    return Sorted(tuple(accepted), tuple(refused))


def _refusal(board: Board, order: Order, ticket: str) -> str | None:
    snapshot: TicketSnapshot = board[ticket]
    why = order.verb.refusal(snapshot)
    if why is not None:
        return why
    try:
        checked(order.verb, snapshot, order.told)
    except BadArgs as fault:
        return str(fault)
    return None


def report(label: str, found: Sorted) -> str:
    """Return what became of an order for several tickets, safe to draw; such as ``3 accepted, 1 refused: …``."""
    counts = [f"{len(found.accepted)} accepted"] if found.accepted else []
    if found.refused:
        counts.append(f"{len(found.refused)} refused: {reasons(found.refused)}")
    return f"{label}: {', '.join(counts)}"


def reasons(refused: Sequence[tuple[str, str]]) -> str:
    """Return why tickets were refused, safe to draw: those of the same fate in one, beyond a few only how many more."""
    return _grouped(refused, lambda tickets: str(len(tickets)))


def left_out(refused: Sequence[tuple[str, str]]) -> str:
    """Return which of the marked tickets a verb leaves alone, and why, safe to draw; empty for none.

    To be said before the verb is given: it names the tickets, of many with the same fate the first ones.
    """
    if not refused:
        return ""
    more = f"{len(refused)} more marked {'is' if len(refused) == 1 else 'are'} left alone."
    return f"{more} {_grouped(refused, _names)}."


def _names(tickets: Sequence[str]) -> str:
    more = len(tickets) - _NAMED
    return ", ".join(tickets[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _grouped(refused: Sequence[tuple[str, str]], who: Callable[[Sequence[str]], str]) -> str:
    """Return why tickets were refused; ``who`` names those that share a fate."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for ticket, why in refused:
        said = why if ticket in why else f"{ticket}: {why}"
        alike.setdefault(_of_several(ticket, said) or said, []).append((ticket, said))
    groups = list(alike.items())
    words = [
        drawable(each[0][1] if len(each) == 1 else f"{who([ticket for ticket, _ in each])} {fate}")
        for fate, each in groups[:_NAMED]
    ]
    more = sum(len(each) for _, each in groups[_NAMED:])
    return "; ".join(words) + (f"; and {more} more" if more else "")


def _of_several(ticket: str, said: str) -> str:
    """Return what is said of a ticket as it goes on after several; empty where it cannot."""
    verb, _, rest = said.removeprefix(f"{ticket} ").partition(" ")
    return f"{_PLURAL[verb]} {rest}" if said.startswith(f"{ticket} ") and verb in _PLURAL else ""


def whom(tickets: Sequence[str]) -> str:
    """Return whom something is for, safe to draw: the id of one ticket, or how many there are."""
    return drawable(tickets[0]) if len(tickets) == 1 else f"{len(tickets)} tickets"
