"""The timeline as widgets: a row for each ticket with its time in cells, and what was spent meanwhile below."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len

from widgets import formatting as fmt
from widgets.cells import Cell, Piece, Tone, drawable, fit
from widgets.lines import LineBar
from widgets.row_list import RowList
from widgets.timeline_layout import Window, axis, cost_rows, lane_cell
from widgets.tones import TONE_CLASSES, tone_css

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.strip import Strip

    from supervisor.core.model import TicketSnapshot
    from supervisor.core.timeline import Lane, Timeline

_MOST_ID = 28
_COST = 7
_MARGIN = 4
"""The cursor, a blank, the state, a blank."""


def label_cells(rows: Sequence[TicketSnapshot], width: int) -> int:
    """Return how many cells before the time a row takes in a view of that width."""
    longest = max((cell_len(drawable(ticket.id)) for ticket in rows), default=0)
    return _MARGIN + max(2, min(longest, _MOST_ID, width // 3)) + _COST + 1


def label(ticket: TicketSnapshot, cells: int) -> Cell:
    """Return state, id and cost of a ticket, without the margin that the cursor stands in."""
    cost = fmt.money(ticket.spent_usd, estimated=ticket.estimated_usd > 0) if ticket.spent_usd else ""
    return (
        (f"{fmt.GLYPHS[ticket.state]} ", fmt.state_tone(ticket.state)),
        (fit(drawable(ticket.id), cells - _MARGIN - _COST - 1), Tone.PLAIN),
        (f"{cost:>{_COST}} ", Tone.MUTED),
    )


class TimelineView(RowList):
    """Rows of cells. `show` draws again only rows that read differently."""

    HEADER = 1

    COMPONENT_CLASSES: ClassVar[set[str]] = TONE_CLASSES | {"timeline--cursor"}
    DEFAULT_CSS = """
    TimelineView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; height: 1fr; }
    TimelineView .timeline--cursor { background: $block-cursor-blurred-background; text-style: bold; }
    """ + tone_css("TimelineView")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._rows: tuple[TicketSnapshot, ...] = ()
        self._timeline: Timeline | None = None
        self._window = Window(0.0, 1, 0)
        self._now = 0.0
        self._label = 0
        self._cursor = 0
        self._drawn: dict[str, tuple[object, Strip]] = {}
        self.built = 0
        """Rows drawn anew since the start, for tests."""

    @property
    def label(self) -> int:
        """How many cells stand before the time."""
        return self._label

    @property
    def time_cells(self) -> int:
        """How many cells there are for the time."""
        return max(0, self.scrollable_content_region.width - self._label)

    @property
    def picked(self) -> str | None:
        """Id of the ticket under the cursor; None where there are none."""
        return self._rows[self._cursor].id if self._rows else None

    def fit(self, rows: Sequence[TicketSnapshot]) -> int:
        """Make room for the names of tickets, and return how many cells are left for the time."""
        self._label = label_cells(rows, self.scrollable_content_region.width)
        return self.time_cells

    def show(self, rows: Sequence[TicketSnapshot], timeline: Timeline, window: Window, now: float) -> None:
        """Show these tickets' time as of ``now``. Their names must have been made room for by `fit`."""
        before, self._rows = self._rows, tuple(rows)
        is_other = (window, timeline) != (self._window, self._timeline)
        self._timeline, self._window, self._now = timeline, window, now
        if is_other or [t.id for t in before] != [t.id for t in self._rows]:
            self._cursor = max(0, min(self._cursor, len(self._rows) - 1))
            self._drawn = {t.id: self._drawn[t.id] for t in self._rows if t.id in self._drawn}
            self.measure()
            self.refresh()
            return
        for place in self.in_view:
            ticket = self._rows[place]
            drawn = self._drawn.get(ticket.id)
            if drawn is not None and drawn[0] != self._state(place):
                self.refresh_line(place + self.HEADER)

    def select(self, ticket: str) -> None:
        """Put the cursor on a ticket; unknown ones change nothing."""
        place = next((place for place, row in enumerate(self._rows) if row.id == ticket), None)
        if place is not None:
            self.go_to(place)

    # Places

    @property
    def row_count(self) -> int:
        """How many tickets there are."""
        return len(self._rows)

    @property
    def place(self) -> int:
        """Place of the ticket under the cursor."""
        return self._cursor

    def go_to(self, place: int) -> None:
        """Put the cursor on the ticket in a place."""
        before, self._cursor = self._cursor, place
        for line in (before, place):
            self.refresh_line(line + self.HEADER)
        self.reveal()

    def on_resize(self) -> None:
        """Draw every row in the new width."""
        self.forget_lines()

    # Drawing

    def forget_lines(self) -> None:
        """Draw every row anew when it is next shown."""
        self._drawn.clear()

    def draw_header(self, y: int, width: int) -> Strip:
        """Draw the axis."""
        return self.palette.line(((" " * self._label, Tone.FAINT), (axis(self._window, self._now), Tone.MUTED)), width)

    def draw_row(self, place: int, width: int) -> Strip:
        """Draw a ticket."""
        if place >= len(self._rows):
            return self.palette.line((), width)
        state, ident = self._state(place), self._rows[place].id
        drawn = self._drawn.get(ident)
        if drawn is None or drawn[0] != state or drawn[1].cell_length != width:
            self.built += 1
            drawn = self._drawn[ident] = (state, self._strip(place, width))
        return drawn[1]

    def _state(self, place: int) -> object:
        """Return everything that decides how a row looks."""
        ticket, lane = self._rows[place], self._lane(place)
        known = (ticket.state, ticket.spent_usd, ticket.estimated_usd, lane.version if lane is not None else -1)
        return known, self._window, self._label, place == self._cursor

    def _strip(self, place: int, width: int) -> Strip:
        is_cursor = place == self._cursor
        margin: Piece = ("▸ " if is_cursor else "  ", Tone.ACCENT)
        cell = (margin, *label(self._rows[place], self._label), *lane_cell(self._lane(place), self._window, self._now))
        return self.palette.strip(cell, width, self._under() if is_cursor else None)

    def _under(self) -> Style:
        return self.get_component_rich_style("timeline--cursor", partial=True)

    def _lane(self, place: int) -> Lane | None:
        return self._timeline.lanes.get(self._rows[place].id) if self._timeline is not None else None


class CostGraph(LineBar):
    """What was spent over the time in view."""

    ROWS = 3
    DEFAULT_CSS = """
    CostGraph { height: 3; }
    """ + tone_css("CostGraph")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._lines: tuple[Cell, ...] = ()

    def show(self, timeline: Timeline, window: Window, now: float, margin: int, total: str) -> None:
        """Show what was spent, with a total that is safe to draw in the margin of so many cells."""
        words = (total, "spent in all", "")
        rows = cost_rows(timeline, window, now, self.ROWS)
        lines = tuple(
            ((fit(f"  {text}", margin), Tone.MUTED if y else Tone.STRONG), (row, Tone.ACCENT))
            for y, (text, row) in enumerate(zip(words, rows, strict=True))
        )
        if lines != self._lines:
            self._lines = lines
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a row."""
        return self.palette.line(self._lines[y] if y < len(self._lines) else (), self.size.width)
