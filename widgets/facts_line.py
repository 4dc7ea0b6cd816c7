"""The rule between table and transcript, with the facts of the ticket whose transcript it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.model import Mode
from supervisor.core.text import clip
from widgets.cells import Cell, Piece, Tone, clip_pieces, drawable
from widgets.lines import LineBar
from widgets.tones import tone_css

if TYPE_CHECKING:
    from textual.strip import Strip

    from supervisor.core.model import TicketSnapshot

_DOT = " · "
_TITLE_CELLS = 12
"""Least room in which a title is worth showing."""


def facts(ticket: TicketSnapshot) -> list[str]:
    """Return what there is to say of a ticket besides id, title and branch, the most important first."""
    model = (ticket.model or "").removeprefix("claude-")
    known = (
        ticket.attempts and f"try {ticket.attempts}{_mode(ticket)}",
        ticket.turns and f"{ticket.turns} turn{'s' if ticket.turns != 1 else ''}",
        ticket.denials and f"{ticket.denials} denied",
        ticket.stale_instructions and "instructions changed since",
        drawable(model),
    )
    return [fact for fact in known if fact]


def _mode(ticket: TicketSnapshot) -> str:
    return f" ({ticket.mode.value})" if ticket.mode not in (None, Mode.FRESH) else ""


def rule(ticket: TicketSnapshot | None, width: int, *, is_active: bool = False) -> Cell:
    """Return the line ``── 001-rounding · try 1 · … ────``. The branch gives way first, then the title, then facts."""
    lead: Piece = ("━━ ", Tone.ACCENT) if is_active else ("── ", Tone.FAINT)
    if ticket is None:
        return (("─" * width, Tone.FAINT),)
    name, rest = drawable(ticket.id), facts(ticket)
    room = width - 6 - cell_len(name)
    while rest and _cells(rest) > room:
        rest.pop()
    title, branch = drawable(ticket.title), drawable(ticket.branch or "")
    if title and (spare := room - _cells(rest) - len(_DOT)) >= _TITLE_CELLS:
        rest.insert(0, clip(title, spare, cell_len))
    if branch and _cells([*rest, branch]) <= room:
        rest.append(branch)
    words = "".join(_DOT + fact for fact in rest)
    left: Cell = (lead, (name, Tone.STRONG), (words, Tone.MUTED))
    dashes = width - 4 - cell_len(name) - cell_len(words)
    return clip_pieces((*left, (" " + "─" * max(0, dashes), Tone.FAINT)), width)


def _cells(words: list[str]) -> int:
    return sum(cell_len(word) + len(_DOT) for word in words)


class FactsLine(LineBar):
    """A rule that names the ticket below it."""

    DEFAULT_CSS = """
    FactsLine { height: 1; }
    """ + tone_css("FactsLine")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._ticket: TicketSnapshot | None = None
        self._is_active = False
        self._drawn: Cell = ()

    def show(self, ticket: TicketSnapshot | None) -> None:
        """Show a ticket's facts; repaints only if they read differently."""
        if ticket is not self._ticket:
            self._ticket = ticket
            self._redraw()

    def activate(self, is_active: bool) -> None:
        """Show whether the keys go to what is below."""
        self._is_active = is_active
        self._redraw()

    def _redraw(self) -> None:
        if self._rule() != self._drawn:
            self.refresh()

    def _rule(self) -> Cell:
        return rule(self._ticket, self.size.width, is_active=self._is_active)

    def render_line(self, y: int) -> Strip:
        """Draw the rule."""
        self._drawn = self._rule()
        return self.palette.line(self._drawn, self.size.width)
