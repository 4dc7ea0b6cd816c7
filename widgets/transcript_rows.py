"""How a transcript is drawn: rows of its items, the cursor on one of them, and what has come below."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.strip import Strip

from widgets.cells import Cell, Piece, Tone
from widgets.lines import LineView
from widgets.tones import TONE_CLASSES, tone_css
from widgets.transcript_items import Item
from widgets.transcript_lines import TranscriptLines

if TYPE_CHECKING:
    from supervisor.core.model import Entry
    from supervisor.core.transcript import Transcript

Row = tuple[Item, int]
"""An item, and one of its rows."""
_MARGIN: Piece = (" ", Tone.PLAIN)
_CURSOR: Piece = ("▸", Tone.ACCENT)


class TranscriptRows(LineView):
    """Rows of one ticket's transcript. Moving over them is left to others."""

    COMPONENT_CLASSES: ClassVar[set[str]] = TONE_CLASSES | {"transcript--hint", "transcript--cursor"}
    DEFAULT_CSS = """
    TranscriptRows { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; height: 1fr; }
    TranscriptRows .transcript--hint { background: $panel; color: $text-accent; }
    TranscriptRows .transcript--cursor { background: $block-cursor-blurred-background; }
    """ + tone_css("TranscriptRows")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._ticket: str | None = None
        self._source: Transcript | None = None
        self._empty = ""
        self._waiting: tuple[Entry, ...] = ()
        """Messages that the agent has not been given."""
        self._lines = TranscriptLines(0)
        self._cursor: Row | None = None
        """None while following."""
        self._seen = 0
        """Number of the last entry that was in view."""
        self._strips: dict[tuple[int, int], Strip] = {}
        """By the edition of an item and its row."""

    @property
    def ticket(self) -> str | None:
        """Id of the ticket shown."""
        return self._ticket

    @property
    def is_following(self) -> bool:
        """Whether new rows scroll into view by themselves."""
        return self._cursor is None

    @property
    def unseen(self) -> int:
        """Entries that came below while not following."""
        return 0 if self.is_following else self._lines.count_after(self._seen)

    @property
    def here(self) -> Row | None:
        """The row under the cursor; None where there is none."""
        return self._cursor or self._lines.at(self._lines.height - 1)

    def on_focus(self) -> None:
        """Show the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Hide it."""
        self.refresh()

    def mark(self, item: Item, row: int) -> Cell:
        """Return a row as it is to be drawn."""
        return (item.rows or [()])[row]

    def forget_lines(self) -> None:
        """Draw every row anew when it is next shown."""
        self._strips.clear()

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw a row, with the hint of what is below over the end of the last one."""
        at = self._lines.at(y + top)
        if at is None:
            empty: Cell = ((f" {self._empty}", Tone.FAINT),) if not self._lines.items and y == 0 else ()
            return self.palette.line(empty, width)
        strip = self._cursor_strip(at, width) if self._has_cursor(at) else self._strip(at, width)
        unseen = self.unseen if y == self._height - 1 else 0
        return self._with_hint(strip, unseen, width) if unseen else strip

    def _strip(self, at: Row, width: int) -> Strip:
        key = (at[0].edition, at[1])
        strip = self._strips.get(key)
        if strip is None or strip.cell_length != width:
            if len(self._strips) > 4 * self._height + 100:
                self._strips.clear()
            strip = self._strips[key] = self.palette.line((_MARGIN, *self.mark(*at)), width)
        return strip

    def _has_cursor(self, at: Row) -> bool:
        here = self.here if self.has_focus else None
        return here is not None and here[0] is at[0] and min(here[1], len(at[0].rows or ()) - 1) == at[1]

    def _cursor_strip(self, at: Row, width: int) -> Strip:
        under = self.get_component_rich_style("transcript--cursor", partial=True)
        return self.palette.strip((_CURSOR, *self.mark(*at)), width, under)

    def _with_hint(self, strip: Strip, unseen: int, width: int) -> Strip:
        words = f" ▼ {unseen} new below · end "
        hint = self.palette.strip([(words, Tone.PLAIN)], cell_len(words), self.palette["transcript--hint"])
        return Strip.join([strip.crop(0, max(0, width - hint.cell_length)), hint]).crop(0, width)

    # Measures

    @property
    def _room(self) -> int:
        """Cells of a row after the margin; 0 before the first layout."""
        width = self.scrollable_content_region.width
        return max(8, width - 1) if width else 0

    @property
    def _height(self) -> int:
        return self.scrollable_content_region.height

    @property
    def _last_top(self) -> int:
        return max(0, self._lines.height - self._height)
