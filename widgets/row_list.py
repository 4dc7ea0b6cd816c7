"""What lists of rows share: a cursor that keys and the mouse move, and a sign where rows are left below the view.

What the rows are, and what the cursor belongs to, is known to who derives from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from widgets.lines import LineView, below_line

if TYPE_CHECKING:
    from textual import events
    from textual.strip import Strip


class RowList(LineView):
    """Rows under one another, with a cursor."""

    HEADER: ClassVar[int] = 0
    """Lines above the first row that do not scroll."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Next", show=False),
        Binding("k,up", "move(-1)", "Previous", show=False),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", show=False),
        Binding("home", "edge(0)", "First", show=False),
        Binding("end,G", "edge(-1)", "Last", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    class Highlighted(Message):
        """The cursor is on another row."""

    class Opened(Message):
        """Enter was pressed on a row, or it was clicked twice."""

        def __init__(self, *, by_mouse: bool = False) -> None:
            super().__init__()
            self.by_mouse = by_mouse

    # What the rows are

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    @property
    def line_count(self) -> int:
        """How many lines scroll: the rows, and what else stands below them."""
        return self.row_count

    @property
    def place(self) -> int:
        """On which row the cursor is, counted from 0."""
        raise NotImplementedError

    def go_to(self, place: int) -> None:
        """Put the cursor on a row that there is, and bring it into view."""
        raise NotImplementedError

    def draw_header(self, y: int, width: int) -> Strip:
        """Draw a line above the rows."""
        raise NotImplementedError

    def draw_row(self, place: int, width: int) -> Strip:
        """Draw what stands in a place: a row, or what is below the last one."""
        raise NotImplementedError

    # Keys and mouse

    def action_move(self, by: int) -> None:
        """Move the cursor by so many rows."""
        self._go(self.place + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by so many pages."""
        self._go(self.place + by * max(1, self.room - 1))

    def action_edge(self, place: int) -> None:
        """Move the cursor to the first row (0) or the last (-1)."""
        self._go(place % max(1, self.row_count))

    def action_open(self) -> None:
        """Say that the row under the cursor is meant."""
        if self.row_count:
            self.post_message(self.Opened())

    def _go(self, place: int) -> None:
        if self.row_count:
            self.go_to(max(0, min(place, self.row_count - 1)))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the row under the pointer; a double click opens it."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y < self.HEADER:
            return
        place = offset.y - self.HEADER + self.scroll_offset.y
        if place < self.row_count:
            self.go_to(place)
            if event.chain == 2:
                self.post_message(self.Opened(by_mouse=True))

    def on_focus(self) -> None:
        """Show that keys move the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that keys go elsewhere."""
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self.measure()
        self.reveal()

    # Places

    @property
    def room(self) -> int:
        """Lines that fit below the header."""
        return max(0, self.scrollable_content_region.height - self.HEADER)

    @property
    def below(self) -> int:
        """How many lines cannot be seen below: of those that fit, the last one gives way to the sign that says so."""
        left = self.line_count - self.scroll_offset.y - self.room
        return left + 1 if left > 0 and self.room > 1 else 0

    @property
    def in_view(self) -> range:
        """The places of the rows in view."""
        top = self.scroll_offset.y
        return range(top, min(self.row_count, top + self.room - bool(self.below)))

    def measure(self) -> None:
        """Take note of how many lines there are."""
        self.virtual_size = Size(self.scrollable_content_region.width, self.line_count + self.HEADER)

    def reveal(self) -> None:
        """Bring the cursor into view."""
        place, top, room = self.place, self.scroll_offset.y, self.room
        if not room or place in self.in_view:
            return
        is_last = place >= self.line_count - 1 or room == 1
        self.scroll_to(y=place if place < top else place - room + (1 if is_last else 2), animate=False, force=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say how much is left below from the new place."""
        super().watch_scroll_y(old_value, new_value)
        self.refresh()

    # Drawing

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw the header, which stays, a row, or how many rows are below the view."""
        if y < self.HEADER:
            return self.draw_header(y, width)
        if self.below and y == self.HEADER + self.room - 1:
            return self.palette.line(below_line(self.below), width)
        return self.draw_row(y - self.HEADER + top, width)
