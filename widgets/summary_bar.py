"""Two lines about the whole batch: its figures, and what the operator should look at next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.model import BatchTotals, State
from widgets.cells import Cell, Piece, Tone, clip_pieces, drawable, width_of
from widgets.formatting import bar, money, need_words, round_money
from widgets.items import call_for
from widgets.lines import LineBar
from widgets.tones import tone_css

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from widgets.items import Item

_BAR_CELLS = 5
_GAP: Piece = ("  ", Tone.PLAIN)


def figures(totals: BatchTotals, width: int) -> Cell:
    """Return the first line: counts on the left, money on the right, the least important left out where it is tight."""
    money_part = spent(totals)
    parts = counts(totals)
    name = drawable(totals.name) or "supervise"
    while True:
        left: list[Piece] = [(name, Tone.STRONG)]
        for _, cell in parts:
            left += cell
        room = width - width_of(tuple(left)) - width_of(money_part)
        if room >= 2 or not parts:
            break
        parts.remove(min(parts, key=lambda part: part[0]))
    if room < 2:
        return clip_pieces((*left, _GAP, *money_part), width)
    return (*left, (" " * room, Tone.PLAIN), *money_part)


def counts(totals: BatchTotals) -> list[tuple[int, Cell]]:
    """Return the counts worth showing, gaps before them, each with its weight: the lightest is left out first."""
    running = totals.count(State.RUNNING, State.STARTING)
    parts: list[tuple[int, Cell]] = [
        (8, (_GAP, (f"{running}/{totals.slots} running", Tone.ACCENT if running else Tone.MUTED)))
    ]
    if totals.needs_you:
        parts.append((9, (_GAP, (need_words(totals.needs_you, 0), Tone.WARM))))
    if failed := totals.count(State.FAILED):
        parts.append((7, ((f" ({failed} failed)", Tone.BAD),)))  # among what needs the operator
    others = (
        (6, State.DONE, "done", Tone.PLAIN),
        (5, State.QUEUED, "queued", Tone.MUTED),
        (4, State.PARKED, "parked", Tone.MUTED),
        (3, State.PAUSED, "paused", Tone.MUTED),
        (2, State.CANCELLED, "cancelled", Tone.MUTED),
    )
    for weight, state, word, tone in others:
        if count := totals.count(state):
            parts.append((weight, (_GAP, (f"{count} {word}", tone))))
    return parts


def spent(totals: BatchTotals) -> Cell:
    """Return what was spent, of what budget, with a bar of what is used up."""
    so_far = totals.spent_usd + totals.turn_usd
    words = money(so_far, estimated=totals.estimated_usd > 0 or totals.turn_usd > 0)
    if totals.budget_usd is None:
        return ((f"{words} spent", Tone.PLAIN),)
    share = so_far / totals.budget_usd if totals.budget_usd > 0 else 1.0
    full, empty = bar(share, _BAR_CELLS)
    tone = Tone.WARM if share >= 0.9 else Tone.MUTED
    return (
        (words, Tone.PLAIN),
        (f"/{round_money(totals.budget_usd)} ", Tone.MUTED),
        (full, tone),
        (empty, Tone.FAINT),
    )


def attention(totals: BatchTotals, waiting: Sequence[Item], width: int, marks: str = "") -> Cell:
    """Return the second line: what holds for the whole batch, then what needs the operator."""
    pieces: list[Piece] = [part for word in badges(totals) for part in ((f"[{word}]", Tone.ACCENT), _GAP)]
    if marks:
        pieces += [(marks, Tone.ACCENT), _GAP]
    if totals.notice:
        pieces += [(drawable(totals.notice), Tone.WARM), _GAP]
    for place, item in enumerate(waiting):
        left = len(waiting) - place
        entry = call_for(item)
        room = width - width_of(tuple(pieces)) - (len(f"+{left} more") + 2 if left > 1 else 0)
        if place and width_of(entry) > room:
            pieces.append((f"+{left} more", Tone.WARM))
            break
        pieces += [*clip_pieces(entry, room), _GAP]
    if not pieces:
        pieces.append((_calm(totals), Tone.FAINT))
    return clip_pieces(tuple(pieces), width)


def marks_words(marked: int, hidden: int) -> str:
    """Return how many tickets are marked, and how many of them are not listed; empty without marks."""
    if not marked:
        return ""
    return f"◆ {marked} marked, {hidden} hidden" if hidden else f"◆ {marked} marked"


def badges(totals: BatchTotals) -> list[str]:
    """Return the words for the modes the batch is in."""
    paused = totals.starting_paused and "starting is paused" not in totals.notice
    on = ((totals.rehearsal, "rehearsal"), (totals.stopping, "stopping"), (paused, "starting paused"))
    return [word for is_on, word in on if is_on]


def _calm(totals: BatchTotals) -> str:
    total = sum(totals.counts.values())
    if not total:
        return "no tickets"
    if totals.count(State.DONE) == total:
        return "all done"
    busy = totals.count(State.RUNNING, State.STARTING, State.QUEUED, State.PARKED)
    return "nothing needs you" if busy else "everything is at rest"


class SummaryBar(LineBar):
    """The batch at a glance."""

    DEFAULT_CSS = """
    SummaryBar { height: 2; padding: 0 1; }
    """ + tone_css("SummaryBar")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._totals = BatchTotals()
        self._waiting: tuple[Item, ...] = ()
        self._marks = ""

    def show(self, totals: BatchTotals, waiting: Sequence[Item], marked: int = 0, hidden: int = 0) -> None:
        """Show the batch's figures, what needs the operator, most urgent first, and the count of marks.

        Args:
            totals: The figures.
            waiting: What needs the operator.
            marked: How many tickets are marked.
            hidden: How many of those are not listed.
        """
        now = (totals, tuple(waiting), marks_words(marked, hidden))
        if now != (self._totals, self._waiting, self._marks):
            self._totals, self._waiting, self._marks = now
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the figures, or the line below them."""
        width = self.content_size.width
        cell = figures(self._totals, width) if y == 0 else attention(self._totals, self._waiting, width, self._marks)
        return self.palette.line(cell, width)
