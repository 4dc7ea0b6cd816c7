"""What of the board is listed and in which order: filter, sort and groups as the operator set them.

What the operator asks for is done at once. Rows that would move or come and go by themselves, because figures change
while agents work, do so together: at most every `PACE_S` seconds, and never within `QUIET_S` of a key, so that nothing
moves under the operator's fingers. Knows no widget that draws, and no clock: the time is told.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from supervisor.core.model import State
from supervisor.core.ordering import Block, Families, Group, Sort, arrange, sort_key
from supervisor.core.query import EVERYTHING, Filter
from widgets.cells import Tone, drawable
from widgets.formatting import state_tone, state_words
from widgets.roster import Heading, Roster, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from supervisor.core.model import TicketSnapshot

    Rows = tuple[TicketSnapshot, ...]
    Standing = tuple[float, State | None] | None
    """What decides where a ticket is listed: the number it is sorted by, and its group; None for nowhere."""

PACE_S = 2.0
"""Least time between two changes of the order that nobody asked for."""
QUIET_S = 1.0
"""How long after a key the order stays as it is."""
_PLAIN = Shape()
_NO_MATCH = "no ticket matches the filter"


class Arrangement:
    """Lists a board's rows. `update` it with every frame, then read ``rows`` and ``shape``."""

    def __init__(self) -> None:
        self.filter, self.sort, self.group = EVERYTHING, Sort.FILE, Group.NONE
        self.rows: Rows = ()
        """What is listed, from top to bottom."""
        self.shape = _PLAIN
        """Headings and indents; the same object as long as they stay the same."""
        self.total = 0
        """How many tickets there are, listed or not."""
        self._board: Rows = ()
        """All tickets as of the last update, in the file's order."""
        self._needs: frozenset[str] = frozenset()
        """Which of them need the operator."""
        self._families, self._id_cells = Families(()), 0
        self._places: tuple[int, ...] = ()
        """What is listed, by its place in the file's order."""
        self._standings: list[Standing] = []
        """By place, as of when the order was decided."""
        self._is_asked = self._is_unsettled = self._drifts = False
        self._settled_at = self._touched_at = -math.inf

    @property
    def is_plain(self) -> bool:
        """Whether every ticket is listed, in the file's order."""
        return not self.filter and self.sort is Sort.FILE and self.group is Group.NONE

    def ask(self, *, only: Filter | None = None, sort: Sort | None = None, group: Group | None = None) -> None:
        """Set what the operator asked for; the next update carries it out."""
        self.filter = self.filter if only is None else only
        self.sort, self.group = sort or self.sort, group or self.group
        self._is_asked = True

    def touched(self, now: float) -> None:
        """Take note of a key that was pressed."""
        self._touched_at = now

    def is_due(self, now: float) -> bool:
        """Return whether rows wait to be moved and may be by now."""
        waits = self._is_unsettled or self._drifts
        return waits and _is_over(self._settled_at, PACE_S, now) and _is_over(self._touched_at, QUIET_S, now)

    def update(self, board: Rows, now: float, needs: frozenset[str] = frozenset()) -> None:
        """Take the board as it is now.

        Args:
            board: Its rows, in the file's order.
            now: Seconds since the epoch.
            needs: Which tickets need the operator.
        """
        self.total = len(board)
        turned, self._needs = needs ^ self._needs, needs
        if self.is_plain:
            self.rows, self.shape, self._board = board, _PLAIN, ()
            self._is_asked = self._is_unsettled = self._drifts = False
            return
        changed = _changed(self._board, board)
        self._board = board
        if changed is None:
            self._families, self._id_cells = Families(board), Roster(board).id_cells
        elif not self._is_unsettled:
            changed += [place for place, ticket in enumerate(board) if ticket.id in turned] if turned else []
            self._is_unsettled = any(self._standing(board[p], self._settled_at) != self._standings[p] for p in changed)
        if changed is None or self._is_asked or self.is_due(now):
            self._settle(now)
        self.rows = tuple([board[place] for place in self._places])

    def _standing(self, ticket: TicketSnapshot, now: float) -> Standing:
        if not self.filter.matches(ticket, self._needs):
            return None
        return sort_key(self.sort, ticket, now), ticket.state if self.group is Group.STATE else None

    def _settle(self, now: float) -> None:
        """Decide the order anew."""
        self._standings = [self._standing(ticket, now) for ticket in self._board]
        keys = {place: standing[0] for place, standing in enumerate(self._standings) if standing is not None}
        blocks = arrange(self._board, keys, self.group, self._families)
        self._places = tuple([place for block in blocks for place in block.places])
        shape = self._shape(blocks)
        self.shape = self.shape if shape == self.shape else shape
        self._is_asked = self._is_unsettled = False
        self._drifts = self.sort is Sort.AGE and any(self._board[place].holds_slot for place in self._places)
        self._settled_at = now

    def _shape(self, blocks: Sequence[Block]) -> Shape:
        nests = self.sort is Sort.FILE or self.group is Group.LINEAGE
        return Shape(
            tuple(self._headings(blocks)) if self.group is not Group.NONE else (),
            tuple([d for block in blocks for d in self._families.depths(block.places)]) if nests else _flat(blocks),
            self._id_cells,
            self.sort,
            _NO_MATCH if self.total else _PLAIN.empty,
        )

    def _headings(self, blocks: Sequence[Block]) -> Iterator[Heading]:
        place = 0
        for block in blocks:
            words, tone = "without forks", Tone.MUTED
            if isinstance(block.of, State):
                words, tone = state_words(block.of), state_tone(block.of)
            elif block.of is not None:
                words, tone = drawable(self._board[block.of].id), Tone.PLAIN
            yield Heading(place, words, tone, len(block.places))
            place += len(block.places)


def _flat(blocks: Sequence[Block]) -> tuple[int, ...]:
    return (0,) * sum(len(block.places) for block in blocks)


def _is_over(since: float, seconds: float, now: float) -> bool:
    """Return whether a span has passed; a clock that was set back does not prolong it."""
    return not 0 <= now - since < seconds


def _changed(before: Rows, after: Rows) -> list[int] | None:
    """Return the places of the snapshots that are new; None where other tickets stand there, or in other families."""
    if len(before) != len(after):
        return None
    changed = [place for place, (old, new) in enumerate(zip(before, after, strict=True)) if old is not new]
    moved = any((before[p].id, before[p].parent) != (after[p].id, after[p].parent) for p in changed)
    return None if moved else changed
