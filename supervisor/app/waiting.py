"""The lines of the inbox: what waits for the operator, as ``core.waiting`` defines it, and which line is whose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from supervisor.core.waiting import EFFECT_WHYS
from widgets.items import Item, ask_item, ask_key, effect_item, effect_key, ticket_item, ticket_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.app.docket import Docket
    from supervisor.core.asks import Ask
    from supervisor.core.board import Board
    from supervisor.core.model import TicketSnapshot


def waiting_items(board: Board, docket: Docket) -> list[Item]:
    """Return all that waits: what can be answered in place, the oldest first, then the rest, the oldest first.

    A ticket that waits for an effect or an answer shows as that.

    Args:
        board: The board.
        docket: What was decided and is not answered yet, and what is chosen so far.
    """
    waiting = board.waiting
    asks = [_ask_line(ask, docket) for ask in waiting.asks]
    effects = [effect_item(v, pending=docket.pending.get(effect_key(v.record.key), "")) for v in waiting.effects]
    return in_order([*asks, *effects, *(ticket_item(ticket, waiting.blocker(ticket)) for ticket in waiting.others)])


def item_again(item: Item, board: Board, docket: Docket) -> Item:
    """Return an item that waits no more as it is now, in the place it had; as it was, where it is gone."""
    if item.effect is not None:
        view = board.effect(item.effect.record.key)
        words = docket.pending.get(item.key, "")
        now = effect_item(view, pending=words, is_over=True, since=item.since) if view is not None else None
    elif item.ask is not None:
        ask = board.ask(item.ask.id)
        now = _ask_line(ask, docket) if ask is not None else None
    else:
        known = item.ticket_id in board
        now = ticket_item(board[item.ticket_id], is_over=True, since=item.since) if known else None
    return now if now is not None else replace(item, is_over=True)


def line_of(board: Board, ticket: TicketSnapshot) -> str | None:
    """Return the key of the line that a ticket waits in, of several the one that waits longest."""
    waiting = board.waiting
    asks = (ask_key(ask.id) for ask in waiting.asks if ask.ticket == ticket.id)
    view = waiting.effect_of(ticket)
    if view is not None and ticket.why in EFFECT_WHYS:
        return effect_key(view.record.key)
    found = next(asks, None) or (effect_key(view.record.key) if view is not None else None)
    return found or (ticket_key(ticket.id) if waiting.needs(ticket) else None)


def is_answerable(board: Board, ticket: TicketSnapshot | None) -> bool:
    """Return whether what a ticket waits for can be answered in place."""
    return ticket is not None and line_of(board, ticket) not in (None, ticket_key(ticket.id))


def _ask_line(ask: Ask, docket: Docket) -> Item:
    return ask_item(ask, pending=docket.pending.get(ask_key(ask.id), ""), draft=docket.drafts.get(ask.id))


def in_order(items: Iterable[Item]) -> list[Item]:
    """Return items in the order of the inbox."""
    return sorted(items, key=lambda item: (item.effect is None and item.ask is None, item.since, item.key))
