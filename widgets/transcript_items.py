"""What a transcript view knows of one ticket's conversation: its items, and which of them are in use. Pure.

Items from ``lo`` to ``hi`` are in use: laid out, perhaps being read. Whatever comes or goes, those two stay with them.
Only messages that wait move: they stand after everything else, and are out of use whenever something comes before them.
"""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING

from supervisor.core.model import Entry, EntryKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from widgets.cells import Cell

AFTER_ALL = sys.maxsize
"""The number of an entry that waits: above all that are given out."""


class Item:
    """An entry as it is shown: alone, or a call together with its result."""

    __slots__ = ("choice", "edition", "entry", "result", "rows", "skipped")

    def __init__(self, entry: Entry, skipped: int = 0) -> None:
        self.entry = entry
        self.result: Entry | None = None
        self.choice: bool | None = None
        """Whether the operator unfolded or folded it; None for neither."""
        self.skipped = skipped
        """How many items this one stands for, which are gone from memory."""
        self.rows: list[Cell] | None = None
        """How it looks, if it is laid out."""
        self.edition = 0
        """Changes with ``rows``."""


class TranscriptItems:
    """The items of one conversation, oldest first."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.lo = self.hi = 0
        self.next_seq: int | None = None
        """Number of the first entry that is not here yet; None while there was none."""
        self.first_seq: int | None = None
        """Lowest number there ever was here."""
        self.waiting: tuple[Entry, ...] = ()
        """Messages that the agent has not been given; their items are the last ones."""
        self._calls: dict[str, Item] = {}

    def item_changed(self, item: Item) -> None:
        """Called when an item has got its result."""

    def items_moved(self) -> None:
        """Called when items came or went before others."""

    def take(self, entries: Iterable[Entry]) -> int:
        """Add new entries, none of which is in use; return how many items that made.

        The result of a call that is known becomes part of its item. Numbers that are missing are told by an item too.
        """
        waiting = self._cut_waiting()
        before = len(self.items)
        for entry in entries:
            if self.next_seq is None:
                self.first_seq = entry.seq
            elif entry.seq > self.next_seq:
                self.items.append(_left_out(entry.seq - 1, entry.at, entry.seq - self.next_seq))
            self.next_seq = entry.seq + 1
            call = self._calls.get(entry.tool_use_id or "") if entry.kind is EntryKind.RESULT else None
            if call is not None and call.result is None:
                call.result = entry
                self.item_changed(call)
            else:
                self.items.append(self._item(entry))
        made = len(self.items) - before
        self.items += waiting
        return made

    def wait(self, entries: Sequence[Entry]) -> None:
        """Have these messages wait after everything else, instead of others: of kind PENDING, numbered `AFTER_ALL`.

        One that waits already keeps its item.
        """
        known = self._cut_waiting()
        for entry in entries:
            item = next((item for item in known if item.entry == entry), None) or Item(entry)
            if item in known:
                known.remove(item)
            self.items.append(item)
        self.waiting = tuple(entries)

    def take_earlier(self, entries: Sequence[Entry]) -> None:
        """Add entries that come before the first one; a result that stood alone goes to its call."""
        if not entries:
            return
        alone = {i.entry.tool_use_id: i for i in self.items if i.entry.kind is EntryKind.RESULT}
        earlier = TranscriptItems()
        earlier.take(entries)
        for item in earlier.items:
            found = alone.get(item.entry.tool_use_id) if item.entry.kind is EntryKind.TOOL else None
            if found is not None and item.result is None:
                item.result = found.entry
                index = self.items.index(found)
                self._drop(index, index + 1)
        self._calls = earlier._calls | self._calls
        self.items[:0] = earlier.items
        self.lo += len(earlier.items)
        self.hi += len(earlier.items)
        self.first_seq = entries[0].seq
        if self.next_seq is None:
            self.next_seq = earlier.next_seq

    def forget(self, before: int, *, keep_used: bool) -> None:
        """Forget items whose entries are numbered below ``before``.

        Args:
            before: Number of the first entry that is still in memory elsewhere.
            keep_used: Whether what is in use stays all the same, since it is being read. Items after it that are gone
                are then replaced by one that says so.
        """
        end = self._first_from(before)
        self._drop(0, min(end, self.lo) if keep_used else end)
        if keep_used:
            self._skip(before)

    def count_after(self, seq: int) -> int:
        """Return how many items came after an entry, but for messages that wait."""
        found = 0
        for item in islice(reversed(self.items), len(self.waiting), None):
            if item.entry.seq <= seq:
                break
            found += item.skipped or 1
        return found

    def index(self, item: Item) -> int | None:
        """Return where an item stands among all; None if it is not here any more."""
        try:
            return self.items.index(item)
        except ValueError:
            return None

    def _cut_waiting(self) -> list[Item]:
        """Take out what waits, and return it out of use."""
        start = len(self.items) - len(self.waiting)
        waiting = self.items[start:]
        self._drop(start, len(self.items))
        for item in waiting:
            item.rows = None
        return waiting

    def _item(self, entry: Entry) -> Item:
        item = Item(entry)
        if entry.kind is EntryKind.TOOL and entry.tool_use_id:
            self._calls[entry.tool_use_id] = item
        return item

    def _first_from(self, seq: int) -> int:
        """Return the index of the first item that is numbered ``seq`` or higher."""
        return next((i for i, item in enumerate(self.items) if item.entry.seq >= seq), len(self.items))

    def _drop(self, start: int, end: int) -> None:
        """Take items out, in use or not."""
        if start >= end:
            return
        for item in self.items[start:end]:
            key = item.entry.tool_use_id
            if key and self._calls.get(key) is item:
                del self._calls[key]
        del self.items[start:end]
        self.lo -= max(0, min(self.lo, end) - start)
        self.hi -= max(0, min(self.hi, end) - start)
        self.items_moved()

    def _skip(self, before: int) -> None:
        """Put one item in the place of those after ``hi`` that are gone."""
        end = max(self.hi, self._first_from(before))
        gone = self.items[self.hi : end]
        if not gone or (len(gone) == 1 and gone[0].skipped):
            return
        self._drop(self.hi, end)
        last = gone[-1].entry
        self.items.insert(self.hi, _left_out(last.seq, last.at, sum(item.skipped or 1 for item in gone)))


def _left_out(seq: int, at: float, number: int) -> Item:
    """Return what stands for entries that are gone, of which ``seq`` was the last."""
    words = f"{number} entr{'ies are' if number > 1 else 'y is'} no longer in memory"
    return Item(Entry(seq, at, EntryKind.NOTE, words), number)
