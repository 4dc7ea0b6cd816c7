"""Tickets' time as rows of cells: which cell stands for which seconds, and what is seen of them in it. Pure.

Every state has its own character, so that the rows read without colours.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING

from supervisor.core.model import State
from widgets.cells import Cell, Piece, Tone
from widgets.formatting import GLYPHS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.core.timeline import Lane, Timeline

STEPS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400, 604_800)
"""Seconds that one cell may stand for."""
_SIGNS: Mapping[State, tuple[str, Tone, int]] = MappingProxyType(
    {
        State.NEEDS_YOU: ("!", Tone.WARM, 4),
        State.RUNNING: ("█", Tone.ACCENT, 3),
        State.STARTING: ("▒", Tone.ACCENT, 2),
        State.PARKED: ("┄", Tone.MUTED, 1),
    }
)
"""Character, tone and rank: of several states in one cell the highest is seen."""
_BLANK: Piece = (" ", Tone.PLAIN)
_LEVELS = " ▁▂▃▄▅▆▇█"
_NOW = "now╷"
_TICK = 12
"""Least cells between two times on the axis."""
LEGEND: Cell = (
    ("█", Tone.ACCENT),
    (" runs  ", Tone.MUTED),
    ("▒", Tone.ACCENT),
    (" starts  ", Tone.MUTED),
    ("!", Tone.WARM),
    (" needs you  ", Tone.MUTED),
    ("┄", Tone.MUTED),
    (" parked  ", Tone.MUTED),
    ("✓✗–", Tone.PLAIN),
    (" over", Tone.MUTED),
)
"""What the characters mean."""


@dataclass(frozen=True, slots=True)
class Window:
    """The time in view."""

    begin: float
    step: int
    """Seconds that one cell stands for."""
    cells: int

    @property
    def end(self) -> float:
        """The moment after the last cell."""
        return self.begin + self.step * self.cells

    def cell(self, at: float) -> int:
        """Return the cell that a moment falls into; it may lie outside."""
        return math.floor((at - self.begin) / self.step)


def window(now: float, step: int, cells: int, back: int = 0) -> Window:
    """Return the time in view: up to the cell that is now, or so many cells earlier.

    It moves on by whole cells, so that nothing has to be drawn in between.
    """
    end = (math.floor(now / step) + 1 - back) * step
    return Window(float(end - step * cells), step, cells)


def fitting_step(first: float | None, now: float, cells: int) -> int:
    """Return the smallest step with which everything since ``first`` is in view."""
    wanted = (now - first) / max(1, cells - 1) if first is not None else 0.0
    return next((step for step in STEPS if step >= wanted), STEPS[-1])


def zoomed(step: int, by: int) -> int:
    """Return the step so many places away: positive ones show less time."""
    place = bisect_left(STEPS, step) - by
    return STEPS[max(0, min(place, len(STEPS) - 1))]


def lane_cell(lane: Lane | None, view: Window, now: float) -> Cell:
    """Return one ticket's time, as wide as the view."""
    if lane is None:
        return ((" " * view.cells, Tone.PLAIN),)
    row: list[Piece] = [_BLANK] * view.cells
    ranks = [0] * view.cells
    begun: dict[int, tuple[int, int]] = {}
    for span in lane.spans[_first_in_view(lane, view) :]:
        if span.begin >= view.end:
            break
        sign, tone, rank = _SIGNS[span.state]
        end = min(now if span.end is None else span.end, view.end)
        first, last = max(0, view.cell(span.begin)), min(view.cells - 1, view.cell(end))
        for place in range(first, last + 1):
            if rank > ranks[place]:
                row[place], ranks[place] = (sign, tone), rank
        start, _ = begun.get(span.attempt, (first if span.begin >= view.begin else -1, last))
        begun[span.attempt] = (start, last)
    for attempt, (start, last) in begun.items():
        _name(row, attempt, start, last)
    for at, state in lane.endings:
        if 0 <= (place := view.cell(at)) < view.cells:
            row[place] = (GLYPHS[state], Tone.BAD if state is State.FAILED else Tone.PLAIN)
    return _joined(row)


def _first_in_view(lane: Lane, view: Window) -> int:
    place = bisect_right(lane.spans, view.begin, key=lambda span: span.begin)
    return max(0, place - 1)


def _name(row: list[Piece], attempt: int, start: int, last: int) -> None:
    """Write an attempt's number into its first cells, if it has some more."""
    words = str(attempt)
    if attempt and start >= 0 and last - start > len(words):
        for place, digit in enumerate(words, start):
            row[place] = (digit, row[place][1])


def _joined(row: list[Piece]) -> Cell:
    return tuple(("".join(text for text, _ in run), tone) for tone, run in groupby(row, key=lambda piece: piece[1]))


def axis(view: Window, now: float) -> str:
    """Return times above the rows, as wide as the view; ``now`` stands at the right where that is in view."""
    every = next((s for s in STEPS if s >= view.step * _TICK), view.step * _TICK)
    shift = time.localtime(view.begin).tm_gmtoff
    row = [" "] * view.cells
    is_now = view.begin <= now < view.end
    room = view.cell(now) - len(_NOW) if is_now else view.cells
    at = math.ceil((view.begin + shift) / every) * every - shift
    while at < view.end:
        words = f"╷{_stamp(at, every)}"
        if view.cell(at) + len(words) <= room:
            _write(row, view.cell(at), words)
        at += every
    if is_now:
        _write(row, view.cell(now) + 1 - len(_NOW), _NOW)
    return "".join(row)


def _write(row: list[str], place: int, words: str) -> None:
    if 0 <= place <= len(row) - len(words):
        row[place : place + len(words)] = words


def _stamp(at: float, every: int) -> str:
    words = "%H:%M:%S" if every < 60 else "%H:%M" if every < 86_400 else "%m-%d"
    return time.strftime(words, time.localtime(at))


def cost_rows(timeline: Timeline, view: Window, now: float, height: int) -> list[str]:
    """Return what had been spent by each cell's end as a line of bars, ``height`` rows from top to bottom.

    A bar of full height is what has been spent in all; what is to come stays blank.
    """
    levels = [_level(timeline, view, place, now, height) for place in range(view.cells)]
    return ["".join(_LEVELS[max(0, min(8, level - 8 * row))] for level in levels) for row in range(height - 1, -1, -1)]


def _level(timeline: Timeline, view: Window, place: int, now: float, height: int) -> int:
    if view.begin + place * view.step > now or not timeline.total:
        return 0
    before_next = math.nextafter(view.begin + (place + 1) * view.step, 0.0)
    spent = timeline.spent_by(min(now, before_next))
    return max(1, round(8 * height * spent / timeline.total)) if spent else 0
