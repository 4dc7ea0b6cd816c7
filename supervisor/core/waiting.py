"""What needs the operator: the one definition behind every count, the inbox, the filter, and the key for the next.

That is each ask that waits, each effect that only the operator can settle, each ticket that stopped for another reason
or failed, and each queued ticket that comes after one which failed or was cancelled: it will not start by itself.
A ticket needs the operator if one of these is its own, whatever state it is in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.asks import ASK_WHYS
from supervisor.core.model import State, TicketSnapshot, Why

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from supervisor.core.asks import Ask
    from supervisor.core.board import Board
    from supervisor.core.effects import EffectView

DEAD_ENDS = frozenset({State.FAILED, State.CANCELLED})
"""States that only the operator's verbs lead out of, and that keep what comes after from starting."""
EFFECT_WHYS = frozenset({Why.UNRESOLVED_EFFECT, Why.APPROVE_EFFECT})
_STOPPED = frozenset({State.NEEDS_YOU, State.FAILED})


class Waiting:
    """What waits on a board; looked up again only when something there changed."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._seen = (-1, -1)
        self._asks: tuple[Ask, ...] = ()
        self._effects: tuple[EffectView, ...] = ()
        self._sorted_out = (-1, -1, -1)
        self._ids: frozenset[str] = frozenset()
        self._others: tuple[TicketSnapshot, ...] = ()

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
    def ids(self) -> frozenset[str]:
        """Which tickets need the operator; the same object as long as they are the same."""
        self._sort_out()
        return self._ids

    @property
    def tickets(self) -> list[TicketSnapshot]:
        """All tickets that need the operator: first what needs an answer, then failures, then what is blocked."""
        return _in_order(ticket for ticket in self._board.rows() if self.needs(ticket))

    @property
    def others(self) -> tuple[TicketSnapshot, ...]:
        """The tickets that need the operator, but for none of these asks and effects; in the order of `tickets`."""
        self._sort_out()
        return self._others

    @property
    def count(self) -> int:
        """How many things wait."""
        return len(self.asks) + len(self.effects) + len(self.others)

    def needs(self, ticket: TicketSnapshot) -> bool:
        """Return whether a ticket needs the operator."""
        return ticket.id in self.ids

    def blocker(self, ticket: TicketSnapshot) -> TicketSnapshot | None:
        """Return the failed or cancelled ticket that keeps a queued one from starting; None where nothing does."""
        if ticket.state is not State.QUEUED:
            return None
        others = (self._board[other] for other in ticket.after if other in self._board)
        return next((other for other in others if other.state in DEAD_ENDS), None)

    def stuck(self) -> set[str]:
        """Return the queued tickets that cannot start before the operator did something, be it for one further up."""
        followers: dict[str, list[str]] = {}
        found: set[str] = set()
        above: list[str] = []
        for ticket in self._board.rows():
            if ticket.state is State.QUEUED and ticket.after:
                for other in ticket.after:
                    followers.setdefault(other, []).append(ticket.id)
                if self.blocker(ticket) is not None:
                    above.append(ticket.id)
        while above:
            ident = above.pop()
            if ident not in found:
                found.add(ident)
                above += followers.get(ident, ())
        return found

    def effect_of(self, ticket: TicketSnapshot) -> EffectView | None:
        """Return the effect that a ticket waits for: its own, or the one that its family shares."""
        own = next((view for view in self.effects if view.record.ticket == ticket.id), None)
        if own is not None or ticket.why not in EFFECT_WHYS:
            return own
        family = set(self._family(ticket))
        return next((view for view in self.effects if view.record.scope in family), None)

    def _look(self) -> None:
        seen = (self._board.asks_version, self._board.effects_version)
        if seen != self._seen:
            self._seen = seen
            self._asks = tuple(ask for ask in self._board.asks() if ask.waits)
            self._effects = tuple(view for view in self._board.effects() if view.waits)

    def _sort_out(self) -> None:
        now = (self._board.tickets_version, self._board.asks_version, self._board.effects_version)
        if now == self._sorted_out:
            return
        self._sorted_out = now
        asking = {ask.ticket for ask in self.asks}
        held = [t for t in self._board.rows() if t.state in _STOPPED or self.blocker(t) is not None]
        self._others = tuple(_in_order(t for t in held if not self._is_asked_for(t, asking)))
        ids = asking | {view.record.ticket for view in self.effects} | {ticket.id for ticket in held}
        if ids != self._ids:
            self._ids = frozenset(ids)

    def _is_asked_for(self, ticket: TicketSnapshot, asking: set[str]) -> bool:
        """Return whether what a ticket waits for is one of the asks or effects."""
        if ticket.state is not State.NEEDS_YOU:
            return False
        if ticket.why in ASK_WHYS:
            return ticket.id in asking
        return ticket.why in EFFECT_WHYS and self.effect_of(ticket) is not None

    def _family(self, ticket: TicketSnapshot) -> Iterator[str]:
        yield ticket.id
        while ticket.parent is not None and ticket.parent in self._board:
            ticket = self._board[ticket.parent]
            yield ticket.id


def _in_order(tickets: Iterable[TicketSnapshot]) -> list[TicketSnapshot]:
    """Return tickets in the order in which the operator is told of them."""
    return sorted(tickets, key=lambda t: (t.state is State.QUEUED, t.state is State.FAILED, t.last_activity or 0.0))
