"""Lines of any length as rows of a given width: broken at blanks, measured in cells, each piece keeping its tone. Pure.

Works on safe text only (`widgets.cells.drawable_lines`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.text import clusters
from widgets.cells import Cell, joined, width_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_ROWS = 400
"""Most rows of one entry."""
_LEAST = 2


@dataclass(frozen=True, slots=True)
class Line:
    """A line before it is broken."""

    body: Cell
    first: Cell = ()
    """What stands before its first row."""
    again: Cell = ()
    """What stands before the others; as wide as ``first``."""


def flow(line: Line, width: int) -> Iterator[Cell]:
    """Yield the rows of a line, at least one."""
    room = max(_LEAST, width - width_of(line.first))
    lead = line.first
    for start, end in spans(joined(line.body), room):
        yield lead + cut(line.body, start, end)
        lead = line.again


def wrap(lines: Iterable[str], width: int, most: int = MOST_ROWS) -> list[str]:
    """Return lines as rows, none wider than ``width`` (2 at least), and at most so many."""
    rows: list[str] = []
    for line in lines:
        if len(rows) >= most:
            break
        rows.extend(line[start:end] for start, end in spans(line, max(_LEAST, width)))
    return rows[:most]


def cut(cell: Cell, start: int, end: int) -> Cell:
    """Return the pieces, or parts of them, between two characters."""
    if len(cell) == 1:
        return ((cell[0][0][start:end], cell[0][1]),)
    kept = []
    place = 0
    for text, tone in cell:
        part = text[max(0, start - place) : max(0, end - place)]
        if part:
            kept.append((part, tone))
        place += len(text)
    return tuple(kept)


def spans(line: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield where each row of a line begins and ends: at blanks, or inside of a word that is too long.

    Blanks at a break and at the end of the line belong to no row; those at its beginning do.
    """
    end = len(line.rstrip(" "))
    if not line.isascii():
        return _measured(line[:end], width)
    return iter([(0, end)]) if end <= width else _counted(line, end, width)


def _counted(line: str, end: int, width: int) -> Iterator[tuple[int, int]]:
    start = 0
    while end - start > width:
        blank = line.rfind(" ", start, start + width + 1)
        stop = blank if blank > start and not line[start:blank].isspace() else start + width
        yield start, start + len(line[start:stop].rstrip(" "))
        start = stop
        while line[start] == " ":
            start += 1
    yield start, end


def _measured(line: str, width: int) -> Iterator[tuple[int, int]]:
    """As `_counted`, in cells and clusters instead of characters."""
    parts = list(clusters(line))
    cells = [cell_len(part) for part in parts]
    places = [0, *accumulate(map(len, parts))]
    start = 0
    while True:
        stop, room = start, width
        while stop < len(parts) and (cells[stop] <= room or stop == start):
            room -= cells[stop]
            stop += 1
        if stop == len(parts):
            yield places[start], places[stop]
            return
        blank = next((i for i in range(stop, start, -1) if parts[i] == " "), start)
        if not line[places[start] : places[blank]].isspace() and blank > start:
            stop = blank
        yield places[start], places[start] + len(line[places[start] : places[stop]].rstrip(" "))
        start = stop
        while parts[start] == " ":
            start += 1
