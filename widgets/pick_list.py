"""A list to pick one line from, in a dialog: drawn from rows of pieces, with a cursor that belongs to a row's key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from widgets.cells import Cell, Piece, Tone, clip_pieces
from widgets.row_list import RowList
from widgets.tones import TONE_CLASSES, tone_css
from widgets.transcript_wrap import wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

_MARGIN = 2


@dataclass(frozen=True, slots=True)
class PickRow:
    """One line of the list."""

    key: str
    cell: Cell
    """What stands on it, safe to draw; what does not fit is cut at the end."""


class PickList(RowList):
    """Lines under one another, one of which is picked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = TONE_CLASSES | {"pick-list--cursor", "pick-list--cursor-blurred"}
    DEFAULT_CSS = """
    PickList { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    PickList .pick-list--cursor { background: $panel-lighten-2; text-style: bold; }
    PickList .pick-list--cursor-blurred { background: $panel-lighten-1; }
    """ + tone_css("PickList")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._rows: tuple[PickRow, ...] = ()
        self._notice: Cell = ()
        self._cursor: str | None = None

    @property
    def picked(self) -> str | None:
        """Key of the row under the cursor; None where there are no rows."""
        return self._cursor if any(row.key == self._cursor for row in self._rows) else None

    def show(self, rows: Sequence[PickRow], notice: Cell = ()) -> None:
        """Show these rows, and below them a notice, such as that more are on their way. The cursor stays on its row."""
        before, self._rows, self._notice = self.picked, tuple(rows), notice
        if self.picked is None:
            self._cursor = self._rows[0].key if self._rows else None
        self.measure()
        self.refresh()
        self.call_after_refresh(self.reveal)
        if self.picked != before:
            self.post_message(self.Highlighted())

    def select(self, key: str) -> None:
        """Put the cursor on a row and bring it into view; unknown keys change nothing."""
        if key != self._cursor and any(row.key == key for row in self._rows):
            self._cursor = key
            self.refresh()
            self.reveal()
            self.post_message(self.Highlighted())

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    @property
    def line_count(self) -> int:
        """How many lines there are, those of the notice included."""
        return len(self._rows) + len(self._notice_lines(self.scrollable_content_region.width))

    @property
    def place(self) -> int:
        """Place of the row under the cursor."""
        return next((place for place, row in enumerate(self._rows) if row.key == self._cursor), 0)

    def go_to(self, place: int) -> None:
        """Put the cursor on the row in a place."""
        self.select(self._rows[place].key)

    # Drawing

    def draw_row(self, place: int, width: int) -> Strip:
        """Draw a row, or a line of the notice."""
        if place >= len(self._rows):
            lines = self._notice_lines(width)
            below = place - len(self._rows)
            return self.palette.line(lines[below] if below < len(lines) else (), width)
        row = self._rows[place]
        is_cursor = row.key == self._cursor
        margin: Piece = ("▸ " if is_cursor else "  ", Tone.ACCENT)
        cell = (margin, *clip_pieces(row.cell, max(0, width - _MARGIN)))
        name = "pick-list--cursor" if self.has_focus else "pick-list--cursor-blurred"
        return self.palette.strip(cell, width, self.get_component_rich_style(name, partial=True) if is_cursor else None)

    def _notice_lines(self, width: int) -> list[Cell]:
        room = max(4, width - _MARGIN)
        return [((f"  {line}", tone),) for text, tone in self._notice for line in wrap([text], room)]
