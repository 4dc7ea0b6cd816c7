"""A page of lines to read, laid out anew for every width. It scrolls by keys and by the wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size

from widgets.cells import Cell, Tone
from widgets.lines import LineView
from widgets.tones import tone_css

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.strip import Strip

    Layout = Callable[[int], list[Cell]]
    """Makes the lines for a width in cells, none of them wider."""


class LinesPage(LineView):
    """Lines under one another."""

    DEFAULT_CSS = """
    LinesPage { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """ + tone_css("LinesPage")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_lines(1)", "Down", show=False),
        Binding("k,up", "scroll_lines(-1)", "Up", show=False),
        Binding("pagedown,ctrl+d", "scroll_pages(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "scroll_pages(-1)", "Page up", show=False),
        Binding("home", "scroll_lines(-100000)", "Top", show=False),
        Binding("end,G", "scroll_lines(100000)", "End", show=False),
    ]

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

    def on_focus(self) -> None:
        """Show that keys scroll the page."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that keys go elsewhere."""
        self.refresh()

    def scroll_lines(self, by: int) -> None:
        """Scroll by lines."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, force=True)

    def action_scroll_lines(self, by: int) -> None:
        """Scroll by lines."""
        self.scroll_lines(by)

    def action_scroll_pages(self, by: int) -> None:
        """Scroll by pages."""
        self.scroll_lines(by * max(1, self.scrollable_content_region.height - 1))

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw a line; a bar on the left says that keys scroll here."""
        line = self._lines[y + top] if y + top < len(self._lines) else ()
        return self.palette.line((("▏" if self.has_focus else " ", Tone.ACCENT), *line), width)

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self._lines = self._layout(max(8, width - 1))
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()
