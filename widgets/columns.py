"""The ticket table's columns: what each shows, how wide it is and when a narrower terminal does without it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.ordering import Sort
from supervisor.core.text import clip
from widgets import formatting as fmt
from widgets.cells import Cell, Piece, Tone, drawable, fit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from supervisor.core.model import TicketSnapshot

ROOMY = 144
"""Terminals as wide as this show long words whole."""
MARGIN = 2
"""Cells before the first column: the cursor and the mark."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a row shows besides its snapshot."""

    now: float
    depth: int = 0
    """How many parents stand above a fork."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table."""

    name: str
    header: str
    width: int
    """Cells; the least of them for a column that grows."""
    cell: Callable[[TicketSnapshot, Look, int], Cell]
    """What stands in it, given its width; too much is cut."""
    priority: int
    """Columns with the highest number go first where there is no room."""
    grow: int = 0
    """Share of the room that is left."""
    roomy: int = 0
    """Cells in terminals with `ROOMY` cells and more."""
    right: bool = False
    sort: Sort | None = None
    """What a click on its header sorts by."""
    at_least: int = 0
    """Narrowest terminal that shows the column."""
    below: int = 10_000
    """Terminals as wide as this do not show it any more."""


def _id(ticket: TicketSnapshot, look: Look, width: int) -> Cell:
    name, room = drawable(ticket.id), width - 2 * look.depth
    if ticket.parent is not None and name.isascii() and len(name) > room > 1:
        name = f"…{name[1 - room :]}"  # forks differ from their parents at the end
    if not look.depth:
        return ((name, Tone.PLAIN),)
    return (("  " * (look.depth - 1) + "└ ", Tone.FAINT), (name, Tone.PLAIN))


def _title(ticket: TicketSnapshot, _: Look, __: int) -> Cell:
    return ((drawable(ticket.title), Tone.MUTED),)


def _state(ticket: TicketSnapshot, _: Look, __: int) -> Cell:
    return ((fmt.state_words(ticket.state), fmt.state_tone(ticket.state)),)


def _why(ticket: TicketSnapshot, look: Look, width: int) -> Cell:
    (words, tone), left = fmt.why_now(ticket, look.now)
    if not left:
        return ((words, tone),)
    words, left = fmt.with_time_left(words, left, width, cell_len)
    return ((words, tone), (left, Tone.PLAIN))


def _attempts(ticket: TicketSnapshot, _: Look, __: int) -> Cell:
    return ((str(ticket.attempts or ""), Tone.MUTED),)


def _ending(ticket: TicketSnapshot, _: Look, __: int) -> Cell:
    return ((drawable(fmt.ending(ticket)), Tone.MUTED),)


def _subtype(ticket: TicketSnapshot, _: Look, __: int) -> Cell:
    return () if ticket.holds_slot else ((drawable(ticket.subtype or ""), Tone.MUTED),)


def _terminal_reason(ticket: TicketSnapshot, _: Look, __: int) -> Cell:
    return () if ticket.holds_slot else ((drawable(ticket.terminal_reason or ""), Tone.MUTED),)


def _turns(ticket: TicketSnapshot, _: Look, __: int) -> Cell:
    return ((str(ticket.turns or ""), Tone.MUTED),)


def _cost(ticket: TicketSnapshot, _: Look, __: int) -> Cell:
    if not ticket.so_far_usd:
        return ()
    return ((fmt.money(ticket.so_far_usd, estimated=ticket.is_estimate), Tone.PLAIN),)


def _headroom(ticket: TicketSnapshot, _: Look, __: int) -> Cell:
    return fmt.headroom(ticket)


def _age(ticket: TicketSnapshot, look: Look, __: int) -> Cell:
    return ((fmt.ran_for(ticket, look.now), Tone.MUTED),)


def _last(ticket: TicketSnapshot, look: Look, __: int) -> Cell:
    return ((fmt.last_seen(ticket, look.now), Tone.MUTED),)


def _branch(ticket: TicketSnapshot, _: Look, __: int) -> Cell:
    return ((drawable(ticket.branch or ""), Tone.FAINT),)


