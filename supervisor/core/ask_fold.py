"""What becomes of asks by what happens to their ticket: one fold for the board and for the store's rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.asks import ALLOWS, Ask, AskState
from supervisor.core.model import State, TicketSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

AskEvent = ev.AskOpened | ev.AskRested | ev.AskAnswered | ev.AskWithdrawn | ev.GrantUsed
"""Events of one ask."""
_MOST_OVER = 200
"""Most asks that are over and still kept in memory; the store has them all."""
_LAPSES = (ev.StateChanged, ev.AttemptStarted, ev.StartedOver, ev.LetterPosted)
_ENDS = frozenset({State.DONE, State.FAILED, State.CANCELLED})


def fold_ask(ask: Ask | None, event: AskEvent) -> Ask | None:
    """Return what an ask is after an event of its own; None for an ask that nobody knows."""
    if isinstance(event, ev.AskOpened):
        return ask or _opened(event)
    if ask is None:
        return None
    match event:
        case ev.AskRested():
            return replace(ask, state=AskState.RESTING) if ask.state is AskState.OPEN else ask
        case ev.AskAnswered():
            return _answered(ask, event) if ask.waits else ask
        case ev.AskWithdrawn():
            return withdrawn(ask) if ask.waits else ask
        case ev.GrantUsed():
            return lapsed(ask) if ask.granted else ask


def _opened(e: ev.AskOpened) -> Ask:
    about = (e.summary, e.input, e.fingerprint, e.tool_use_id)
    return Ask(e.id, e.ticket, e.number, e.kind, e.tool, e.at, *about, reason=e.reason, rules=e.rules, agent=e.agent)


def _answered(ask: Ask, e: ev.AskAnswered) -> Ask:
    return replace(
        ask,
        state=AskState.ANSWERED,
        answer=e.kind,
        message=e.message,
        answers=e.answers,
        actor=e.actor,
        answered_at=e.at,
        granted=e.rested and e.kind in ALLOWS,
        version=ask.version + 1,
    )


def withdrawn(ask: Ask) -> Ask:
    """Return an ask that nobody wants answered any more."""
    return replace(ask, state=AskState.WITHDRAWN, version=ask.version + 1)


def lapsed(ask: Ask) -> Ask:
    """Return an ask whose grant can no longer be used."""
    return replace(ask, granted=False, version=ask.version + 1)


def ends_waiting(event: ev.Event, after: TicketSnapshot) -> bool:
    """Return whether none of the ticket's asks waits after an event: it goes on without, or not at all."""
    return isinstance(event, _LAPSES) and not after.asks


def ends_grants(event: ev.Event, after: TicketSnapshot) -> bool:
    """Return whether what the operator had granted is over with the work it was for."""
    return isinstance(event, ev.StartedOver) or (isinstance(event, ev.StateChanged) and after.state in _ENDS)


def in_order(asks: Iterable[Ask]) -> tuple[Ask, ...]:
    """Return asks in the order of the inbox: those that wait first, the longest waiting of them first."""
    return tuple(sorted(asks, key=lambda a: (not a.waits, a.at, a.id)))


class AskBook:
    """The asks that the board shows: all that wait or are granted, and the last ones that are over."""

    def __init__(self) -> None:
        self._asks: dict[str, Ask] = {}
        self._sorted: tuple[Ask, ...] | None = None
        self.version = 0
        """Rises with every change."""

    def restore(self, asks: Iterable[Ask]) -> None:
        """Take asks from the store, as they were."""
        for ask in asks:
            self._put(ask)

    def get(self, ident: str) -> Ask | None:
        """Return one ask."""
        return self._asks.get(ident)

    def all(self) -> tuple[Ask, ...]:
        """Return all asks, those that wait first, the longest waiting of them first."""
        if self._sorted is None:
            self._sorted = in_order(self._asks.values())
        return self._sorted

    def take(self, event: ev.Event, after: TicketSnapshot) -> None:
        """Follow an event of a ticket."""
        if isinstance(event, AskEvent):
            ask = fold_ask(self._asks.get(event.id), event)
            if ask is not None and ask is not self._asks.get(event.id):
                self._put(ask)
        elif ends_waiting(event, after):
            self._change(after.id, lambda a: withdrawn(a) if a.waits else a)
        if ends_grants(event, after):
            self._change(after.id, lambda a: lapsed(a) if a.granted else a)

    def _change(self, ticket: str, change: Callable[[Ask], Ask]) -> None:
        for ask in [a for a in self._asks.values() if a.ticket == ticket]:
            if (new := change(ask)) is not ask:
                self._put(new)

    def _put(self, ask: Ask) -> None:
        self._asks[ask.id] = ask
        self._sorted = None
        self.version += 1
        over = [a.id for a in self._asks.values() if not a.waits and not a.granted]
        for ident in over[: len(over) - _MOST_OVER] if len(over) > _MOST_OVER else ():
            del self._asks[ident]
