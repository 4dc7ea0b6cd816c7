"""The in-memory projection that every screen and printer reads: snapshots, bounded transcripts, a dirty set.

Single-threaded by design: the engine calls ``apply`` and the screen calls ``drain`` and ``rows`` on the same loop, so
there is no queue and no lock between them. Nothing here awaits or does I/O.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core import fold
from supervisor.core.ask_fold import AskBook
from supervisor.core.asks import verdict_words
from supervisor.core.model import BatchTotals, Entry, EntryKind, State, TicketSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from supervisor.core.asks import Ask
    from supervisor.core.effects import EffectView

    Listener = Callable[[ev.Event, TicketSnapshot, TicketSnapshot], None]

TRANSCRIPT_CHARS = 160_000
"""Most characters kept in memory of one ticket's transcript; the session's own file holds the rest."""
ENTRY_CHARS = 8_000
"""Most characters kept of one entry."""


_DIAGNOSTIC = "[ede_diagnostic]"
"""Begins a line for the CLI's own makers, which comes with every interrupt (CLI 2.1.332); the record keeps it."""


class Transcript:
    """The bounded tail of one ticket's conversation."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self._chars = 0
        self._next = 0
        self._is_whole = True
        """Nothing was dropped yet, so that what comes before the first entry fits to it."""

    @property
    def next_seq(self) -> int:
        """Sequence number the next entry will get; grows with every entry, also with those since dropped."""
        return self._next

    @property
    def first_seq(self) -> int:
        """Sequence number of the first entry kept; `next_seq` when there is none. Negative for what was prepended."""
        return self._entries[0].seq if self._entries else self._next

    def add(self, at: float, kind: EntryKind, text: str, detail: str = "", **more: object) -> None:
        """Append an entry, dropping the oldest ones beyond ``TRANSCRIPT_CHARS``."""
        entry = Entry(self._next, at, kind, text[:ENTRY_CHARS], detail[:ENTRY_CHARS], **more)  # type: ignore[arg-type]
        self._next += 1
        self._entries.append(entry)
        self._chars += _weight(entry)
        while self._chars > TRANSCRIPT_CHARS and len(self._entries) > 1:
            self._chars -= _weight(self._entries.popleft())
            self._is_whole = False

    def prepend(self, entries: Sequence[Entry]) -> int:
        """Put entries of an earlier time before the first one, as many of the last ones as there is room for.

        They get the numbers below the first entry's, so that whoever has seen that one misses nothing.

        Args:
            entries: Oldest first; their own numbers do not count.

        Returns:
            How many were taken: none once entries were dropped, since there would be a gap.
        """
        taken = 0
        for entry in reversed(entries if self._is_whole else ()):
            text, detail = entry.text[:ENTRY_CHARS], entry.detail[:ENTRY_CHARS]
            cut = replace(entry, seq=self.first_seq - 1, text=text, detail=detail)
            if self._chars + _weight(cut) > TRANSCRIPT_CHARS:
                break
            self._entries.appendleft(cut)
            self._chars += _weight(cut)
            taken += 1
        return taken

    def since(self, seq: int | None = None) -> tuple[Entry, ...]:
        """Return the entries from ``seq`` on, oldest first; all of them for None."""
        skip = 0 if seq is None else max(0, seq - self.first_seq)
        return tuple(islice(self._entries, skip, None))


def _weight(entry: Entry) -> int:
    return len(entry.text) + len(entry.detail) + (len(entry.diff.text) if entry.diff is not None else 0) + 100


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
        self._asks = AskBook()
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
        self._order = None

    def apply(self, event: ev.Event) -> TicketSnapshot:
        """Fold an event into the board and return the ticket's new snapshot."""
        before = self._tickets.get(event.ticket) or TicketSnapshot(event.ticket)
        after = fold.reduce(before, event)
        if after is not before or event.ticket not in self._tickets:
            if event.ticket not in self._tickets or isinstance(event, ev.TicketAdded):
                self._order = None
            self._tickets[event.ticket] = after
            self._dirty.add(event.ticket)
        self._asks.take(event, after)
        _ENTRIES.get(type(event), _no_entry)(self.transcript(event.ticket), event)
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
        """Put what was said in an earlier run before the ticket's transcript, and have the ticket drawn again."""
        if self.transcript(ticket).prepend(entries) and ticket in self._tickets:
            self._dirty.add(ticket)

    def show_effect(self, view: EffectView) -> None:
        """Take the new face of an effect; its ticket is drawn again too."""
        self._effects[view.record.key] = view
        self.effects_version += 1
        if view.record.ticket in self._tickets:
            self._dirty.add(view.record.ticket)

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
        spent, tokens = 0.0, 0
        for ticket in self._tickets.values():
            counts[ticket.state] = counts.get(ticket.state, 0) + 1
            spent += ticket.spent_usd
            tokens += ticket.tokens
        return replace(self._totals, counts=counts, spent_usd=spent, tokens=tokens)


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


