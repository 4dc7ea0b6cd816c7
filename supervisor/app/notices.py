"""When the operator is called, and with which words: once for each thing that begins to wait, several at once as one.

Decides; ``terminal_codes`` knows the bytes. What was answered before its call was due needs none any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from supervisor.core.model import State
from widgets import ask_words
from widgets.cells import drawable
from widgets.effect_words import waits_for
from widgets.formatting import blocked_words, need_words, reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from supervisor.core.board import Board
    from supervisor.core.model import BatchTotals
    from supervisor.core.waiting import Waiting

SETTLE_S = 1.0
"""How long a call is held back for what comes together with it."""
GAP_S = 10.0
"""Least time between two calls."""
_NAMED = 3
_AT_WORK = (State.STARTING, State.RUNNING, State.PARKED)
_ENDS = (State.DONE, State.FAILED, State.PAUSED, State.CANCELLED)


@dataclass(frozen=True, slots=True)
class Affair:
    """Something that the operator should know of. Texts may hold anything."""

    ticket: str
    words: str
    is_failure: bool = False
    is_blocked: bool = False
    """It only follows from what became of another ticket."""


@dataclass(frozen=True, slots=True)
class Affairs:
    """What of a batch may be worth a call, as of one moment."""

    waits: Mapping[str, Affair] = field(default_factory=dict)
    """By a key that names it for good, also a second time that the same ticket fails."""
    is_moving: bool = False
    """Something goes on, or will, without the operator."""
    ending: str = ""
    """How the batch stands, such as ``6 done, 1 failed``."""


def affairs_of(board: Board) -> Affairs:
    """Return the affairs of a board."""
    waiting, rows = board.waiting, board.rows()
    is_moving = any(ticket.live or ticket.state in _AT_WORK for ticket in rows)
    if not is_moving:
        stuck = waiting.stuck()
        is_moving = any(ticket.state is State.QUEUED and ticket.id not in stuck for ticket in rows)
    return Affairs(dict(_affairs(waiting)), is_moving, ending_words(board.totals()))


def _affairs(waiting: Waiting) -> Iterator[tuple[str, Affair]]:
    for ask in waiting.asks:
        yield f"ask {ask.id}", Affair(ask.ticket, f"{ask_words.what(ask)}: {ask_words.gist(ask)}")
    for view in waiting.effects:
        record = view.record
        words = f"effect {record.op}: {waits_for(view)}"
        yield f"effect {record.key} {record.version}", Affair(record.ticket, words)
    for ticket in waiting.others:
        blocker, is_failure = waiting.blocker(ticket), ticket.state is State.FAILED
        words = f"failed: {reason(ticket)}" if is_failure else reason(ticket)
        if blocker is not None:
            words = f"blocked: {blocked_words(blocker)}"
        affair = Affair(ticket.id, words, is_failure, is_blocked=blocker is not None)
        yield f"ticket {ticket.id} {ticket.state} {ticket.attempts}", affair


def ending_words(totals: BatchTotals) -> str:
    """Return how a batch stands that nothing goes on in."""
    return ", ".join(f"{totals.count(state)} {state.value}" for state in _ENDS if totals.count(state))


def title_words(totals: BatchTotals) -> str:
    """Return the window's title, such as ``supervise: 2 need you (1 failed) · 3 running``."""
    running = totals.count(State.RUNNING, State.STARTING)
    queued = totals.count(State.QUEUED)
    parts = [
        need_words(totals.needs_you, totals.count(State.FAILED)) if totals.needs_you else "",
        f"{running} running" if running else f"{queued} queued" if queued else "",
    ]
    return f"supervise: {' · '.join(filter(None, parts)) or ending_words(totals) or 'nothing runs'}"


class Caller:
    """Looks at the affairs again and again, and says when to call."""

    def __init__(self) -> None:
        self._seen: frozenset[str] | None = None
        self._was_moving = False
        self._fresh: list[str] = []
        """Keys of what began to wait and was not called for yet, in order."""
        self._is_over = False
        self._since = 0.0
        self._last = float("-inf")

    @property
    def is_holding(self) -> bool:
        """Whether a call is held back: look again, though nothing changed."""
        return bool(self._fresh) or self._is_over

    def look(self, now: Affairs, at: float) -> str | None:
        """Return the words of a call that is due, safe to draw; None where none is.

        What waits at the first look was there before, and is not called for.

        Args:
            now: The affairs.
            at: Seconds on any clock.
        """
        was_holding = self.is_holding
        self._follow(now)
        if self.is_holding and not was_holding:
            self._since = at
        if not self.is_holding or at < max(self._since + SETTLE_S, self._last + GAP_S):
            return None
        words = call_words([now.waits[key] for key in self._fresh], now.ending if self._is_over else "")
        self._fresh, self._is_over, self._last = [], False, at
        return words

    def _follow(self, now: Affairs) -> None:
        if self._seen is not None:
            held = [key for key in self._fresh if key in now.waits]
            self._fresh = [*held, *(key for key in now.waits if key not in self._seen)]
            rests = not now.is_moving and all(a.is_failure or a.is_blocked for a in now.waits.values())
            self._is_over = rests and (self._is_over or self._was_moving)
        self._seen, self._was_moving = frozenset(now.waits), now.is_moving


def call_words(news: Sequence[Affair], ending: str = "") -> str:
    """Return the words of one call for all news, safe to draw; for the end of a batch how it ended."""
    if ending:
        return f"the batch is finished: {ending}" if "paused" not in ending else f"nothing runs any more: {ending}"
    if len(news) == 1:
        return drawable(f"{news[0].ticket}: {news[0].words}")
    counts = need_words(len(news), sum(affair.is_failure for affair in news))
    tickets = list(dict.fromkeys(affair.ticket for affair in news))
    more = f" and {len(tickets) - _NAMED} more" if len(tickets) > _NAMED else ""
    return drawable(f"{counts}: {', '.join(tickets[:_NAMED])}{more}")
