"""A bounded list of laid-out transcript lines that grows at both ends. Pure: no widget, no screen.

Adding an entry costs only that entry. Another ticket's transcript begins with its tail; what is older is laid out when
somebody goes there, so that moving the cursor over a batch stays quick however much was said.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.model import Entry, EntryKind
from widgets.transcript_layout import call, error_lines, lay_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from widgets.cells import Cell

MAX_LINES = 4_000
"""Lines kept; when there are more, the oldest quarter goes."""
PAGE_CHARS = 12_000
"""Characters laid out at once of what is not new."""


class TranscriptLines:
    """Lines of one ticket's transcript for one width.

    A line's *number* names it for good, whatever comes or goes before it; its *place* is its index now.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[Cell] = []
        self.next_seq = 0
        """Seq of the first entry that is not here yet."""
        self.first_number = 0
        """Number of the line in place 0."""
        self._owners: list[int] = []
        """For each line the seq of the entry it came from."""
        self._entries: deque[Entry] = deque()
        self._older: list[Entry] = []
        self._calls: dict[str, tuple[int, Entry]] = {}
        """Calls without a result: the number of their line, and the entry."""

    @property
    def has_older(self) -> bool:
        """Whether there is more before the first line."""
        return bool(self._older)

    def begin(self, entries: Sequence[Entry]) -> None:
        """Start with a tail of these entries; the others wait until `load_older`."""
        start = _page_start(entries, len(entries))
        self._older = list(entries[:start])
        self.append(entries[start:])

    def append(self, entries: Iterable[Entry]) -> list[int]:
        """Add new entries; return the numbers of earlier lines that read differently now."""
        changed: list[int] = []
        for entry in entries:
            self._entries.append(entry)
            self.next_seq = entry.seq + 1
            known = self._calls.pop(entry.tool_use_id or "", None) if entry.kind is EntryKind.RESULT else None
            if known is not None:
                changed.append(known[0])
                self._close_call(*known, entry)
                continue
            if entry.kind is EntryKind.TOOL and entry.tool_use_id:
                self._calls[entry.tool_use_id] = (self.first_number + len(self.lines), entry)
            self._put(entry, lay_out(entry, self.width))
        return changed

    def load_older(self) -> int:
        """Lay out one more page before the first line; return how many lines that made."""
        if not self._older:
            return 0
        start = _page_start(self._older, len(self._older))
        page = TranscriptLines(self.width)
        page.append(self._older[start:])
        del self._older[start:]
        self.lines[:0] = page.lines
        self._owners[:0] = page._owners
        self._entries.extendleft(reversed(page._entries))
        self.first_number -= len(page.lines)
        return len(page.lines)

    def trim(self) -> int:
        """Drop the oldest lines if there are too many; return how many went."""
        if len(self.lines) <= MAX_LINES:
            return 0
        gone = len(self.lines) - MAX_LINES * 3 // 4
        del self.lines[:gone], self._owners[:gone]
        self.first_number += gone
        self._older.clear()
        while self._entries and self._entries[0].seq < self._owners[0]:
            self._entries.popleft()
        self._calls = {key: known for key, known in self._calls.items() if known[0] >= self.first_number}
        return gone

    def reflowed(self, width: int) -> TranscriptLines:
        """Return the same entries laid out for another width."""
        other = TranscriptLines(width)
        other._older = self._older
        other.append(self._entries)
        other.next_seq = self.next_seq
        return other

    def owner(self, place: int) -> int | None:
        """Return the seq of the entry that the line in a place came from."""
        return self._owners[place] if 0 <= place < len(self._owners) else None

    def place_of(self, seq: int) -> int:
        """Return the place of the first line of an entry, or of the next one after it."""
        return next((place for place, owner in enumerate(self._owners) if owner >= seq), len(self._owners))

    def _close_call(self, number: int, tool: Entry, result: Entry) -> None:
        """Write what came of a call on its own line; what went wrong is told where it happened."""
        place = number - self.first_number
        lead = self.lines[place][:1] if tool.nested else ()
        room = self.width - sum(cell_len(text) for text, _ in lead)
        self.lines[place] = lead + call(tool, result, room)
        if result.is_error:
            self._put(result, [lead + line for line in error_lines(result, room)])

    def _put(self, entry: Entry, lines: list[Cell]) -> None:
        self.lines.extend(lines)
        self._owners.extend([entry.seq] * len(lines))


def _page_start(entries: Sequence[Entry], end: int) -> int:
    """Return where the page that ends before ``end`` begins. A result is not parted from the call before it."""
    chars, start = 0, end
    while start > 0 and (chars < PAGE_CHARS or entries[start].kind is EntryKind.RESULT):
        start -= 1
        chars += len(entries[start].text) + 100
    return start
