"""The in-memory projection that every screen and printer reads: snapshots, bounded transcripts, a dirty set.

Single-threaded by design: the engine calls ``apply`` and the screen calls ``drain`` and ``rows`` on the same loop, so
there is no queue and no lock between them. Nothing here awaits or does I/O.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core import fold
from supervisor.core.ask_fold import AskBook
from supervisor.core.effects import holds_up
from supervisor.core.model import BatchTotals, Entry, State, TicketSnapshot
from supervisor.core.transcript import Transcript
from supervisor.core.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from supervisor.core.asks import Ask
    from supervisor.core.effects import EffectView

    Listener = Callable[[ev.Event, TicketSnapshot, TicketSnapshot], None]


class Board:
    """All tickets of a batch as frozen snapshots."""

    def __init__(self, totals: BatchTotals | None = None) -> None:
        self._totals = totals or BatchTotals()
        self._tickets: dict[str, TicketSnapshot] = {}
        self._transcripts: dict[str, Transcript] = {}
        self._order: tuple[str, ...] | None = None
        self._dirty: set[str] = set()
        self._listeners: list[Listener] = []
        self._effects: dict[str, EffectView] = {}
        self._unsettled: dict[str, EffectView] = {}
        """Those that wait or are under way: few of many."""
        self._asks = AskBook()
        self.waiting = Waiting(self)
        """What needs the operator."""
        self.tickets_version = 0
        """Rises with every change of a ticket."""
        self.effects_version = 0
        """Rises with every change of an effect."""
        self.unknown = 0
        """Messages of kinds we do not know, counted over the batch."""

    def __iter__(self) -> Iterator[TicketSnapshot]:
        return iter(self.rows())

    def __contains__(self, ticket: str) -> bool:
        return ticket in self._tickets

    def __getitem__(self, ticket: str) -> TicketSnapshot:
        return self._tickets[ticket]

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(event, before, after)`` after each applied event; return the way to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def preview(self, event: ev.Event) -> TicketSnapshot:
        """Return what the ticket's snapshot will be after ``event``, changing nothing."""
        return fold.reduce(self._tickets.get(event.ticket) or TicketSnapshot(event.ticket), event)

    def restore(self, snapshots: Iterable[TicketSnapshot]) -> None:
        """Take snapshots from the store, as they were."""
        for snapshot in snapshots:
            self._tickets[snapshot.id] = snapshot
            self._dirty.add(snapshot.id)
        self.tickets_version += 1
        self._order = None

    def apply(self, event: ev.Event) -> TicketSnapshot:
        """Fold an event into the board and return the ticket's new snapshot."""
        before = self._tickets.get(event.ticket) or TicketSnapshot(event.ticket)
        after = fold.reduce(before, event)
        if after is not before or event.ticket not in self._tickets:
            if event.ticket not in self._tickets or isinstance(event, ev.TicketAdded):
                self._order = None
            self._tickets[event.ticket] = after
            self.tickets_version += 1
            self._dirty.add(event.ticket)
        self._asks.take(event, after)
        self.transcript(event.ticket).take(event)
        for listener in self._listeners:
            listener(event, before, after)
        return after

    def transcript(self, ticket: str) -> Transcript:
        """Return the ticket's live transcript tail, empty at first."""
        found = self._transcripts.get(ticket)
        if found is None:
            found = self._transcripts[ticket] = Transcript()
        return found

    def add_history(self, ticket: str, entries: Sequence[Entry]) -> None:
        """Put what was said in an earlier run before the ticket's transcript, once, and have the ticket drawn again."""
        transcript = self.transcript(ticket)
        if transcript.first_seq >= 0 and transcript.prepend(entries) and ticket in self._tickets:
            self._dirty.add(ticket)

    def show_effect(self, view: EffectView) -> None:
        """Take the new face of an effect; its ticket is drawn again too, and whoever it keeps from going on."""
        key = view.record.key
        before, self._effects[key] = self._unsettled.pop(key, None), view
        if holds_up(view.record):
            self._unsettled[key] = view
        self.effects_version += 1
        if view.record.ticket in self._tickets:
            self._dirty.add(view.record.ticket)
        for ticket in view.askers if before is None else view.askers | before.askers:
            self._hold(ticket)

    def _hold(self, ticket: str) -> None:
        snapshot = self._tickets.get(ticket)
        views = [view for view in self._unsettled.values() if ticket in view.askers]
        first = min(views, key=lambda view: (not view.waits, view.since), default=None)
        words = holds_up(first.record) if first is not None else ""
        if snapshot is not None and snapshot.held_by != words:
            self._tickets[ticket] = replace(snapshot, held_by=words)
            self.tickets_version += 1
            self._dirty.add(ticket)

    def effects(self) -> tuple[EffectView, ...]:
        """Return all effects, the longest waiting first, then the others by key."""
        return tuple(
            sorted(self._effects.values(), key=lambda v: (not v.waits, v.since if v.waits else 0.0, v.record.key))
        )

    def effect(self, key: str) -> EffectView | None:
        """Return one effect by its key as people read it."""
        return self._effects.get(key)

    def restore_asks(self, asks: Iterable[Ask]) -> None:
        """Take asks from the store, as they were."""
        self._asks.restore(asks)

    def asks(self) -> tuple[Ask, ...]:
        """Return asks: those that wait, the longest waiting first, then those that were granted or are over."""
        return self._asks.all()

    def ask(self, ident: str) -> Ask | None:
        """Return one ask by its id; one that is over for long is no longer here."""
        return self._asks.get(ident)

    @property
    def asks_version(self) -> int:
        """Rises with every change of an ask."""
        return self._asks.version

    def drain(self) -> frozenset[str]:
        """Return the ids changed since the last call and forget them."""
        dirty = frozenset(self._dirty)
        self._dirty.clear()
        return dirty

    def rows(self) -> tuple[TicketSnapshot, ...]:
        """Return all snapshots in the file's order, forks under their parents."""
        if self._order is None:
            self._order = tuple(_family_order(self._tickets))
        return tuple(self._tickets[i] for i in self._order)

    def announce(self, **changes: object) -> None:
        """Change what the summary bar says of the whole batch."""
        self._totals = replace(self._totals, **changes)  # type: ignore[arg-type]

    @property
    def announced(self) -> BatchTotals:
        """What was last announced of the batch, without counts and sums; its identity tells whether that changed."""
        return self._totals

    def totals(self) -> BatchTotals:
        """Return the batch's counts and sums as of now."""
        counts: dict[State, int] = {}
        spent, estimated, turns, tokens = 0.0, 0.0, 0.0, 0
        for ticket in self._tickets.values():
            counts[ticket.state] = counts.get(ticket.state, 0) + 1
            spent += ticket.spent_usd
            estimated += ticket.estimated_usd
            turns += ticket.turn_usd
            tokens += ticket.tokens
        return replace(
            self._totals,
            counts=counts,
            needs_you=self.waiting.count,
            spent_usd=spent,
            estimated_usd=estimated,
            turn_usd=turns,
            tokens=tokens,
        )


def _family_order(tickets: dict[str, TicketSnapshot]) -> Iterator[str]:
    children: dict[str | None, list[TicketSnapshot]] = {}
    for ticket in tickets.values():
        parent = ticket.parent if ticket.parent in tickets else None
        children.setdefault(parent, []).append(ticket)

    def walk(parent: str | None) -> Iterator[str]:
        for ticket in sorted(children.get(parent, ()), key=lambda t: (t.order, t.id)):
            yield ticket.id
            yield from walk(ticket.id)

    return walk(None)
