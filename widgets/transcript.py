"""The live tail of one ticket's conversation.

It follows the end until the operator scrolls up, says then how much has come below, and lays out what is older only
when somebody goes there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from widgets.cells import Cell, Piece, Tone
from widgets.lines import LineView
from widgets.tones import TONE_CLASSES, tone_css
from widgets.transcript_lines import TranscriptLines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.core.model import Entry

_BLANK: Piece = (" ", Tone.PLAIN)


class TranscriptView(LineView):
    """What the agent of one ticket says and does."""

    COMPONENT_CLASSES: ClassVar[set[str]] = TONE_CLASSES | {"transcript--hint"}
    DEFAULT_CSS = """
    TranscriptView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; height: 1fr; }
    TranscriptView .transcript--hint { background: $panel; color: $text-accent; }
    """ + tone_css("TranscriptView")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_lines(1)", "Down", show=False),
        Binding("k,up", "scroll_lines(-1)", "Up", show=False),
        Binding("pagedown,ctrl+d", "scroll_pages(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "scroll_pages(-1)", "Page up", show=False),
        Binding("home", "top", "Oldest", show=False),
        Binding("end,G", "follow", "Newest, and follow", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._ticket: str | None = None
        self._empty = ""
        self._text = TranscriptLines(0)
        self._waiting: list[Entry] = []
        """Entries that came before the first layout, when no width was known."""
        self._strips: dict[int, Strip] = {}
        self._is_following = True
        self._unseen = 0

    # What others see and do

    @property
    def ticket(self) -> str | None:
        """Id of the ticket shown."""
        return self._ticket

    @property
    def is_following(self) -> bool:
        """Whether new lines scroll into view by themselves."""
        return self._is_following

    @property
    def unseen(self) -> int:
        """Lines that came below while not following."""
        return self._unseen

    def wants(self, ticket_id: str | None) -> int:
        """Return the seq of the first entry of that ticket which is not shown yet."""
        if ticket_id != self._ticket:
            return 0
        return self._waiting[-1].seq + 1 if self._waiting else self._text.next_seq

    def show(self, ticket_id: str | None, entries: Sequence[Entry], empty: str = "") -> None:
        """Append a ticket's new entries; another ticket than before starts from an empty view.

        Args:
            ticket_id: The ticket; None shows nothing.
            entries: Entries from ``wants(ticket_id)`` on, oldest first. Those already shown are left out.
            empty: What to say while there are none.
        """
        is_other, reads_otherwise = ticket_id != self._ticket, empty != self._empty
        self._empty = empty
        if is_other:
            self._forget_ticket(ticket_id)
        wanted = self.wants(ticket_id)
        fresh = [entry for entry in entries if entry.seq >= wanted]
        if fresh and self._room:
            self._take(fresh)
        elif fresh:
            self._waiting += fresh
        if fresh or is_other:
            self._settle()
        elif reads_otherwise and not self._text.lines:
            self.refresh()

    # Keys, mouse, size

    def scroll_lines(self, by: int) -> None:
        """Scroll by lines, laying out what is older where that is met."""
        self._go_to(self.scroll_offset.y + by)

    def action_scroll_lines(self, by: int) -> None:
        """Scroll by lines."""
        self.scroll_lines(by)

    def action_scroll_pages(self, by: int) -> None:
        """Scroll by pages."""
        self._go_to(self.scroll_offset.y + by * max(1, self._height - 1))

    def action_top(self) -> None:
        """Go to the oldest line kept."""
        while self._text.has_older:
            self._load_older()
        self._go_to(0)

    def action_follow(self) -> None:
        """Go to the newest line and stay there."""
        self._go_to(len(self._text.lines))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow at the end, and only there, however the view came to where it is."""
        super().watch_scroll_y(old_value, new_value)
        at_end = round(new_value) >= self._last_top
        if at_end != self._is_following:
            self._is_following = at_end
            self.refresh()
        if at_end:
            self._unseen = 0

    def on_resize(self) -> None:
        """Lay out again where the width changed."""
        if self._room and self._room != self._text.width:
            self._reflow()
        self._settle()

    # Drawing

    def forget_lines(self) -> None:
        """Draw every line anew when it is next shown."""
        self._strips.clear()

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw a line, with the hint of what is below over the end of the last one."""
        place = y + top
        if place >= len(self._text.lines):
            empty: Cell = ((f" {self._empty}", Tone.FAINT),) if not self._text.lines and y == 0 else ()
            return self.palette.line(empty, width)
        number = place + self._text.first_number
        strip = self._strips.get(number)
        if strip is None or strip.cell_length != width:
            strip = self._strips[number] = self.palette.line((_BLANK, *self._text.lines[place]), width)
        if self._unseen and not self._is_following and y == self._height - 1:
            return self._with_hint(strip, width)
        return strip

    def _with_hint(self, strip: Strip, width: int) -> Strip:
        words = f" ↓ {self._unseen} new below · end "
        hint = self.palette.strip([(words, Tone.PLAIN)], cell_len(words), self.palette["transcript--hint"])
        return Strip.join([strip.crop(0, max(0, width - hint.cell_length)), hint]).crop(0, width)

    # Lines

    @property
    def _room(self) -> int:
        """Cells of a line after the blank one on the left; 0 before the first layout."""
        width = self.scrollable_content_region.width
        return max(8, width - 1) if width else 0

    @property
    def _height(self) -> int:
        return self.scrollable_content_region.height

    @property
    def _last_top(self) -> int:
        return max(0, len(self._text.lines) - self._height)

    def _forget_ticket(self, ticket_id: str | None) -> None:
        self._ticket = ticket_id
        self._text = TranscriptLines(self._room)
        self._waiting.clear()
        self._strips.clear()
        self._is_following, self._unseen = True, 0

    def _take(self, entries: Sequence[Entry]) -> None:
        if not self._text.next_seq:
            self._text.begin(entries)
            return
        before = len(self._text.lines)
        for number in self._text.append(entries):
            self._strips.pop(number, None)
        if not self._is_following:
            self._unseen += len(self._text.lines) - before
        self._shift(-self._text.trim())

    def _reflow(self) -> None:
        """Lay out everything for the width there is now, and stay with what was at the top."""
        top = self._text.owner(self.scroll_offset.y)
        self._text = self._text.reflowed(self._room)
        self._strips.clear()
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._take(waiting)
        self._measure()
        if not self._is_following and top is not None:
            self._go_to(self._text.place_of(top))

    def _load_older(self) -> None:
        added = self._text.load_older()
        self._measure()
        self._shift(added)

    def _shift(self, by: int) -> None:
        """Keep the same lines in view when some came or went above them."""
        if by and not self._is_following:
            self.scroll_to(y=max(0, self.scroll_offset.y + by), animate=False, force=True)

    def _settle(self) -> None:
        """Take over the new height, fill the view, and go to the end where that is wanted."""
        if len(self._strips) > 4 * self._height + 100:
            self._strips.clear()
        while self._text.has_older and len(self._text.lines) < self._height:
            self._text.load_older()
        following = self._is_following
        self._measure()
        if following:
            self.scroll_to(y=self._last_top, animate=False, force=True)
            self._is_following = True
        self.refresh()

    def _measure(self) -> None:
        # Not through the reactive: that would lay out the whole screen for every line an agent says.
        self.set_reactive(Widget.virtual_size, Size(self.scrollable_content_region.width, len(self._text.lines)))
        self.vertical_scrollbar.window_virtual_size = len(self._text.lines)

    def _go_to(self, line: int) -> None:
        while line < self._height and self._text.has_older:
            before = self.scroll_offset.y
            self._is_following = False
            self._load_older()
            line += self.scroll_offset.y - before
        self.scroll_to(y=max(0, min(line, self._last_top)), animate=False, force=True)
