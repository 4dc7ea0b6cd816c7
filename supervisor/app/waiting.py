"""What waits for the operator: what agents ask, effects to settle, and tickets that stopped for another reason."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from supervisor.core.asks import ASK_WHYS
from supervisor.core.model import State, TicketSnapshot, Why
from widgets.items import Item, ask_item, ask_key, effect_item, effect_key, ticket_item, ticket_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from supervisor.app.docket import Docket
    from supervisor.core.asks import Ask
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


class Waiting:
    """What waits on a board. Asks and effects are looked up again only when one of them changed."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._seen = (-1, -1)
        self._asks: tuple[Ask, ...] = ()
        self._effects: tuple[EffectView, ...] = ()

    @property
    def asks(self) -> tuple[Ask, ...]:
        """The asks that wait, the longest waiting first."""
        self._look()
        return self._asks

    @property
    def effects(self) -> tuple[EffectView, ...]:
        """The effects that only the operator can settle, the longest waiting first."""
        self._look()
        return self._effects

    @property
    def tickets(self) -> list[TicketSnapshot]:
        """The tickets that wait for the operator, but for none of these asks and effects."""
        asking = {ask.ticket for ask in self.asks}
        return [t for t in waiting_tickets(self._board.rows()) if not self._has_line(t, asking)]

    @property
    def count(self) -> int:
        """How many things wait."""
        return len(self.asks) + len(self.effects) + len(self.tickets)

    def items(self, docket: Docket) -> list[Item]:
        """Return all that waits: what can be answered in place, the oldest first, then the rest, the oldest first.

        A ticket that waits for an effect or an answer shows as that.

        Args:
            docket: What was decided and is not answered yet, and what is chosen so far.
        """
        asks = [_ask_line(ask, docket) for ask in self.asks]
        effects = [
            effect_item(view, pending=docket.pending.get(effect_key(view.record.key), "")) for view in self.effects
        ]
        return in_order([*asks, *effects, *map(ticket_item, self.tickets)])

    def again(self, item: Item, docket: Docket) -> Item:
        """Return an item that waits no more as it is now, in the place it had; as it was, where it is gone."""
        if item.effect is not None:
            view = self._board.effect(item.effect.record.key)
            words = docket.pending.get(item.key, "")
            now = effect_item(view, pending=words, is_over=True, since=item.since) if view is not None else None
        elif item.ask is not None:
            ask = self._board.ask(item.ask.id)
            now = _ask_line(ask, docket) if ask is not None else None
        else:
            known = item.ticket_id in self._board
            now = ticket_item(self._board[item.ticket_id], is_over=True, since=item.since) if known else None
        return now if now is not None else replace(item, is_over=True)

    def line_of(self, ticket: TicketSnapshot) -> str | None:
        """Return the key of the line that a ticket waits in, of several the one that waits longest."""
        asks = (ask_key(ask.id) for ask in self.asks if ask.ticket == ticket.id)
        view = self._effect_of(ticket)
        if view is not None and ticket.why in _FOR_AN_EFFECT:
            return effect_key(view.record.key)
        found = next(asks, None) or (effect_key(view.record.key) if view is not None else None)
        return found or (ticket_key(ticket.id) if ticket.state in WAITING else None)

    def is_answerable(self, ticket: TicketSnapshot | None) -> bool:
        """Return whether what a ticket waits for can be answered in place."""
        return ticket is not None and self.line_of(ticket) not in (None, ticket_key(ticket.id))

    def _look(self) -> None:
        seen = (self._board.asks_version, self._board.effects_version)
        if seen != self._seen:
            self._seen = seen
            self._asks = tuple(ask for ask in self._board.asks() if ask.waits)
            self._effects = tuple(view for view in self._board.effects() if view.waits)

    def _has_line(self, ticket: TicketSnapshot, asking: set[str]) -> bool:
        """Return whether what a ticket waits for stands on a line of its own."""
        if ticket.state is State.FAILED:
            return False
        if ticket.why in ASK_WHYS:
            return ticket.id in asking
        return ticket.why in _FOR_AN_EFFECT and self._effect_of(ticket) is not None

    def _effect_of(self, ticket: TicketSnapshot) -> EffectView | None:
        """Return the effect that a ticket waits for: its own, or the one that its family shares."""
        own = next((view for view in self.effects if view.record.ticket == ticket.id), None)
        if own is not None or ticket.why not in _FOR_AN_EFFECT:
            return own
        family = set(self._family(ticket))
        return next((view for view in self.effects if view.record.scope in family), None)

    def _family(self, ticket: TicketSnapshot) -> Iterator[str]:
        yield ticket.id
        while ticket.parent is not None and ticket.parent in self._board:
            ticket = self._board[ticket.parent]
            yield ticket.id


def _ask_line(ask: Ask, docket: Docket) -> Item:
    return ask_item(ask, pending=docket.pending.get(ask_key(ask.id), ""), draft=docket.drafts.get(ask.id))


def in_order(items: Iterable[Item]) -> list[Item]:
    """Return items in the order of the inbox."""
    return sorted(items, key=lambda item: (item.effect is None and item.ask is None, item.since, item.key))
