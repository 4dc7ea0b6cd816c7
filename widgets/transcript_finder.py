"""Where the operator is in what a search of a transcript found. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from widgets.cells import Cell, Tone
from widgets.transcript_search import Find, Search, marked

if TYPE_CHECKING:
    from widgets.transcript_items import Item
    from widgets.transcript_lines import TranscriptLines

_MOST_REMEMBERED = 400


class Finder:
    """A search under way: what was found, and which of it the operator is at."""

    def __init__(self) -> None:
        self._search = Search("")
        self._finds: list[Find] = []
        self._at: Find | None = None
        self._spans: dict[int, dict[int, list[tuple[int, int]]]] = {}
        """Of each edition of an item what is to be marked in which of its rows."""

    @property
    def at(self) -> Find | None:
        """The find that the operator is at."""
        return self._at

    @property
    def words(self) -> str:
        """How far the operator is, as in ``3/17``; empty without a query."""
        if not self._search.query:
            return ""
        if not self._finds:
            return "nothing found"
        place = self._finds.index(self._at) + 1 if self._at in self._finds else "–"
        return f"{place}/{len(self._finds)}"

    def look_for(self, query: str, lines: TranscriptLines, near: tuple[Item, int] | None) -> Find | None:
        """Begin anew with other words; return the first find from a row on, else the last one before it."""
        self._search, self._at = Search(query), None
        self._spans.clear()
        self.look_again(lines)
        self._at = self._first_from(lines, near)
        return self._at

    def look_again(self, lines: TranscriptLines) -> None:
        """Take over what has come to be known since."""
        self._finds = self._search.finds(lines)

    def step(self, by: int, lines: TranscriptLines, near: tuple[Item, int] | None) -> Find | None:
        """Go to the next find (1) or the one before (-1), round and round; return it, None if there is none."""
        self.look_again(lines)
        if self._at in self._finds:
            self._at = self._finds[(self._finds.index(self._at) + by) % len(self._finds)]
        else:
            self._at = self._first_from(lines, near)
        return self._at

    def mark(self, item: Item, row: int) -> Cell:
        """Return a row of an item with what was found in it marked."""
        rows = item.rows or []
        spans = self._spans.get(item.edition)
        if spans is None:
            if len(self._spans) > _MOST_REMEMBERED:
                self._spans.clear()
            spans = self._spans[item.edition] = {}
            for at, begin, end in self._search.spans(rows):
                spans.setdefault(at, []).append((begin, end))
        if row not in spans:
            return rows[row]
        is_here = self._at is not None and self._at.item is item and self._at.row == row
        return marked(rows[row], spans[row], Tone.FOUND if is_here else Tone.MATCH)

    def _first_from(self, lines: TranscriptLines, near: tuple[Item, int] | None) -> Find | None:
        order = {item: number for number, item in enumerate(lines.items)}
        start = (order.get(near[0], 0), near[1]) if near is not None else (0, 0)
        later = (find for find in self._finds if (order[find.item], find.row) >= start)
        return next(later, self._finds[-1] if self._finds else None)
