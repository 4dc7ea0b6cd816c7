"""The board's table: one line for each ticket, drawn from frozen snapshots.

A line-API view with one cached strip for each row. ``show`` compares snapshots by identity and repaints only the
visible rows that changed; a second that passes repaints only rows that show a running age or a countdown. The cursor
belongs to a ticket, not to a place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from widgets import columns as cols
from widgets import formatting as fmt
from widgets.cells import Piece, Tone
from widgets.lines import LineView
from widgets.roster import Roster, runs
from widgets.tones import TONE_CLASSES, tone_css

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.style import Style
    from textual import events
    from textual.strip import Strip

    from supervisor.core.model import TicketSnapshot

HEADER = 1
"""Lines above the first row that do not scroll."""
_EMPTY = "no tickets yet"
_MOST_DRAWN = 1_000
"""Rows remembered as drawn; more than any terminal has."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A row as it was last drawn, and everything that decided how it looks."""

    ticket: TicketSnapshot
    cursor: bool
    marked: bool
    clock: tuple[str, ...]
    strip: Strip


class TicketTable(LineView):
    """All tickets, one line each."""

    COMPONENT_CLASSES: ClassVar[set[str]] = TONE_CLASSES | {
        "ticket-table--header",
        "ticket-table--cursor",
        "ticket-table--cursor-blurred",
    }
    DEFAULT_CSS = """
    TicketTable { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; height: 1fr; }
    TicketTable .ticket-table--header { color: $text-muted; text-style: none; }
    TicketTable .ticket-table--cursor { background: $block-cursor-blurred-background; text-style: bold; }
    TicketTable .ticket-table--cursor-blurred { background: $boost; }
    """ + tone_css("TicketTable")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Next ticket", show=False),
        Binding("k,up", "move(-1)", "Previous ticket", show=False),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", show=False),
        Binding("home", "edge(0)", "First ticket", show=False),
        Binding("end,G", "edge(-1)", "Last ticket", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    class Highlighted(Message):
        """The cursor is on another ticket."""

        def __init__(self, ticket_id: str) -> None:
            super().__init__()
            self.ticket_id = ticket_id

    class Opened(Message):
        """The operator wants to see all of a ticket."""

        def __init__(self, ticket_id: str) -> None:
            super().__init__()
            self.ticket_id = ticket_id

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._roster = Roster(())
        self._now = 0.0
        self._cursor: str | None = None
        self._marked: frozenset[str] = frozenset()
        self._drawn: dict[str, _Drawn] = {}
        self._columns: tuple[cols.Column, ...] = ()
        self._columns_for = (-1, -1)
        self._shows_ages = False
        self._header: Strip | None = None
        self.strips_built = 0
        """Rows drawn anew since the start, for benchmarks and tests."""

    # What others see and do

    @property
    def cursor_ticket(self) -> str | None:
        """Id of the ticket under the cursor; None when there are no tickets."""
        return self._cursor

    @property
    def marked(self) -> frozenset[str]:
        """Ids of the marked tickets."""
        return self._marked

    def mark(self, tickets: Iterable[str]) -> None:
        """Mark exactly these tickets."""
        changed, self._marked = self._marked.symmetric_difference(tickets), frozenset(tickets)
        for ticket in changed:
            self._repaint(ticket)

    def show(self, rows: Sequence[TicketSnapshot], now: float) -> None:
        """Show these tickets as of ``now``, repainting only what differs from the last call."""
        self._now = now
        old = self._roster.rows
        if not self._roster.replace(rows):
            self._restructure(Roster(rows))
            return
        changed = [i for i in self._visible() if rows[i] is not old[i] or self._is_stale(rows[i])]
        for first, last in runs(changed):
            self.refresh_lines(first + HEADER, last - first + 1)

    def tick(self, now: float) -> None:
        """Let time pass: repaint the visible rows whose ages or countdowns read differently now."""
        self.show(self._roster.rows, now)

    def select(self, ticket_id: str) -> None:
        """Put the cursor on a ticket and bring it into view; unknown ids change nothing."""
        if ticket_id == self._cursor or ticket_id not in self._roster.places:
            return
        before, self._cursor = self._cursor, ticket_id
        self._repaint(before)
        self._repaint(ticket_id)
        self._reveal()
        self.post_message(self.Highlighted(ticket_id))

    # Keys and mouse

    def action_move(self, by: int) -> None:
        """Move the cursor by so many rows."""
        self._select_place(self._place() + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by so many pages."""
        self._select_place(self._place() + by * max(1, self._room - 1))

    def action_edge(self, place: int) -> None:
        """Move the cursor to the first row (0) or the last (-1)."""
        self._select_place(place % max(1, len(self._roster.rows)))

    def action_open(self) -> None:
        """Open the ticket under the cursor."""
        if self._cursor is not None:
            self.post_message(self.Opened(self._cursor))

    def on_click(self, event: events.Click) -> None:
        """Select the row under the pointer; a double click opens it."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y < HEADER:
            return
        place = offset.y - HEADER + self.scroll_offset.y
        if place < len(self._roster.rows):
            self.select(self._roster.rows[place].id)
            if event.chain == 2:
                self.action_open()

    def on_focus(self) -> None:
        """Show that keys move the cursor."""
        self._repaint(self._cursor)

    def on_blur(self) -> None:
        """Show that keys go elsewhere."""
        self._repaint(self._cursor)

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._measure()
        self._reveal()

    def scroll_lines(self, by: int) -> None:
        """Scroll, and leave the cursor where it is."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, force=True)

    # Drawing

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw the header, which stays, or a row."""
        if y < HEADER:
            return self._header_strip(width)
        place = y - HEADER + top
        rows = self._roster.rows
        if place < len(rows):
            return self._row_strip(rows[place], width)
        pieces: list[Piece] = [(f"  {_EMPTY}", Tone.MUTED)] if not rows and y == HEADER + 1 else []
        return self.palette.strip(pieces, width)

    def _row_strip(self, ticket: TicketSnapshot, width: int) -> Strip:
        cursor, marked = ticket.id == self._cursor, ticket.id in self._marked
        clock = self._clock(ticket)
        old = self._drawn.get(ticket.id)
        if old and old.ticket is ticket and old.clock == clock and (old.cursor, old.marked) == (cursor, marked):
            return old.strip
        strip = self.palette.strip(self._pieces(ticket, cursor, marked), width, self._under(cursor))
        self.strips_built += 1
        self._drawn[ticket.id] = _Drawn(ticket, cursor, marked, clock, strip)
        return strip

    def _pieces(self, ticket: TicketSnapshot, cursor: bool, marked: bool) -> list[Piece]:
        margin: Piece = (f"{'▸' if cursor else ' '}{'◆' if marked else ' '}", Tone.ACCENT)
        look = cols.Look(self._now, self._roster.depth(ticket.id))
        return [margin, *cols.row(ticket, self._columns, look)]

    def _under(self, cursor: bool) -> Style | None:
        if not cursor:
            return None
        name = "ticket-table--cursor" if self.has_focus else "ticket-table--cursor-blurred"
        return self.get_component_rich_style(name, partial=True)

    def _header_strip(self, width: int) -> Strip:
        if self._header is None:
            style = self.palette["ticket-table--header"]
            self._header = self.palette.strip([(cols.header(self._columns), Tone.MUTED)], width, style)
        return self._header

    def _clock(self, ticket: TicketSnapshot) -> tuple[str, ...]:
        return fmt.moving_words(ticket, self._now, ages=self._shows_ages)

    def _is_stale(self, ticket: TicketSnapshot) -> bool:
        old = self._drawn.get(ticket.id)
        return old is not None and old.clock != self._clock(ticket)

    # Places

    @property
    def _room(self) -> int:
        """Rows that fit below the header."""
        return max(0, self.scrollable_content_region.height - HEADER)

    def _visible(self) -> range:
        top = self.scroll_offset.y
        return range(top, min(len(self._roster.rows), top + self._room))

    def _place(self) -> int:
        return self._roster.places.get(self._cursor or "", 0)

    def _select_place(self, place: int) -> None:
        if ticket := self._roster.at(place):
            self.select(ticket.id)

    def _repaint(self, ticket_id: str | None) -> None:
        place = self._roster.places.get(ticket_id or "")
        if place is None or ticket_id is None:
            return
        self._drawn.pop(ticket_id, None)
        if place in self._visible():
            self.refresh_line(place + HEADER)

    def _reveal(self) -> None:
        place, top, room = self._place(), self.scroll_offset.y, self._room
        if room and not top <= place < top + room:
            self.scroll_to(y=place if place < top else place - room + 1, animate=False, force=True)

    def lay_out_lines(self, width: int) -> None:
        """Choose the columns."""
        if len(self._drawn) > _MOST_DRAWN:
            self._drawn.clear()
        if self._columns_for != (width, self._roster.id_cells):
            self._columns_for = (width, self._roster.id_cells)
            self._columns = cols.arrange(width, cols.id_width(self._roster.id_cells, width))
            self._shows_ages = any(c.name in ("age", "last") for c in self._columns)
            self.forget_lines()

    def forget_lines(self) -> None:
        """Draw every row anew when it is next shown."""
        self._drawn.clear()
        self._header = None

    def _restructure(self, roster: Roster) -> None:
        """Take over tickets that came, went or moved."""
        place = self._place()
        self._roster = roster
        self._marked = self._marked & roster.places.keys()
        self._drawn = {ticket: drawn for ticket, drawn in self._drawn.items() if ticket in roster.places}
        self._measure()
        self.refresh()
        if self._cursor not in roster.places:
            self._cursor = None
            self._select_place(place)

    def _measure(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._roster.rows) + HEADER)
