"""Rows of the ticket table as strips, each remembered until something changes that decides how it looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from widgets import columns as cols
from widgets import formatting as fmt
from widgets.cells import Piece, Tone

if TYPE_CHECKING:
    from collections.abc import Container

    from rich.style import Style
    from textual.strip import Strip

    from supervisor.core.model import TicketSnapshot
    from supervisor.core.ordering import Sort
    from widgets.tones import Palette

_MOST_DRAWN = 1_000
"""Rows remembered as drawn; more than any terminal has."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a row shows that is not in its snapshot, nor moves with the time."""

    depth: int = 0
    """How many parents stand above a fork."""
    cursor: bool = False
    marked: bool = False


@dataclass(frozen=True, slots=True)
class _Drawn:
    ticket: TicketSnapshot
    place: Place
    clock: tuple[str, ...]
    strip: Strip


class RowPainter:
    """Draws rows in the columns that a terminal has room for."""

    def __init__(self) -> None:
        self.columns: tuple[cols.Column, ...] = ()
        self.built = 0
        """Rows drawn anew since the start."""
        self._columns_for = (-1, -1)
        self._shows_ages = False
        self._drawn: dict[str, _Drawn] = {}
        self._header: tuple[Sort, Strip] | None = None

    def fit(self, width: int, id_cells: int) -> None:
        """Choose the columns for rows of that width, whose longest id takes so many cells."""
        if len(self._drawn) > _MOST_DRAWN:
            self._drawn.clear()
        if self._columns_for != (width, id_cells):
            self._columns_for = (width, id_cells)
            self.columns = cols.arrange(width, cols.id_width(id_cells, width))
            self._shows_ages = any(c.name in ("age", "last") for c in self.columns)
            self.forget()

    def forget(self) -> None:
        """Draw every row anew when it is next shown."""
        self._drawn.clear()
        self._header = None

    def drop(self, ticket: str) -> None:
        """Draw a row anew when it is next shown."""
        self._drawn.pop(ticket, None)

    def keep(self, tickets: Container[str]) -> None:
        """Forget all rows but these."""
        self._drawn = {ticket: drawn for ticket, drawn in self._drawn.items() if ticket in tickets}

    def header(self, sort: Sort, width: int, palette: Palette) -> Strip:
        """Return the words above the columns."""
        if self._header is None or self._header[0] is not sort:
            self._header = (sort, palette.strip(cols.header(self.columns, sort), width))
        return self._header[1]

    def row(
        self, ticket: TicketSnapshot, place: Place, now: float, width: int, palette: Palette, under: Style | None
    ) -> Strip:
        """Return a row as of ``now``; ``under`` is the background of the cursor's row."""
        clock = self._clock(ticket, now)
        old = self._drawn.get(ticket.id)
        if old and old.ticket is ticket and old.clock == clock and old.place == place:
            return old.strip
        margin: Piece = (f"{'▸' if place.cursor else ' '}{'◆' if place.marked else ' '}", Tone.ACCENT)
        pieces = cols.row(ticket, self.columns, cols.Look(now, place.depth))
        strip = palette.strip([margin, *pieces], width, under)
        self.built += 1
        self._drawn[ticket.id] = _Drawn(ticket, place, clock, strip)
        return strip

    def is_stale(self, ticket: TicketSnapshot, now: float) -> bool:
        """Return whether a row that was drawn reads differently by now."""
        old = self._drawn.get(ticket.id)
        return old is not None and old.clock != self._clock(ticket, now)

    def _clock(self, ticket: TicketSnapshot, now: float) -> tuple[str, ...]:
        return fmt.moving_words(ticket, now, ages=self._shows_ages)
