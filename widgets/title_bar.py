"""The first line of a screen: its name, how many there are, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from widgets.cells import Cell, Piece, Tone
from widgets.lines import LineBar
from widgets.tones import tone_css

if TYPE_CHECKING:
    from textual.strip import Strip


class TitleBar(LineBar):
    """A name, a count, and a few words on the right."""

    DEFAULT_CSS = """
    TitleBar { height: 1; padding: 0 1; }
    """ + tone_css("TitleBar")

    def __init__(self, name: str, words: str = "", *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._title, self._words = name, words
        self._count = 0
        self._tone = Tone.PLAIN

    def show(self, count: int, tone: Tone = Tone.PLAIN) -> None:
        """Show how many there are."""
        if (count, tone) != (self._count, self._tone):
            self._count, self._tone = count, tone
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        width = self.content_size.width
        count: Piece = (f"  {self._count}", self._tone)
        left: Cell = ((self._title, Tone.STRONG), count)
        room = width - cell_len(self._title) - len(count[0]) - cell_len(self._words)
        right: Cell = ((" " * room, Tone.PLAIN), (self._words, Tone.FAINT)) if room >= 2 else ()
        return self.palette.line((*left, *right), width)
