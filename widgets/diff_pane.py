"""The diff of one file, to be scrolled over: wrapped, or cut at the edge and scrolled sideways, alone or with a twin.

Nothing but what is in view is drawn; where lines are broken is known for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.geometry import Size

from widgets.cells import Cell, Piece, Tone
from widgets.diff_text import DiffText
from widgets.reading_view import ReadingView
from widgets.tones import tone_css
from widgets.transcript_wrap import spans, wrap

if TYPE_CHECKING:
    from textual.strip import Strip

    from widgets.diff_text import DiffLine

_TONES = {"+": Tone.ADDED, "-": Tone.REMOVED, "!": Tone.FAINT, "@": Tone.FAINT}
_STEP = 8
"""Cells that one key goes sideways."""
_MARKS = "\u0300"
"""Every character before this one takes one cell."""
_MOST_ROWS = 20
"""Most rows of one line."""
_NOTHING = DiffText()


class DiffPane(ReadingView):
    """Lines with their signs and numbers."""

    DEFAULT_CSS = """
    DiffPane { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    """ + tone_css("DiffPane")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "scroll_pages(1)", "Page down", show=False)]

    def __init__(self, *, wraps: bool = True, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._wraps = wraps
        self._diff = _NOTHING
        self._notice: Cell = ()
        self._key: object = None
        self._rows: list[tuple[int, int, int]] = []
        """By row the line, and from and up to which character of it."""
        self._laid_out: int | None = None
        """The width that rows were broken for."""
        self._digits = 0
        """Cells of the line numbers."""
        self._left = 0
        """Characters that are out of view to the left."""
        self._widest = 0
        self.twin: DiffPane | None = None
        """Is scrolled along."""

    def show(self, key: object, diff: DiffText, notice: Cell = ()) -> None:
        """Show a diff and below it a notice; another ``key`` than before begins at the top."""
        is_other, self._key = key != self._key, key
        if is_other or (diff, notice) != (self._diff, self._notice):
            self._diff, self._notice, self._digits, self._laid_out = diff, notice, diff.digits, None
            self._lay_out()
            self.refresh()
        if is_other:
            self._left = 0
            self.scroll_to(y=0, animate=False, force=True)

    # Scrolling

    @property
    def left(self) -> int:
        """How many characters are out of view to the left."""
        return self._left

    @property
    def line_count(self) -> int:
        """How many rows there are, without the notice below them."""
        return len(self._rows)

    def scroll_sideways(self, by: int) -> None:
        """Scroll by so many steps to the right; a twin goes along."""
        both = [pane for pane in (self, self.twin) if pane is not None]
        room = min(max(1, pane.scrollable_content_region.width - pane._lead) for pane in both)
        left = max(0, min(self._left + by * _STEP, max(pane._widest for pane in both) - room))
        for pane in both:
            if pane._left != left:
                pane._left = left
                pane.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Take the twin along, whatever moved the view."""
        super().watch_scroll_y(old_value, new_value)
        twin = self.twin
        if twin is not None and round(twin.scroll_y) != round(new_value):
            twin.scroll_to(y=new_value, animate=False, force=True)

    def on_resize(self) -> None:
        """Lay out for the new width, and stay with the line at the top."""
        top = self.scroll_offset.y
        at = self._rows[top][0] if self._wraps and top < len(self._rows) else None
        if self._lay_out():
            self.refresh()
            if at is not None and (place := next((i for i, row in enumerate(self._rows) if row[0] == at), None)):
                self.scroll_to(y=place, animate=False, force=True)

    # Drawing

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw a row; a bar on the left says that keys scroll here."""
        bar: Piece = ("▏" if self.has_focus else " ", Tone.ACCENT)
        return self.palette.line((bar, *self._cell(y + top, width - 1)), width)

    def _cell(self, place: int, width: int) -> Cell:
        if place >= len(self._rows):
            lines = self._notice_lines(width)
            below = place - len(self._rows)
            return lines[below] if below < len(lines) else ()
        number, start, end = self._rows[place]
        line = self._diff.lines[number]
        tone = _TONES.get(line.sign, Tone.MUTED)
        if line.sign == "@":
            return ((" " * self._digits + " ⋯ ", Tone.FAINT), (line.text, Tone.FAINT))
        if not line.sign:
            return ()
        text = line.text[start:end] if self._wraps else line.text[self._left :]
        sign = " " if line.sign == "!" else line.sign
        first = not start
        gutter = f"{self._number(line) if first else '':>{self._digits}} "
        return ((gutter, Tone.FAINT), (f"{sign if first else ' '} ", tone), (text, tone))

    def _number(self, line: DiffLine) -> str:
        return str(line.new or line.old or "")

    @property
    def _lead(self) -> int:
        """Cells before the text: the bar, the number, the sign."""
        return self._digits + 4

    def _notice_lines(self, width: int) -> list[Cell]:
        words = list(self._notice)
        if self._diff.left:
            words.append((f"… {self._diff.left} more lines are not shown", Tone.FAINT))
        return [((f" {line}", tone),) for text, tone in words for line in wrap([text], max(4, width - 1))]

    def _lay_out(self) -> bool:
        """Find where lines are broken; return whether that had to be done."""
        width = self.scrollable_content_region.width
        if not width or width == self._laid_out:
            return False
        self._laid_out = width
        room = max(2, width - self._lead)
        if self._wraps:
            self._rows = [row for number, line in enumerate(self._diff.lines) for row in _broken(number, line, room)]
        else:
            self._rows = [(number, 0, 0) for number in range(len(self._diff.lines))]
            self._widest = max((cell_len(line.text) for line in self._diff.lines), default=0)
        self.virtual_size = Size(width, len(self._rows) + len(self._notice_lines(width - 1)))
        return True


def _broken(number: int, line: DiffLine, room: int) -> list[tuple[int, int, int]]:
    """Return the rows of a line. Where every character takes one cell it is cut at the edge: that is cheap."""
    length = len(line.text)
    if line.sign == "@" or not line.sign:
        return [(number, 0, length)]
    if line.text.isascii() or max(line.text) < _MARKS:
        places = range(0, max(1, length), room)
        return [(number, start, min(start + room, length)) for start in places[:_MOST_ROWS]]
    return [(number, start, end) for start, end in spans(line.text, room)][:_MOST_ROWS]
