"""A list to pick one line from, in a dialog: drawn from rows of pieces, with a cursor that belongs to a row's key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from widgets.cells import Cell, Piece, Tone, clip_pieces
from widgets.lines import LineView
from widgets.tones import TONE_CLASSES, tone_css
from widgets.transcript_wrap import wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip

_MARGIN = 2


@dataclass(frozen=True, slots=True)
class PickRow:
    """One line of the list."""

    key: str
    cell: Cell
    """What stands on it, safe to draw; what does not fit is cut at the end."""


class PickList(LineView):
    """Lines under one another, one of which is picked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = TONE_CLASSES | {"pick-list--cursor", "pick-list--cursor-blurred"}
    DEFAULT_CSS = """
    PickList { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    PickList .pick-list--cursor { background: $panel-lighten-2; text-style: bold; }
    PickList .pick-list--cursor-blurred { background: $panel-lighten-1; }
    """ + tone_css("PickList")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Next", show=False),
        Binding("k,up", "move(-1)", "Previous", show=False),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", show=False),
        Binding("home", "edge(0)", "First", show=False),
        Binding("end,G", "edge(-1)", "Last", show=False),
        Binding("enter", "pick", "Pick", show=False),
    ]

    class Highlighted(Message):
        """The cursor is on another row."""

    class Picked(Message):
        """Enter was pressed on a row."""

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
        self._measure()
        self.refresh()
        self.call_after_refresh(self._reveal)
        if self.picked != before:
            self.post_message(self.Highlighted())

    def select(self, key: str) -> None:
        """Put the cursor on a row and bring it into view; unknown keys change nothing."""
        if key != self._cursor and any(row.key == key for row in self._rows):
            self._cursor = key
            self.refresh()
            self._reveal()
            self.post_message(self.Highlighted())

    # Keys and mouse

    def action_move(self, by: int) -> None:
        """Move the cursor by so many rows."""
        self._select_place(self._place() + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by so many pages."""
        self._select_place(self._place() + by * max(1, self.scrollable_content_region.height - 1))

    def action_edge(self, place: int) -> None:
        """Move the cursor to the first row (0) or the last (-1)."""
        self._select_place(place % max(1, len(self._rows)))

    def action_pick(self) -> None:
        """Say that the row under the cursor is meant."""
        if self.picked is not None:
            self.post_message(self.Picked())

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the row under the pointer."""
        offset = event.get_content_offset(self)
        if offset is not None and (place := offset.y + self.scroll_offset.y) < len(self._rows):
            self.select(self._rows[place].key)

    def on_focus(self) -> None:
        """Show that keys move the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that keys go elsewhere."""
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._measure()
        self._reveal()

    def scroll_lines(self, by: int) -> None:
        """Scroll, and leave the cursor where it is."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, force=True)

    # Drawing

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw a row, or a line of the notice."""
        place = y + top
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

    def _measure(self) -> None:
        width = self.scrollable_content_region.width
        self.virtual_size = Size(width, len(self._rows) + len(self._notice_lines(width)))

    # Places

    def _place(self) -> int:
        return next((place for place, row in enumerate(self._rows) if row.key == self._cursor), 0)

    def _select_place(self, place: int) -> None:
        if self._rows:
            self.select(self._rows[max(0, min(place, len(self._rows) - 1))].key)

    def _reveal(self) -> None:
        place, top, room = self._place(), self.scroll_offset.y, self.scrollable_content_region.height
        if room and not top <= place < top + room:
            self.scroll_to(y=place if place < top else place - room + 1, animate=False, force=True)
