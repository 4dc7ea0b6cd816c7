"""The first lines of a ticket's screen: what it is, its money with the sum spelled out, and what it does right now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.geometry import Region

from supervisor.core import budget
from supervisor.core.text import clip
from widgets import formatting as fmt
from widgets.attempt_facts import cost
from widgets.cells import Cell, Piece, Tone, clip_pieces, drawable, width_of
from widgets.lines import LineBar
from widgets.tones import tone_css

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from supervisor.core.model import AttemptRecord, TicketSnapshot

_GAP: Piece = ("   ", Tone.PLAIN)
_TITLE_CELLS = 8
"""Least room in which a title is worth showing."""


def name_line(ticket: TicketSnapshot, width: int) -> Cell:
    """Return id and title on the left, state and try on the right; the title gives way first, then the try."""
    right: list[Piece] = [(fmt.state_words(ticket.state), fmt.state_tone(ticket.state))]
    if ticket.attempts:
        mode = f" ({ticket.mode.value})" if ticket.mode is not None else ""
        right += [_GAP, (f"try {ticket.attempts}{mode}", Tone.MUTED)]
    name: Piece = (drawable(ticket.id), Tone.STRONG)
    if width_of((name, *right)) + 2 > width:
        right = right[:1]
    room = width - width_of((name, *right)) - 4
    title = clip(drawable(ticket.title), room, cell_len) if room >= _TITLE_CELLS else ""
    left: Cell = (name, ("  ", Tone.PLAIN), (title, Tone.PLAIN))
    blank = max(2, width - width_of(left) - width_of(tuple(right)))
    return clip_pieces((*left, (" " * blank, Tone.PLAIN), *right), width)


def money_line(ticket: TicketSnapshot, attempts: Sequence[AttemptRecord], width: int) -> Cell:
    """Return budget, what was spent and by which attempts, headroom and reserve."""
    has = f"budget {fmt.money(ticket.budget_usd)}" if ticket.budget_usd is not None else "no budget of its own"
    spent = f"spent {fmt.money(ticket.so_far_usd, estimated=ticket.is_estimate)}"
    after: list[Piece] = []
    if (left := ticket.left_usd) is not None:
        is_low = fmt.is_low(ticket)
        words = f"{'! ' if is_low else ''}headroom {fmt.signed_money(left)}"
        kept = ticket.reserve_usd or budget.reserve(None, 0.0)
        after = [_GAP, (words, Tone.WARM if is_low else Tone.PLAIN), _GAP, (f"reserve {fmt.money(kept)}", Tone.MUTED)]
    for name, used, most in (
        ("turns", ticket.turns, ticket.budget_turns),
        ("tokens", ticket.tokens, ticket.budget_tokens),
    ):
        if most is not None:
            after += [_GAP, (f"{name} {used:,}/{most:,}", Tone.WARM if used >= most else Tone.MUTED)]
    before: list[Piece] = [(has, Tone.PLAIN), _GAP, (spent, Tone.PLAIN)]
    room = width - width_of((*before, *after))
    return clip_pieces((*before, (sum_words(attempts, room), Tone.MUTED), *after), width)


def sum_words(attempts: Sequence[AttemptRecord], room: int) -> str:
    """Return what each attempt cost, such as `` (try 1 $0.13 + try 2 $0.08)``.

    Where it is tight the numbers of the tries are left out, then the earliest tries. Empty where there is nothing to
    add up, or no room.
    """
    costs = [(attempt.number, cost(attempt)) for attempt in attempts if cost(attempt)]
    if len(costs) < 2:
        return ""
    amounts = [words for _, words in costs]
    spelled = [" + ".join(f"try {number} {words}" for number, words in costs)]
    spelled += [f"{'… + ' if first else ''}{' + '.join(amounts[first:])}" for first in range(len(amounts))]
    return next((f" ({words})" for words in spelled if len(words) + 3 <= room), "")


def now_line(ticket: TicketSnapshot, now: float, width: int) -> Cell:
    """Return what the ticket does or waits for, and until when; empty where there is nothing to say."""
    (words, tone), left = fmt.why_now(ticket, now)
    words, left = fmt.with_time_left(words, left, width, cell_len) if left else (words, "")
    return clip_pieces(((words, tone), (left, Tone.PLAIN)), width)


class TicketHeader(LineBar):
    """What there is to know of a ticket at a glance. Repaints only lines that read differently."""

    DEFAULT_CSS = """
    TicketHeader { height: 3; padding: 0 1; }
    """ + tone_css("TicketHeader")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._ticket: TicketSnapshot | None = None
        self._attempts: tuple[AttemptRecord, ...] = ()
        self._now = 0.0
        self._drawn: list[Cell] = [(), (), ()]

    def show(self, ticket: TicketSnapshot, attempts: Sequence[AttemptRecord], now: float) -> None:
        """Show a ticket as of ``now``, with the attempts that its sum is made of."""
        self._ticket, self._attempts, self._now = ticket, tuple(attempts), now
        for y, before in enumerate(self._drawn):
            if self._line(y) != before:
                self.refresh(Region(0, y, self.size.width, 1))

    def _line(self, y: int) -> Cell:
        width = self.content_size.width
        if self._ticket is None or not width:
            return ()
        if y == 0:
            return name_line(self._ticket, width)
        return money_line(self._ticket, self._attempts, width) if y == 1 else now_line(self._ticket, self._now, width)

    def render_line(self, y: int) -> Strip:
        """Draw a line."""
        self._drawn[y] = self._line(y)
        return self.palette.line(self._drawn[y], self.content_size.width)
