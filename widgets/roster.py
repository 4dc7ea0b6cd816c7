"""The tickets of a table in their order: who stands in which place, on which line, how deep under its parents. Pure.

A *place* counts tickets, a *line* counts what is drawn: tickets, and the headings above groups of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.ordering import Sort
from widgets.cells import Cell, Tone, drawable

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from supervisor.core.model import TicketSnapshot


@dataclass(frozen=True, slots=True)
class Heading:
    """A line above a group of tickets; no cursor stands on it."""

    place: int
    """Place of the first ticket below."""
    words: str
    """Safe to draw."""
    tone: Tone
    count: int
    """How many tickets the group shows."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What there is to know of an order besides the tickets in it."""

    headings: tuple[Heading, ...] = ()
    """From top to bottom; each above a place of its own."""
    depths: tuple[int, ...] | None = None
    """By place, how far a fork is indented; None puts every fork under its parent."""
    id_cells: int = 0
    """Least width of an id, so that columns stay where they are while rows come and go."""
    sort: Sort = Sort.FILE
    empty: str = "no tickets yet"
    """What to say where there are no tickets."""


class Roster:
    """Rows, and what depends on their order only."""

    def __init__(self, rows: Sequence[TicketSnapshot], shape: Shape | None = None) -> None:
        self.rows = tuple(rows)
        self.shape = shape or Shape()
        self.places = {ticket.id: place for place, ticket in enumerate(self.rows)}
        self._depths = _depths(self.rows) if self.shape.depths is None else self.shape.depths
        self._lines = _lines(len(self.rows), self.shape.headings)
        self._line_of = {place: line for line, place in enumerate(self._lines) if place >= 0}
        indented = (cell_len(drawable(t.id)) + 2 * depth for t, depth in zip(self.rows, self._depths, strict=True))
        self.id_cells = max(self.shape.id_cells, *indented, 0)
        """Cells that the longest id takes, indents included."""

    @property
    def height(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def replace(self, rows: Sequence[TicketSnapshot], shape: Shape | None = None) -> bool:
        """Take newer snapshots of the same tickets in the same order; return False, and change nothing, for others."""
        if len(rows) != len(self.rows) or (shape is not None and shape != self.shape):
            return False
        if any(a is not b and a.id != b.id for a, b in zip(self.rows, rows, strict=True)):
            return False
        self.rows = tuple(rows)
        return True

    def depth(self, place: int) -> int:
        """Return how many parents stand above the ticket in a place."""
        return self._depths[place]

    def at(self, place: int) -> TicketSnapshot | None:
        """Return the ticket in a place, or the nearest one; None if there are none."""
        return self.rows[max(0, min(place, len(self.rows) - 1))] if self.rows else None

    def nearest(self, place: int, among: Container[str]) -> str | None:
        """Return the id of the ticket nearest to a place, of these; below it rather than above."""
        for distance in range(len(self.rows)):
            for near in (place + distance, place - distance):
                if 0 <= near < len(self.rows) and self.rows[near].id in among:
                    return self.rows[near].id
        return None

    def line_of(self, place: int) -> int:
        """Return the line of the ticket in a place; 0 where there is none."""
        return self._line_of.get(place, 0)

    def top_of(self, place: int) -> int:
        """Return the line from which on a place is seen with the heading it begins, if it begins one."""
        line = self.line_of(place)
        return line - 1 if line and self._lines[line - 1] < 0 else line

    def on(self, line: int) -> int | Heading | None:
        """Return what stands on a line: the place of a ticket, a heading, or nothing."""
        if not 0 <= line < len(self._lines):
            return None
        place = self._lines[line]
        return place if place >= 0 else self.shape.headings[~place]


def heading_line(heading: Heading, width: int) -> Cell:
    """Return the line ``  needs you 3 ┄┄┄┄``, as wide as told if the words are not wider."""
    lead, count = "  ", f" {heading.count} "
    dots = width - len(lead) - cell_len(heading.words) - len(count)
    return ((lead, Tone.FAINT), (heading.words, heading.tone), (count, Tone.MUTED), ("┄" * dots, Tone.FAINT))


def runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return the first and last of each run of neighbours: one region to repaint is cheaper than many."""
    for _, run in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0]):
        members = [place for _, place in run]
        yield members[0], members[-1]


def _lines(rows: int, headings: Sequence[Heading]) -> Sequence[int]:
    """Return by line the place of a ticket, or the complement of a heading's number."""
    if not headings:
        return range(rows)
    lines: list[int] = []
    above = {heading.place: ~number for number, heading in enumerate(headings)}
    for place in range(rows):
        lines += (above[place], place) if place in above else (place,)
    return lines


def _depths(rows: Sequence[TicketSnapshot]) -> tuple[int, ...]:
    depths: dict[str, int] = {}
    for ticket in rows:  # parents come before their forks
        depths[ticket.id] = depths[ticket.parent] + 1 if ticket.parent in depths else 0
    return tuple(depths.values())
