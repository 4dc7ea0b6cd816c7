"""How a transcript is moved over: a cursor on a row, which follows the end or holds the view where it is.

While the view follows, the cursor is on the last row and moves on with it. On any other row it holds the view, whatever
is said meanwhile; what has come below is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Size
from textual.widget import Widget

from supervisor.core.model import EntryKind
from widgets.transcript_lines import MOST_LAID, TranscriptLines
from widgets.transcript_rows import TranscriptRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.core.model import Entry
    from supervisor.core.transcript import Transcript
    from widgets.transcript_items import Item


class TranscriptScroll(TranscriptRows):
    """Rows of one ticket's transcript, and ways to move over them."""

    _moves_itself = False

    def wants(self, ticket_id: str | None) -> int:
        """Return the number of the first entry of that ticket which is not shown yet.

        While there is no room to show anything nothing is wanted: it is read when there is.
        """
        if ticket_id != self._ticket:
            return 0
        return self._source.next_seq if self._source is not None and not self._room else self._lines.next_seq or 0

    def show(
        self, ticket_id: str | None, source: Transcript | None, empty: str = "", waiting: tuple[Entry, ...] = ()
    ) -> None:
        """Show what a ticket's transcript holds now; another ticket than before starts at its end.

        Args:
            ticket_id: The ticket; None shows nothing.
            source: Its transcript, which is read again whenever that has to be.
            empty: What to say while there is nothing in it.
            waiting: Messages to show after it, which the agent has not been given; see `TranscriptItems.wait`.
        """
        if ticket_id != self._ticket:
            self.begin(ticket_id)
        self._source, self._waiting = source, waiting
        if not self._pull() and empty != self._empty:
            self.refresh()
        self._empty = empty

    def begin(self, ticket_id: str | None) -> None:
        """Forget the ticket shown, and begin with another."""
        self._ticket, self._source, self._cursor, self._seen = ticket_id, None, None, 0
        all_open, self._lines = self._lines.all_open, TranscriptLines(self._room)
        self._lines.all_open = all_open
        self._strips.clear()
        self._go_to(0)

    # Moving

    def scroll_lines(self, by: int) -> None:
        """Scroll by rows; the cursor stays in view."""
        self._go_to(self.scroll_offset.y + by)
        self._scrolled(down=by > 0)

    def action_move(self, by: int) -> None:
        """Move the cursor by rows."""
        self._select(self._cursor_place() + by, down=by > 0)

    def action_page(self, by: int) -> None:
        """Move the view by a page, and the cursor with it."""
        here, step = self.here, by * max(1, self._height - 1)
        if here is not None:
            self._go_to(self.scroll_offset.y + step)
            self._select((self._lines.place_of(*here) or 0) + step, down=by > 0)

    def action_top(self) -> None:
        """Go to the oldest entry kept."""
        if self._lines.items:
            self.show_row(self._lines.items[0], 0)

    def action_follow(self) -> None:
        """Go to the newest row and stay there."""
        self._cursor = None
        self._settle()

    def action_move_entry(self, by: int) -> None:
        """Go to the first row of this entry, of the one before, or of the next."""
        here = self.here
        index = self._lines.index(here[0]) if here is not None else None
        if here is None or index is None:
            return
        index += by if by > 0 or here[1] == 0 else 0
        if index >= len(self._lines.items):
            self.action_follow()
        elif index >= 0:
            self.show_row(self._lines.items[index], 0)
            self._select(self._cursor_place(), down=by > 0)

    def show_row(self, item: Item, row: int) -> None:
        """Put the cursor on a row and bring it into view, which then follows no more; nothing if it is gone."""
        if self._lines.index(item) is None:
            return
        if self._lines.place_of(item) is None:
            self._lines.lay_around(item, 2 * self._height)
            self._go_to((self._lines.place_of(item, row) or 0) - self._height // 3)
        self._cursor = (item, row)
        self._reveal()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Keep up with a scroll bar that is dragged, or whatever else moves the view."""
        super().watch_scroll_y(old_value, new_value)
        if not self._moves_itself and round(old_value) != round(new_value):
            self._scrolled(down=new_value > old_value)
            self.call_later(self._settle)

    def on_resize(self) -> None:
        """Lay out again where the width changed."""
        if self._room and self._room != self._lines.width:
            self.lay_again(lambda: self._lines.unlay_all(self._room))
        self._pull()
        self._settle()
        if not self.is_following:
            self._reveal()

    # Changing what is laid out

    def change(self, change: Callable[[], object]) -> None:
        """Change what is known, or how an item looks, and stay with what is in view."""
        top = self._lines.at(self.scroll_offset.y)
        change()
        place = self._lines.place_of(*top) if top is not None else None
        self._settle(place)

    def lay_again(self, change: Callable[[], object]) -> None:
        """Make a change after which nothing is laid out, and stay with the cursor if it is in view."""
        top = self.scroll_offset.y
        anchor = self._cursor if 0 <= self._cursor_place() - top < self._height else None
        anchor = anchor or self._lines.at(top)
        below = (self._lines.place_of(*anchor) or 0) - top if anchor is not None else 0
        change()
        if anchor is not None and not self.is_following:
            self._lines.lay_around(anchor[0], 2 * self._height)
            place = self._lines.place_of(*anchor) or 0
            self._settle(place - min(below, max(0, self._height - 1)))
        else:
            self._settle()

    def _pull(self) -> bool:
        """Take over what the source has that is not here; return whether there was any."""
        source, lines = self._source, self._lines
        if source is None or not self._room:
            return False
        lines.width = lines.width or self._room
        first, following = source.first_seq, self.is_following
        earlier = lines.first_seq - first if lines.first_seq is not None else 0
        is_known = source.next_seq == (first if lines.next_seq is None else lines.next_seq) and earlier <= 0
        if is_known and self._waiting == lines.waiting:
            return False
        # What waits moves down as others come: whoever reads it moves with it.
        is_on_waiting = self._cursor is not None and self._cursor[0].entry.kind is EntryKind.PENDING

        def take() -> None:
            if earlier > 0:
                lines.take_earlier(source.since()[:earlier])
            lines.take(source.since(lines.next_seq))
            lines.forget(first, keep_used=not following)
            if self._waiting != lines.waiting:
                lines.wait(self._waiting)
            if is_on_waiting and self._cursor is not None and lines.index(self._cursor[0]) is None:
                self._cursor = None

        (self.lay_again if is_on_waiting else self.change)(take)
        return True

    def _settle(self, top: int | None = None) -> None:
        """Have laid out what is in view from a place on, and a page around it; or what is at the end, if following."""
        if self.is_following and self._height:
            self._lines.lay_tail(2 * self._height)
            self._scroll(self._lines.height)
        else:
            self._go_to(self.scroll_offset.y if top is None else top)

    def _go_to(self, top: int) -> None:
        """Scroll to a place, with a page laid out on both sides of what is then in view."""
        lines, height = self._lines, self._height
        if top < height:
            top += lines.grow_up(2 * height - top)
        lines.grow_down(top + 2 * height - lines.height)
        if lines.height > 3 * MOST_LAID:
            at = lines.at(top)
            lines.shrink(top, top + height)
            top = (lines.place_of(*at) if at is not None else None) or 0
        self._scroll(top)

    def _scroll(self, top: int) -> None:
        # Not through the reactive: that would lay out the whole screen for every row an agent says.
        rows = self._lines.height
        self.set_reactive(Widget.virtual_size, Size(self.scrollable_content_region.width, rows))
        self.vertical_scrollbar.window_virtual_size = rows
        self._moves_itself = True
        self.scroll_to(y=max(0, min(top, self._last_top)), animate=False, force=True)
        self._moves_itself = False
        self._note_seen()
        self.refresh()

    def _note_seen(self) -> None:
        last = self._lines.at(min(self.scroll_offset.y + self._height, self._lines.height) - 1)
        if self.is_following:
            self._seen = (self._lines.next_seq or 0) - 1
        elif last is not None:
            self._seen = max(self._seen, min(last[0].entry.seq, (self._lines.next_seq or 0) - 1))

    # The cursor

    def _cursor_place(self) -> int:
        place = self._lines.place_of(*self._cursor) if self._cursor is not None else None
        return self._lines.height - 1 if place is None else place

    def _select(self, place: int, *, down: bool) -> None:
        """Put the cursor on a place near to what is in view; on the last one when going down, follow."""
        last = self._lines.height - 1
        if down and place >= last and self._lines.is_at_end:
            self.action_follow()
            return
        self._cursor = self._lines.at(max(0, min(place, last)))
        self._reveal()

    def _reveal(self) -> None:
        place, top, height = self._cursor_place(), self.scroll_offset.y, self._height
        self._go_to(place if place < top else max(top, place - height + 1))

    def _scrolled(self, *, down: bool) -> None:
        """Take the cursor along after the view was moved; follow at the end, and only there."""
        top, height = self.scroll_offset.y, self._height
        if self._lines.is_at_end and top >= self._last_top and (down or self.is_following):
            self._cursor = None
        else:
            self._cursor = self._lines.at(max(top, min(self._cursor_place(), top + height - 1, self._lines.height - 1)))
        self._note_seen()
        self.refresh()
