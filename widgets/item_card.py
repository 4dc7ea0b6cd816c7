"""The card below a list: all there is to know of the selected item. It draws again only what reads differently."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.geometry import Size

from widgets.card_layout import Look, card_lines, card_rule, is_ticking
from widgets.cells import Cell, Tone
from widgets.reading_view import ReadingView
from widgets.tones import tone_css

if TYPE_CHECKING:
    from textual.strip import Strip

    from widgets.items import Item


class ItemCard(ReadingView):
    """One item in full, below a rule that does not scroll."""

    HEADER = 1

    DEFAULT_CSS = """
    ItemCard { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; height: 1fr; }
    """ + tone_css("ItemCard")

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

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self._lay_out()
        self.refresh()

    @property
    def line_count(self) -> int:
        """How many lines the card has."""
        return len(self._lines)

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw the rule, which stays, or a line."""
        if y < self.HEADER:
            rule = card_rule(self._item, self._look.now, width, is_active=self.has_focus, below=self.below)
            return self.palette.line(rule, width)
        place = y - self.HEADER + top
        line = self._lines[place] if place < len(self._lines) else ()
        return self.palette.line(((" ", Tone.PLAIN), *line), width)

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
            self.virtual_size = Size(width, len(self._lines) + self.HEADER)
        return is_first or before != self._lines
