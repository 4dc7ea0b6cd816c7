"""A page of lines to read, laid out anew for every width. It scrolls by keys and by the wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Size

from widgets.cells import Cell, Tone
from widgets.lines import below_line
from widgets.reading_view import ReadingView
from widgets.tones import tone_css

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.strip import Strip

    Layout = Callable[[int], list[Cell]]
    """Makes the lines for a width in cells, none of them wider."""


class LinesPage(ReadingView):
    """Lines under one another."""

    DEFAULT_CSS = """
    LinesPage { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """ + tone_css("LinesPage")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._layout: Layout = lambda _: []
        self._lines: list[Cell] = []

    def show(self, layout: Layout) -> None:
        """Show a page from its top."""
        self._layout = layout
        self._lay_out()
        self.scroll_to(y=0, animate=False, force=True)

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self._lay_out()

    @property
    def line_count(self) -> int:
        """How many lines the page has."""
        return len(self._lines)

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw a line; a bar on the left says that keys scroll here, and the last one what is below the view."""
        if self.below and y == self.room - 1 > 0:
            return self.palette.line(below_line(self.below + 1), width)
        line = self._lines[y + top] if y + top < len(self._lines) else ()
        return self.palette.line((("▏" if self.has_focus else " ", Tone.ACCENT), *line), width)

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self._lines = self._layout(max(8, width - 1))
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()
