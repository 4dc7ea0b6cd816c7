"""Lines of the two lists, of what waits and of all effects: what each column shows and how wide it is. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.model import State
from widgets import ask_words
from widgets import formatting as fmt
from widgets.cells import Cell, Piece, Tone, drawable, fit
from widgets.effect_words import effect_state, stamp, waits_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.core.asks import Ask
    from supervisor.core.effects import EffectView
    from supervisor.core.model import TicketSnapshot
    from widgets.ask_draft import Draft

MARGIN = 2
"""Cells before the first column, for the cursor."""
_GAP = 2


@dataclass(frozen=True, slots=True)
class Item:
    """Something on a list: what an agent asks, an effect, or a ticket that waits for another reason; one of the three.

    The first two can be answered in place.
    """

    key: str
    """Names it for good; the cursor follows it."""
    since: float
    """When it began to wait, or came to its state."""
    effect: EffectView | None = None
    ask: Ask | None = None
    ticket: TicketSnapshot | None = None
    blocker: TicketSnapshot | None = None
    """The failed or cancelled ticket that keeps this one from starting."""
    pending: str = ""
    """What the operator decided and nobody has answered yet."""
    is_over: bool = False
    """It waits no more, and stays only while the cursor is on it."""
    draft: Draft | None = None
    """What is chosen so far of the questions that are asked."""

    @property
    def ticket_id(self) -> str:
        """The ticket it belongs to."""
        if self.ticket is not None:
            return self.ticket.id
        if self.ask is not None:
            return self.ask.ticket
        return self.effect.record.ticket if self.effect is not None else ""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a list. Exactly one of them grows."""

    header: str
    cell: Callable[[Item, float], Piece]
    most: int
    """Most cells, unless it grows."""
    right: bool = False
    grows: bool = False


def effect_key(key: str) -> str:
    """Return the key of an effect's line."""
    return f"effect {key}"


def ask_key(ident: str) -> str:
    """Return the key of an ask's line."""
    return f"ask {ident}"


def ticket_key(ident: str) -> str:
    """Return the key of a ticket's line."""
    return f"ticket {ident}"


def effect_item(view: EffectView, *, pending: str = "", is_over: bool = False, since: float | None = None) -> Item:
    """Return the line of an effect."""
    waits_since = view.since if since is None else since
    return Item(effect_key(view.record.key), waits_since, effect=view, pending=pending, is_over=is_over)


def ask_item(ask: Ask, *, pending: str = "", draft: Draft | None = None) -> Item:
    """Return the line of something that an agent asks."""
    return Item(ask_key(ask.id), ask.at, ask=ask, pending=pending, is_over=not ask.waits, draft=draft)


def ticket_item(
    ticket: TicketSnapshot,
    blocker: TicketSnapshot | None = None,
    *,
    is_over: bool = False,
    since: float | None = None,
) -> Item:
    """Return the line of a ticket that waits for something else, such as for what it comes after."""
    stopped = blocker or ticket
    waits_since = (stopped.ended or stopped.last_activity or stopped.created) if since is None else since
    pending = ticket.pending or (blocker.pending if blocker is not None else "") or ""
    key = ticket_key(ticket.id)
    return Item(key, waits_since, ticket=ticket, blocker=blocker, pending=pending, is_over=is_over)


def urgency(item: Item) -> int:
    """Return how late an item comes among those that call the operator: failures, and what only follows from them."""
    is_failed = item.ticket is not None and item.ticket.state is State.FAILED
    return 2 if item.blocker is not None else int(is_failed)


def call_for(item: Item) -> Cell:
    """Return what a line that calls the operator says of an item: the ticket, and what it waits for."""
    is_failed = item.ticket is not None and item.ticket.state is State.FAILED
    glyph, tone = ("✗", Tone.BAD) if is_failed else ("!", Tone.WARM)
    why = _why(item, 0.0)[0]
    if item.effect is not None:
        why = f"{_what(item, 0.0)[0]} {why.partition(':')[0]}"
    elif item.ask is not None:
        why = f"{_what(item, 0.0)[0]}: {why}"
    return ((f"{glyph} {drawable(item.ticket_id)} ", tone), (why, Tone.PLAIN))


def _age(item: Item, now: float) -> Piece:
    return ("" if item.is_over else fmt.age(now - item.since), Tone.MUTED)


