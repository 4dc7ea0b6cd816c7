"""The tickets of a table in their order: who stands in which place, and how deep under its parents. Pure."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len

from widgets.cells import drawable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from supervisor.core.model import TicketSnapshot


class Roster:
    """Rows, and what depends on their order only."""

    def __init__(self, rows: Sequence[TicketSnapshot]) -> None:
        self.rows = tuple(rows)
        self.places = {ticket.id: place for place, ticket in enumerate(self.rows)}
        self._depths = _depths(self.rows)
        self.id_cells = max((cell_len(drawable(t.id)) + 2 * self._depths[t.id] for t in self.rows), default=0)
        """Cells that the longest id takes, indents included."""

    def replace(self, rows: Sequence[TicketSnapshot]) -> bool:
        """Take newer snapshots of the same tickets in the same order; return False, and change nothing, for others."""
        if len(rows) != len(self.rows):
            return False
        if any(a is not b and a.id != b.id for a, b in zip(self.rows, rows, strict=True)):
            return False
        self.rows = tuple(rows)
        return True

    def depth(self, ticket: str) -> int:
        """Return how many parents stand above a ticket."""
        return self._depths.get(ticket, 0)

    def at(self, place: int) -> TicketSnapshot | None:
        """Return the ticket in a place, or the nearest one; None if there are none."""
        return self.rows[max(0, min(place, len(self.rows) - 1))] if self.rows else None


def runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return the first and last of each run of neighbours: one region to repaint is cheaper than many."""
    for _, run in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0]):
        members = [place for _, place in run]
        yield members[0], members[-1]


def _depths(rows: Sequence[TicketSnapshot]) -> dict[str, int]:
    depths: dict[str, int] = {}
    for ticket in rows:  # parents come before their forks
        depths[ticket.id] = depths[ticket.parent] + 1 if ticket.parent in depths else 0
    return depths
