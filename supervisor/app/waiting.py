"""What waits for the operator: effects that only they can settle, and tickets that stopped for another reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.model import State, TicketSnapshot, Why
from widgets.effect_items import Item, effect_item, ticket_item

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from supervisor.core.board import Board
    from supervisor.core.effects import EffectView

WAITING = (State.NEEDS_YOU, State.FAILED)
_FOR_AN_EFFECT = (Why.UNRESOLVED_EFFECT, Why.APPROVE_EFFECT)


def waiting_tickets(rows: Sequence[TicketSnapshot]) -> tuple[TicketSnapshot, ...]:
    """Return what waits for the operator: what needs an answer, the longest waiting first, then failures."""
    return tuple(
        sorted(
            (t for t in rows if t.state in WAITING),
            key=lambda t: (t.state is State.FAILED, t.last_activity or 0.0),
        )
    )


def waiting_effects(board: Board) -> tuple[EffectView, ...]:
    """Return the effects that only the operator can settle, the longest waiting first."""
    return tuple(view for view in board.effects() if view.waits)


def effect_of(board: Board, ticket: TicketSnapshot, views: Sequence[EffectView]) -> EffectView | None:
    """Return the effect, of those that wait, that a ticket waits for: its own, or the one that its family shares."""
    own = next((view for view in views if view.record.ticket == ticket.id), None)
    if own is not None or ticket.why not in _FOR_AN_EFFECT:
        return own
    family = set(_family(board, ticket))
    return next((view for view in views if view.record.scope in family), None)


def _family(board: Board, ticket: TicketSnapshot) -> Iterator[str]:
    yield ticket.id
    while ticket.parent is not None and ticket.parent in board:
        ticket = board[ticket.parent]
        yield ticket.id


def waiting_items(board: Board, views: Sequence[EffectView], pending: Mapping[str, str]) -> list[Item]:
    """Return everything that waits: what can be answered in place, the oldest first, then the rest, the oldest first.

    A ticket that waits for an effect shows as that effect.

    Args:
        board: The board.
        views: The effects that wait.
        pending: By key, what was decided about an effect and is not answered yet.
    """
    items = [effect_item(view, pending=pending.get(view.record.key, "")) for view in views]
    return in_order([*items, *map(ticket_item, other_tickets(board, views))])


def other_tickets(board: Board, views: Sequence[EffectView]) -> list[TicketSnapshot]:
    """Return the tickets that wait for the operator, but for none of these effects."""
    tickets = waiting_tickets(board.rows())
    return [t for t in tickets if t.why not in _FOR_AN_EFFECT or effect_of(board, t, views) is None]


def in_order(items: Iterable[Item]) -> list[Item]:
    """Return items in the order of the inbox."""
    return sorted(items, key=lambda item: (item.effect is None, item.since, item.key))


def item_again(board: Board, item: Item, pending: Mapping[str, str]) -> Item | None:
    """Return an item that waits no more as it is now, in the place it had; None where it is gone altogether."""
    if item.effect is not None:
        view = board.effect(item.effect.record.key)
        words = pending.get(item.effect.record.key, "")
        return effect_item(view, pending=words, is_over=True, since=item.since) if view is not None else None
    if item.ticket is not None and item.ticket.id in board:
        return ticket_item(board[item.ticket.id], is_over=True, since=item.since)
    return None
