"""The part of a conversation that is laid out. Pure; no widget.

Items that are in use are laid out for one width: they are what can be scrolled over right now. The others are laid out
when somebody goes there, so that neither a burst of messages, nor another ticket, nor another width costs more than
what can be seen.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, count
from typing import TYPE_CHECKING

from widgets.transcript_items import Item, TranscriptItems
from widgets.transcript_layout import lay_out, opens_by_itself

if TYPE_CHECKING:
    from widgets.cells import Cell

MOST_LAID = 4_000
"""Rows that are kept laid out beyond what is in view."""

_editions = count(1)


class TranscriptLines(TranscriptItems):
    """The items of one conversation. A *place* is a row's index among those that are laid out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.all_open = False
        """Whether everything is unfolded, but for what the operator folded."""
        self._starts: list[int] | None = None
        """Place of each laid item's first row, and the number of rows; None when it has to be counted again."""

    def item_changed(self, item: Item) -> None:
        """Lay an item out again, if it was."""
        if item.rows is not None:
            self._lay(item)

    def items_moved(self) -> None:
        """Count places again."""
        self._starts = None

    # What is laid out

    @property
    def height(self) -> int:
        """How many rows are laid out."""
        return self._places()[-1]

    @property
    def is_at_start(self) -> bool:
        """Whether there is nothing before the rows that are laid out."""
        return self.lo == 0

    @property
    def is_at_end(self) -> bool:
        """Whether there is nothing after them."""
        return self.hi == len(self.items)

    def at(self, place: int) -> tuple[Item, int] | None:
        """Return the item in a place, and which of its rows; None outside of what is laid out."""
        starts = self._places()
        if not 0 <= place < starts[-1]:
            return None
        number = bisect_right(starts, place) - 1
        return self.items[self.lo + number], place - starts[number]

    def place_of(self, item: Item, row: int = 0) -> int | None:
        """Return the place of an item's row, or of its last one if it has fewer; None if it is not laid out."""
        if item.rows is None:
            return None
        index = self.index(item)
        if index is None or not self.lo <= index < self.hi:
            return None
        return self._places()[index - self.lo] + min(row, len(item.rows) - 1)

    def lay_tail(self, rows: int) -> None:
        """Have at least so many rows laid out at the end; what came too long before them is not any more."""
        start, laid = len(self.items), 0
        while start > 0 and laid < rows:
            start -= 1
            laid += len(self._laid(start))
        if start > self.hi:
            self._unlay(self.lo, self.hi)
            self.lo = start
        else:
            self.lo = min(self.lo, start)
        self.hi = len(self.items)
        self._starts = None
        while self.height > MOST_LAID + rows:
            self._unlay(self.lo, self.lo + 1)
            self.lo += 1
            self._starts = None

    def lay_around(self, item: Item, rows: int) -> None:
        """Lay out nothing but an item and so many rows before it and from it on, as far as there are."""
        index = self.index(item) or 0
        self._unlay(self.lo, self.hi)
        self.lo = self.hi = index
        self._starts = None
        self.grow_down(rows)
        self.grow_up(rows)

    def grow_up(self, rows: int) -> int:
        """Lay out about so many rows more before the first one; return how many there are."""
        added = 0
        while self.lo > 0 and added < rows:
            self.lo -= 1
            added += len(self._laid(self.lo))
        self._starts = None
        return added

    def grow_down(self, rows: int) -> int:
        """Lay out about so many rows more after the last one; return how many there are."""
        added = 0
        while self.hi < len(self.items) and added < rows:
            added += len(self._laid(self.hi))
            self.hi += 1
        self._starts = None
        return added

    def shrink(self, first: int, last: int) -> None:
        """Keep at most `MOST_LAID` rows beyond those between two places, on each side."""
        top, bottom = self.at(first - MOST_LAID), self.at(last + MOST_LAID)
        if bottom is not None:
            end = self.items.index(bottom[0]) + 1
            self._unlay(end, self.hi)
            self.hi = end
        if top is not None:
            start = self.items.index(top[0])
            self._unlay(self.lo, start)
            self.lo = start
        self._starts = None

    # Folding

    def is_open(self, item: Item) -> bool:
        """Return whether all of an item is shown."""
        if item.choice is not None:
            return item.choice
        return self.all_open or opens_by_itself(item.entry, item.result)

    def fold(self, item: Item, choice: bool | None) -> None:
        """Unfold an item (True), fold it (False), or leave it to itself (None)."""
        item.choice = choice
        self.item_changed(item)

    def fold_all(self, all_open: bool) -> None:
        """Unfold everything, or leave everything to itself. Nothing is laid out afterwards."""
        self.all_open = all_open
        for item in self.items:
            item.choice = None
        self.unlay_all()

    def unlay_all(self, width: int | None = None) -> None:
        """Lay out nothing any more, and from now on for another width if one is given."""
        self._unlay(self.lo, self.hi)
        self.hi = self.lo
        self.width = width or self.width
        self._starts = None

    # Inside

    def _laid(self, index: int) -> list[Cell]:
        item = self.items[index]
        return item.rows if item.rows is not None else self._lay(item)

    def _lay(self, item: Item) -> list[Cell]:
        item.rows = lay_out(item.entry, item.result, self.width, self.is_open(item))
        item.edition = next(_editions)
        self._starts = None
        return item.rows

    def _unlay(self, start: int, end: int) -> None:
        for item in self.items[start:end]:
            item.rows = None

    def _places(self) -> list[int]:
        if self._starts is None:
            laid = self.items[self.lo : self.hi]
            self._starts = list(accumulate((len(item.rows or ()) for item in laid), initial=0))
        return self._starts