COLUMNS: tuple[Column, ...] = (
    Column("id", "ID", 8, _id, 0, sort=Sort.FILE),
    Column("title", "TITLE", 16, _title, 9, grow=2, at_least=140),
    Column("state", "STATE", 11, _state, 1, sort=Sort.STATE),
    Column("why", "WHY / NOW", 10, _why, 2, grow=3),
    Column("attempts", "TRY", 3, _attempts, 5, right=True, sort=Sort.ATTEMPTS),
    Column("ending", "ENDING", 12, _ending, 6, below=120),
    Column("subtype", "SUBTYPE", 16, _subtype, 7, roomy=22, at_least=120),
    Column("terminal_reason", "TERMINAL REASON", 17, _terminal_reason, 7, roomy=20, at_least=120),
    Column("turns", "TURNS", 5, _turns, 8, right=True, at_least=92),
    Column("cost", "COST", 6, _cost, 4, right=True, sort=Sort.COST),
    Column("headroom", "HEADROOM", 9, _headroom, 3, sort=Sort.HEADROOM),
    Column("age", "AGE", 4, _age, 10, right=True, sort=Sort.AGE, at_least=132),
    Column("last", "LAST", 5, _last, 10, right=True, sort=Sort.LAST, at_least=132),
    Column("branch", "BRANCH", 28, _branch, 11, grow=1, at_least=180),
)
"""In the order they stand."""

_ID_SHARE = 5
"""The id takes at most one fifth of the terminal."""


def id_width(needed: int, terminal: int) -> int:
    """Return the width of the ID column where the longest id takes so many cells."""
    return max(8, min(needed, max(12, terminal // _ID_SHARE)))


def arrange(terminal: int, id_cells: int) -> tuple[Column, ...]:
    """Return the columns a terminal of that width shows, each with its final width.

    Args:
        terminal: Cells of a row, without the scrollbar.
        id_cells: Cells of the ID column, from `id_width`.
    """
    chosen = [_sized(c, terminal, id_cells) for c in COLUMNS if c.at_least <= terminal < c.below]
    while len(chosen) > 1 and _taken(chosen) > terminal:
        chosen.remove(max(chosen, key=lambda c: c.priority))
    return tuple(_grown(chosen, max(0, terminal - _taken(chosen))))


def _sized(column: Column, terminal: int, id_cells: int) -> Column:
    if column.name == "id":
        return replace(column, width=id_cells)
    return replace(column, width=column.roomy) if column.roomy and terminal >= ROOMY else column


def _taken(columns: Sequence[Column]) -> int:
    return MARGIN + sum(c.width for c in columns) + len(columns) - 1


def _grown(columns: Sequence[Column], room: int) -> Iterable[Column]:
    shares = sum(c.grow for c in columns)
    for column in columns:
        if not column.grow:
            yield column
            continue
        more = room * column.grow // shares
        room -= more
        shares -= column.grow
        yield replace(column, width=column.width + more)


def header(columns: Sequence[Column], sort: Sort = Sort.FILE) -> list[Piece]:
    """Return the words above the columns; the one that decides the order stands out."""
    pieces: list[Piece] = [(" " * MARGIN, Tone.MUTED)]
    for column in columns:
        decides = column.sort is sort is not Sort.FILE
        words = fit(column.header, column.width, right=column.right)
        pieces += [(words, Tone.ACCENT if decides else Tone.MUTED), (" ", Tone.MUTED)]
    return pieces[:-1]


def column_at(columns: Sequence[Column], x: int) -> Column | None:
    """Return the column that a cell of a row belongs to; the blank after a column is part of it."""
    end = MARGIN
    for column in columns:
        end += column.width + 1
        if MARGIN <= x < end:
            return column
    return None


def row(ticket: TicketSnapshot, columns: Sequence[Column], look: Look) -> list[Piece]:
    """Return one row's pieces, cut and filled to the columns, without the margin before them."""
    pieces: list[Piece] = []
    for column in columns:
        cell = column.cell(ticket, look, column.width)
        if pieces:
            text, tone = pieces[-1]
            pieces[-1] = (f"{text} ", tone)
        if len(cell) == 1:
            text, tone = cell[0]
            _add(pieces, fit(text, column.width, right=column.right), tone)
        else:
            _place(pieces, cell, column.width)
    return pieces


def _place(pieces: list[Piece], cell: Cell, room: int) -> None:
    for text, tone in cell:
        cut = clip(text, room, cell_len)
        room -= cell_len(cut)
        _add(pieces, cut, tone)
    if room:
        _add(pieces, " " * room, Tone.PLAIN)


def _add(pieces: list[Piece], text: str, tone: Tone) -> None:
    """Append, joining what looks the same: fewer segments are cheaper to paint. Blanks take the tone before them."""
    if pieces and (pieces[-1][1] is tone or text.isspace()):
        pieces[-1] = (pieces[-1][0] + text, pieces[-1][1])
    elif text:
        pieces.append((text, tone))