def _no_entry(_: Transcript, __: ev.Event) -> None:
    return None


def _prompt(t: Transcript, e: ev.PromptStored) -> None:
    t.add(e.at, EntryKind.PROMPT, e.text, prompt=e.kind)


def _spoke(t: Transcript, e: ev.AgentSpoke) -> None:
    t.add(e.at, EntryKind.THINKING if e.thinking else EntryKind.TEXT, e.text, nested=e.nested)


def _tool(t: Transcript, e: ev.ToolCalled) -> None:
    text = f"{e.name} {e.summary}".rstrip()
    t.add(e.at, EntryKind.TOOL, text, e.detail, tool_use_id=e.tool_use_id, nested=e.nested, diff=e.diff)


def _returned(t: Transcript, e: ev.ToolReturned) -> None:
    key, failed = e.tool_use_id, e.is_error
    t.add(e.at, EntryKind.RESULT, e.text, tool_use_id=key, is_error=failed, nested=e.nested, diff=e.diff)


def _note(t: Transcript, e: ev.Noted) -> None:
    t.add(e.at, EntryKind.NOTE, e.text, is_error=e.is_error)


def _retrying(t: Transcript, e: ev.Retrying) -> None:
    cause = f"API {e.status}" if e.status else "API unreachable"
    t.add(e.at, EntryKind.NOTE, f"{cause}: retry {e.attempt}/{e.max_retries} in {e.delay_s:.1f} s")


def _turn(t: Transcript, e: ev.TurnEnded) -> None:
    turns = "1 turn" if e.num_turns == 1 else f"{e.num_turns} turns"
    words = f"{e.subtype} · {e.terminal_reason or 'no terminal reason'} · {turns} · ${e.cost_usd:.2f}"
    telling = [error for error in e.errors if not error.startswith(_DIAGNOSTIC)]
    t.add(e.at, EntryKind.ENDING, words, "\n".join(telling), is_error=e.is_error)


def _ended(t: Transcript, e: ev.AttemptEnded) -> None:
    if e.detail:
        t.add(e.at, EntryKind.NOTE, f"attempt {e.number} ended: {e.detail}", e.stderr_tail)


def _corrected(t: Transcript, e: ev.CostCorrected) -> None:
    how = "more" if e.by_usd >= 0 else "less"
    t.add(e.at, EntryKind.NOTE, f"attempt {e.number} cost ${abs(e.by_usd):.4f} {how} than was booked for it")


def _verified(t: Transcript, e: ev.Verified) -> None:
    ending = "passed" if e.exit_code == 0 else "ran out of time" if e.exit_code is None else f"exit {e.exit_code}"
    t.add(e.at, EntryKind.NOTE, f"verify, round {e.round}: {ending}", e.output, is_error=e.exit_code != 0)


def _asked(t: Transcript, e: ev.AskAnswered) -> None:
    t.add(e.at, EntryKind.NOTE, f"you {verdict_words(e.kind, e.message, e.answers)} · {e.detail}")


def _granted(t: Transcript, e: ev.GrantUsed) -> None:
    t.add(e.at, EntryKind.NOTE, f"let through as you had allowed · {e.detail}")


def _rewound(t: Transcript, e: ev.FilesRewound) -> None:
    t.add(e.at, EntryKind.NOTE, f"files taken back to {e.to}", "\n".join(e.files))


def _refused(t: Transcript, e: ev.LettersClosed) -> None:
    if e.refused:
        t.add(e.at, EntryKind.NOTE, f"not done: {e.says}", is_error=True)


def _over(t: Transcript, e: ev.StartedOver) -> None:
    t.add(e.at, EntryKind.NOTE, f"started over; snapshot {e.snapshot[:12]} holds the files of before")


_ENTRIES: dict[type[ev.Event], Callable[..., None]] = {
    ev.PromptStored: _prompt,
    ev.AgentSpoke: _spoke,
    ev.ToolCalled: _tool,
    ev.ToolReturned: _returned,
    ev.Noted: _note,
    ev.Retrying: _retrying,
    ev.TurnEnded: _turn,
    ev.AttemptEnded: _ended,
    ev.CostCorrected: _corrected,
    ev.Verified: _verified,
    ev.LettersClosed: _refused,
    ev.FilesRewound: _rewound,
    ev.StartedOver: _over,
    ev.AskAnswered: _asked,
    ev.GrantUsed: _granted,
}