def _ticket(item: Item, _: float) -> Piece:
    return drawable(item.ticket_id), Tone.PLAIN


def _what(item: Item, _: float) -> Piece:
    if item.effect is not None:
        return f"effect {drawable(item.effect.record.op)}", Tone.PLAIN
    if item.ask is not None:
        return ask_words.what(item.ask), Tone.PLAIN
    if item.ticket is None or item.is_over:
        return "ticket", Tone.MUTED
    if item.blocker is not None:
        return "blocked", Tone.MUTED
    if item.ticket.state is State.FAILED or item.ticket.why is None:
        return item.ticket.state.value.replace("_", " "), Tone.MUTED
    return drawable(item.ticket.why.value.replace("_", " ")), Tone.MUTED


def _why(item: Item, _: float) -> Piece:
    if item.pending:
        return f"{drawable(item.pending)} …", Tone.ACCENT
    if item.effect is not None:
        return drawable(waits_for(item.effect)), Tone.MUTED if item.is_over else Tone.WARM
    if item.ask is not None:
        return ask_words.outcome(item.ask) if item.is_over else (ask_words.gist(item.ask), Tone.WARM)
    if item.ticket is None:
        return "", Tone.PLAIN
    if item.is_over:
        return fmt.state_words(item.ticket.state), Tone.MUTED
    if item.blocker is not None:
        return fmt.blocked_words(item.blocker), Tone.WARM
    tone = Tone.BAD if item.ticket.state is State.FAILED else Tone.WARM
    return fmt.reason(item.ticket) or fmt.state_words(item.ticket.state), tone


def _state(item: Item, _: float) -> Piece:
    if item.pending:
        return f"{drawable(item.pending)} …", Tone.ACCENT
    return effect_state(item.effect.record.state) if item.effect is not None else ("", Tone.PLAIN)


def _key(item: Item, _: float) -> Piece:
    return (drawable(item.effect.record.key) if item.effect is not None else "", Tone.PLAIN)


def _tries(item: Item, _: float) -> Piece:
    return (str(item.effect.record.attempt or "") if item.effect is not None else "", Tone.MUTED)


def _when(item: Item, now: float) -> Piece:
    return (stamp(item.since, now) if item.since else "", Tone.MUTED)


INBOX: tuple[Column, ...] = (
    Column("AGE", _age, 4, right=True),
    Column("TICKET", _ticket, 24),
    Column("WHAT", _what, 30),
    Column("WHY", _why, 0, grows=True),
)
LEDGER: tuple[Column, ...] = (
    Column("STATE", _state, 20),
    Column("EFFECT", _key, 0, grows=True),
    Column("TICKET", _ticket, 24),
    Column("TRY", _tries, 3, right=True),
    Column("SINCE", _when, 14, right=True),
)


def arrange(columns: Sequence[Column], items: Sequence[Item], now: float, width: int) -> tuple[int, ...]:
    """Return the cells of each column in a list of that width: as much as the items need, the rest for one."""
    share = max(4, width // 4)
    cells = [0 if c.grows else _needed(c, items, now, share) for c in columns]
    room = width - MARGIN - _GAP * (len(columns) - 1) - sum(cells)
    return tuple(max(8, room) if c.grows else w for c, w in zip(columns, cells, strict=True))


def _needed(column: Column, items: Sequence[Item], now: float, share: int) -> int:
    longest = max((cell_len(column.cell(item, now)[0]) for item in items), default=0)
    return max(len(column.header), min(longest, column.most, share))


def header(columns: Sequence[Column], cells: Sequence[int]) -> Piece:
    """Return the words above the columns."""
    words = (fit(c.header, w, right=c.right) for c, w in zip(columns, cells, strict=True))
    return " " * MARGIN + (" " * _GAP).join(words), Tone.MUTED


def line(item: Item, columns: Sequence[Column], cells: Sequence[int], now: float) -> tuple[Piece, ...]:
    """Return an item's pieces, cut and filled to the columns, without the margin before them."""
    pieces: list[Piece] = []
    for column, width in zip(columns, cells, strict=True):
        text, tone = column.cell(item, now)
        pieces.append((fit(text, width, right=column.right) + " " * _GAP, tone))
    return tuple(pieces)
