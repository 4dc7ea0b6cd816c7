"""One line of words in their tones, drawn again only when they read differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from widgets.cells import Cell, Tone, width_of
from widgets.lines import LineBar
from widgets.tones import tone_css

if TYPE_CHECKING:
    from textual.strip import Strip


class WordsLine(LineBar):
    """Words on the left, and others on the right where there is room for them."""

    DEFAULT_CSS = """
    WordsLine { height: 1; }
    """ + tone_css("WordsLine")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._left: Cell = ()
        self._right: Cell = ()

    def show(self, left: Cell, right: Cell = ()) -> None:
        """Show these words, safe to draw."""
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        width = self.content_size.width
        room = width - width_of(self._left) - width_of(self._right)
        if self._right and room >= 2:
            return self.palette.line((*self._left, (" " * room, Tone.PLAIN), *self._right), width)
        return self.palette.line(self._left, width)
