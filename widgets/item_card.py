"""The card below a list: all there is to know of the selected item. It draws again only what reads differently."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size

from widgets.card_layout import Look, card_lines, card_rule, is_ticking
from widgets.cells import Cell, Tone
from widgets.lines import LineView
from widgets.tones import tone_css

if TYPE_CHECKING:
    from textual.strip import Strip

    from widgets.items import Item

HEADER = 1
"""The rule above the lines, which does not scroll."""


class ItemCard(LineView):
    """One item in full."""

    DEFAULT_CSS = """
    ItemCard { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; height: 1fr; }
    """ + tone_css("ItemCard")
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
        self._item: Item | None = None
        self._look = Look()
        self._lines: list[Cell] = []
        self._laid_out: object = None

    def show(self, item: Item | None, look: Look) -> None:
        """Show an item; another one begins at its top, and so does one with a new notice."""
        is_other = item is None or self._item is None or item.key != self._item.key
        is_told = bool(look.notice) and look.notice != self._look.notice
        self._item, self._look = item, look
        if self._lay_out() or is_other:
            self.refresh()
        if is_other or is_told:
            self.scroll_to(y=0, animate=False, force=True)

    def tick(self, now: float) -> None:
        """Let time pass."""
        if is_ticking(self._item):
            self.show(self._item, replace(self._look, now=now))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say how much is left below from the new place."""
        super().watch_scroll_y(old_value, new_value)
        self.refresh()

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self._lay_out()
        self.refresh()

    def on_focus(self) -> None:
        """Show that keys scroll the card."""
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
        self.scroll_lines(by * max(1, self._room - 1))

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw the rule, which stays, or a line."""
        if y < HEADER:
            below = max(0, len(self._lines) - self._room - top)
            rule = card_rule(self._item, self._look.now, width, is_active=self.has_focus, below=below)
            return self.palette.line(rule, width)
        place = y - HEADER + top
        line = self._lines[place] if place < len(self._lines) else ()
        return self.palette.line(((" ", Tone.PLAIN), *line), width)

    @property
    def _room(self) -> int:
        """Lines that fit below the rule."""
        return max(0, self.scrollable_content_region.height - HEADER)

    def _lay_out(self) -> bool:
        """Make the lines; return whether they read otherwise than before."""
        width = self.scrollable_content_region.width
        if width <= 0:
            return False
        look = self._look if is_ticking(self._item) else replace(self._look, now=0.0)
        shown = (self._item, look, width)
        if shown == self._laid_out:
            return False
        before, self._lines = self._lines, card_lines(self._item, self._look, max(8, width - 1))
        is_first, self._laid_out = self._laid_out is None, shown
        if len(before) != len(self._lines) or is_first:
            self.virtual_size = Size(width, len(self._lines) + HEADER)
        return is_first or before != self._lines
