"""Finding words in a transcript as it reads on the screen. Pure.

Words are looked for in rows, also where a row ends in the middle of them. Which items can hold them at all is told by
their raw text first, so that only those are laid out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from widgets.cells import Cell, Piece, Tone, drawable, joined
from widgets.transcript_layout import lay_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from supervisor.core.model import Entry
    from widgets.transcript_items import Item
    from widgets.transcript_lines import TranscriptLines

Span = tuple[int, int, int]
"""A row, and the characters of it from and up to which something was found."""
QUERY_CHARS = 200
"""Most characters of a query."""
_GAP = r"[\s│]+"
"""What may stand between two words: also the break of a row, and what the next one begins with."""
_LEAD = re.compile(r"[\s│]*")
_IGNORED = re.compile('[\\s*`#>~_|"\\\\•\ufe0e\ufe0f-]+')
"""What Markdown may take away or put elsewhere, so that it tells nothing about raw text."""


@dataclass(frozen=True, slots=True)
class Find:
    """A place where the words stand."""

    item: Item
    row: int
    """Which row of the item when it is unfolded."""


class Search:
    """What one query finds in one conversation, kept up as that grows."""

    def __init__(self, query: str) -> None:
        words = drawable(query[:QUERY_CHARS]).split()
        self.query = " ".join(words)
        """What is looked for; a capital in it makes capitals count."""
        fold = re.NOFLAG if any(map(str.isupper, self.query)) else re.IGNORECASE
        self._pattern = re.compile(_GAP.join(map(re.escape, words)), fold) if words else None
        self._raw = _raw(self.query)
        self._width = 0
        self._found: dict[Item, tuple[tuple[Entry, Entry | None], list[int]]] = {}

    def finds(self, lines: TranscriptLines) -> list[Find]:
        """Return all places, oldest first. What has not changed since the last call is not looked at again."""
        if lines.width != self._width:
            self._width = lines.width
            self._found.clear()
        before, self._found = self._found, {}
        for item in lines.items:
            state = (item.entry, item.result)
            known = before.get(item)
            self._found[item] = known if known and known[0] == state else (state, self._rows_of(item))
        return [Find(item, row) for item, (_, rows) in self._found.items() for row in rows]

    def spans(self, rows: Sequence[Cell]) -> list[Span]:
        """Return where the words stand in the rows of an item."""
        return [span for match in self._matches(rows) for span in match]

    def _rows_of(self, item: Item) -> list[int]:
        if not self._may_hold(item):
            return []
        rows = lay_out(item.entry, item.result, self._width, is_open=True)
        return sorted({match[0][0] for match in self._matches(rows)})

    def _may_hold(self, item: Item) -> bool:
        texts = [item.entry.text, item.entry.detail.replace("\\n", " "), item.result.text if item.result else ""]
        texts += [e.diff.text for e in (item.entry, item.result) if e is not None and e.diff is not None]
        return self._pattern is not None and any(self._raw in _raw(text) for text in texts)

    def _matches(self, rows: Sequence[Cell]) -> Iterator[list[Span]]:
        """Yield each find as one span, or one for each row that it goes over."""
        texts = [joined(row) for row in rows]
        starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
        for match in self._pattern.finditer("\n".join(texts)) if self._pattern is not None else ():
            row = bisect_right(starts, match.start()) - 1
            spans = [(row, match.start() - starts[row], min(match.end() - starts[row], len(texts[row])))]
            while match.end() > starts[row + 1]:
                row += 1
                lead = _LEAD.match(texts[row])
                spans.append((row, lead.end() if lead else 0, min(match.end() - starts[row], len(texts[row]))))
            yield spans


def _raw(text: str) -> str:
    return _IGNORED.sub("", text).casefold()


def marked(row: Cell, spans: Sequence[tuple[int, int]], tone: Tone) -> Cell:
    """Return a row with some of its characters in another tone. The spans do not overlap."""
    pieces: list[Piece] = []
    place = 0
    for text, own in row:
        end = place + len(text)
        at = place
        for begin, stop in spans:
            first, last = max(begin, at), min(stop, end)
            if first < last:
                pieces += [(text[at - place : first - place], own), (text[first - place : last - place], tone)]
                at = last
        pieces.append((text[at - place :], own))
        place = end
    return tuple(piece for piece in pieces if piece[0])
