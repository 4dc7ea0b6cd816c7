"""A table of records: columns as wide as they need to be, a line above them, and a cursor on one of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.containers import Vertical

from widgets.cells import Cell, Piece, Tone, fit
from widgets.pick_list import PickList, PickRow
from widgets.words_line import WordsLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.app import ComposeResult

MARGIN = 2
"""Cells before the first column, for the cursor."""
_GAP = 2
_LEAST = 8
"""Cells that a column which grows has at least."""


@dataclass(frozen=True, slots=True)
class RecordColumn:
    """One column. Exactly one of a table grows."""

    header: str
    most: int
    """Most cells, unless it grows."""
    priority: int = 0
    """Columns with the highest number go first where there is no room; 0 stays in every width."""
    right: bool = False
    grows: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """One row."""

    key: str
    """Names it for good; the cursor follows it."""
    cells: tuple[Piece, ...]
    """One for each column, safe to draw."""


def arrange(columns: Sequence[RecordColumn], records: Sequence[Record], width: int) -> dict[int, int]:
    """Return which columns there is room for, by index, and how many cells each of them gets."""
    needed = {place: _needed(column, place, records) for place, column in enumerate(columns)}
    while _taken(needed) > width:
        place = max(needed, key=lambda p: columns[p].priority)
        if not columns[place].priority:
            break
        del needed[place]
    room = width - _taken(needed)
    grown = next((place for place in needed if columns[place].grows), None)
    return {place: max(1, cells + room) if place == grown else cells for place, cells in needed.items()}


def _needed(column: RecordColumn, place: int, records: Sequence[Record]) -> int:
    if column.grows:
        return _LEAST
    longest = max((cell_len(record.cells[place][0]) for record in records), default=0)
    return max(len(column.header), min(longest, column.most))


def _taken(needed: dict[int, int]) -> int:
    return MARGIN + sum(needed.values()) + _GAP * (len(needed) - 1)


def header(columns: Sequence[RecordColumn], cells: dict[int, int]) -> Piece:
    """Return the words above the columns."""
    words = (fit(columns[place].header, width, right=columns[place].right) for place, width in cells.items())
    return " " * MARGIN + (" " * _GAP).join(words), Tone.MUTED


def row(columns: Sequence[RecordColumn], cells: dict[int, int], record: Record) -> PickRow:
    """Return a record's line, without the margin before it."""
    pieces: list[Piece] = []
    for place, width in cells.items():
        text, tone = record.cells[place]
        gap = " " * _GAP if pieces else ""
        pieces.append((gap + fit(text, width, right=columns[place].right), tone))
    return PickRow(record.key, tuple(pieces))


class RecordTable(Vertical):
    """Records under one another. `show` draws again only if something reads differently."""

    DEFAULT_CSS = """
    RecordTable PickList { height: 1fr; }
    """

    def __init__(
        self,
        columns: Sequence[RecordColumn],
        rows: PickList | None = None,
        *,
        id: str | None = None,  # noqa: A002
    ) -> None:
        """Make a table; ``rows`` draws them, where that shall have other keys."""
        super().__init__(id=id)
        self._columns = tuple(columns)
        self._records: tuple[Record, ...] = ()
        self._notice: Cell = ()
        self._shown: object = None
        self._head, self.list = WordsLine(), rows or PickList()

    def compose(self) -> ComposeResult:
        """Lay out the header and the rows."""
        yield self._head
        yield self.list

    @property
    def picked(self) -> str | None:
        """Key of the record under the cursor; None where there are none."""
        return self.list.picked

    def show(self, records: Iterable[Record], notice: Cell = ()) -> None:
        """Show these records, and below them a notice. The cursor stays on its record."""
        self._records, self._notice = tuple(records), notice
        self._draw()

    def on_resize(self) -> None:
        """Fit the columns to the new width."""
        self._draw()

    def _draw(self) -> None:
        width = self.content_size.width
        if not width or (self._records, self._notice, width) == self._shown:
            return
        self._shown = (self._records, self._notice, width)
        cells = arrange(self._columns, self._records, width - 1)  # the last one is the scroll bar's
        self._head.show((header(self._columns, cells),) if self._records else ())
        self.list.show([row(self._columns, cells, record) for record in self._records], self._notice)
