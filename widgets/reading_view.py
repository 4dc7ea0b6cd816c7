"""What pages to read share: lines that keys and the wheel scroll."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from widgets.lines import LineView


class ReadingView(LineView):
    """Lines under one another, without a cursor."""

    HEADER: ClassVar[int] = 0
    """Lines above the first one that do not scroll."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_lines(1)", "Down", show=False),
        Binding("k,up", "scroll_lines(-1)", "Up", show=False),
        Binding("pagedown,ctrl+d", "scroll_pages(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "scroll_pages(-1)", "Page up", show=False),
        Binding("home", "scroll_edge(0)", "Top", show=False),
        Binding("end,G", "scroll_edge(1)", "End", show=False),
    ]

    @property
    def line_count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    @property
    def room(self) -> int:
        """Lines that fit below the header."""
        return max(0, self.scrollable_content_region.height - self.HEADER)

    @property
    def below(self) -> int:
        """How many lines are below the view."""
        return max(0, self.line_count - self.room - self.scroll_offset.y)

    def action_scroll_lines(self, by: int) -> None:
        """Scroll by lines."""
        self.scroll_lines(by)

    def action_scroll_pages(self, by: int) -> None:
        """Scroll by pages."""
        self.scroll_lines(by * max(1, self.room - 1))

    def action_scroll_edge(self, end: int) -> None:
        """Go to the first line (0) or the last (1)."""
        self.scroll_to(y=end * self.line_count, animate=False, force=True)

    def on_focus(self) -> None:
        """Show that keys scroll here."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that keys go elsewhere."""
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say how much is left below from the new place."""
        super().watch_scroll_y(old_value, new_value)
        self.refresh()
