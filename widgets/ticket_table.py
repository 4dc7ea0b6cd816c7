"""The board's table: one line for each ticket, drawn from frozen snapshots.

A line-API view with one cached strip for each row. ``show`` compares snapshots by identity and repaints only the
visible rows that changed; a second that passes repaints only rows that show a running age or a countdown. The cursor
belongs to a ticket, not to a place, and so does what is in view: when the order changes, the ticket that is looked at
stays on its line of the screen. Headings between groups are passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from widgets import columns as cols
from widgets.cells import Piece, Tone
from widgets.lines import LineView
from widgets.roster import Roster, heading_line, runs
from widgets.row_painter import Place, RowPainter
from widgets.tones import TONE_CLASSES, tone_css

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.style import Style
    from textual import events
    from textual.strip import Strip

    from supervisor.core.model import TicketSnapshot
    from supervisor.core.ordering import Sort
    from widgets.roster import Shape

HEADER = 1
"""Lines above the first row that do not scroll."""


class TicketTable(LineView):
    """All tickets, one line each."""

    COMPONENT_CLASSES: ClassVar[set[str]] = TONE_CLASSES | {
        "ticket-table--cursor",
        "ticket-table--cursor-blurred",
    }
    DEFAULT_CSS = """
    TicketTable { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; height: 1fr; }
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

    class SortAsked(Message):
        """The operator clicked on the header of a column that can be sorted by."""

        def __init__(self, sort: Sort) -> None:
            super().__init__()
            self.sort = sort

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._roster = Roster(())
        self._now = 0.0
        self._cursor: str | None = None
        """The ticket the cursor was last on; it may be gone where there are no rows."""
        self._marked: frozenset[str] = frozenset()
        self._painter = RowPainter()

    # What others see and do

    @property
    def cursor_ticket(self) -> str | None:
        """Id of the ticket under the cursor; None when there are no tickets."""
        return self._cursor if self._cursor in self._roster.places else None

    @property
    def marked(self) -> frozenset[str]:
        """Ids of the marked tickets, also of those that are not shown."""
        return self._marked

    @property
    def strips_built(self) -> int:
        """Rows drawn anew since the start, for benchmarks and tests."""
        return self._painter.built

    def mark(self, tickets: Iterable[str]) -> None:
        """Mark exactly these tickets."""
        changed, self._marked = self._marked.symmetric_difference(tickets), frozenset(tickets)
        for ticket in changed:
            self._repaint(ticket)

    def shows(self, ticket_id: str) -> bool:
        """Return whether a ticket has a row, in view or not."""
        return ticket_id in self._roster.places

    def show(self, rows: Sequence[TicketSnapshot], now: float, shape: Shape | None = None) -> None:
        """Show these tickets as of ``now``, repainting only what differs from the last call.

        Args:
            rows: The tickets from top to bottom.
            now: Seconds since the epoch.
            shape: Groups and indents; None keeps the last one, which at first is none.
        """
        self._now = now
        old = self._roster.rows
        if not self._roster.replace(rows, shape):
            self._restructure(Roster(rows, shape or self._roster.shape))
            return
        changed = [
            line
            for line in self._visible()
            if isinstance(place := self._roster.on(line), int)
            and (rows[place] is not old[place] or self._painter.is_stale(rows[place], now))
        ]
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
        self.reveal()
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
        if (ticket := self.cursor_ticket) is not None:
            self.post_message(self.Opened(ticket))

    def on_click(self, event: events.Click) -> None:
        """Select the row under the pointer; a double click opens it. On the header, ask for another order."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.y < HEADER:
            column = cols.column_at(self._painter.columns, offset.x)
            if column is not None and column.sort is not None:
                self.post_message(self.SortAsked(column.sort))
            return
        place = self._roster.on(offset.y - HEADER + self.scroll_offset.y)
        if isinstance(place, int):
            self._select_place(place)
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
        self.reveal()

    def scroll_lines(self, by: int) -> None:
        """Scroll, and leave the cursor where it is."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, force=True)

    # Drawing

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw the header, which stays, a row or a heading."""
        if y < HEADER:
            return self._painter.header(self._roster.shape.sort, width, self.palette)
        what = self._roster.on(y - HEADER + top)
        if isinstance(what, int):
            return self._row_strip(what, width)
        if what is not None:
            return self.palette.line(heading_line(what, width), width)
        is_empty = not self._roster.rows and y == HEADER + 1
        pieces: list[Piece] = [(f"  {self._roster.shape.empty}", Tone.MUTED)] if is_empty else []
        return self.palette.line(tuple(pieces), width)

    def _row_strip(self, place: int, width: int) -> Strip:
        ticket = self._roster.rows[place]
        look = Place(self._roster.depth(place), ticket.id == self._cursor, ticket.id in self._marked)
        return self._painter.row(ticket, look, self._now, width, self.palette, self._under(look.cursor))

    def _under(self, cursor: bool) -> Style | None:
        if not cursor:
            return None
        name = "ticket-table--cursor" if self.has_focus else "ticket-table--cursor-blurred"
        return self.get_component_rich_style(name, partial=True)

    # Places

    @property
    def _room(self) -> int:
        """Lines that fit below the header."""
        return max(0, self.scrollable_content_region.height - HEADER)

    def _visible(self) -> range:
        top = self.scroll_offset.y
        return range(top, min(self._roster.height, top + self._room))

    def _place(self) -> int:
        return self._roster.places.get(self._cursor or "", 0)

    def _select_place(self, place: int) -> None:
        if ticket := self._roster.at(place):
            self.select(ticket.id)

    def _repaint(self, ticket_id: str | None) -> None:
        place = self._roster.places.get(ticket_id or "")
        if place is None or ticket_id is None:
            return
        self._painter.drop(ticket_id)
        if (line := self._roster.line_of(place)) in self._visible():
            self.refresh_line(line + HEADER)

    def reveal(self) -> None:
        """Bring the cursor into view, with the heading above it where it begins a group."""
        first, last = self._roster.top_of(self._place()), self._roster.line_of(self._place())
        top, room = self.scroll_offset.y, self._room
        if room and first < top:
            self._scroll(max(first, last - room + 1))
        elif room and last >= top + room:
            self._scroll(last - room + 1)

    def _scroll(self, top: int) -> None:
        self.scroll_to(y=top, animate=False, force=True)

    def lay_out_lines(self, width: int) -> None:
        """Choose the columns."""
        self._painter.fit(width, self._roster.id_cells)

    def forget_lines(self) -> None:
        """Draw every row anew when it is next shown."""
        self._painter.forget()

    def _restructure(self, roster: Roster) -> None:
        """Take over tickets that came, went or moved."""
        old, place, held = self._roster, self._place(), self._held()
        was_in_view = old.line_of(place) in self._visible()
        self._roster = roster
        self._painter.keep(roster.places)
        self._measure()
        self.refresh()
        if held is not None and held[0] in roster.places:
            self._scroll(roster.line_of(roster.places[held[0]]) - held[1])
        if self._cursor not in roster.places:
            if roster.rows:
                self.select(old.nearest(place, roster.places) or roster.rows[0].id)
        elif was_in_view:
            self.reveal()

    def _held(self) -> tuple[str, int] | None:
        """Return the ticket that stays on its line of the screen, and that line; at the top nothing is held."""
        visible = self._visible()
        if not visible.start:
            return None
        cursor = self._roster.line_of(self._place())
        for line in (cursor, *visible):
            if line in visible and isinstance(place := self._roster.on(line), int):
                return self._roster.rows[place].id, line - visible.start
        return None

    def _measure(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, self._roster.height + HEADER)
