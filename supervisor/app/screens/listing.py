"""The board's list: filter, order, groups and marks, and the keys that move between tickets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.events import DescendantFocus
from textual.screen import Screen

from supervisor.app.arrangement import Arrangement
from supervisor.core.ordering import Sort
from supervisor.core.query import FIELDS
from widgets.cells import drawable
from widgets.filter_bar import FilterBar, status
from widgets.ticket_table import TicketTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events

    from supervisor.app.ports import BatchPort
    from supervisor.core.query import Filter
    from widgets.verb_footer import Hint

FILTER_HINTS: tuple[Hint, ...] = (
    ("enter", "keep"),
    ("esc", "clear"),
    ("!", "not"),
    *((field.example, "") for field in FIELDS),
)
"""For the footer, while the filter is typed and other keys do nothing else."""
_NAMED = 4
"""Most hidden tickets that a question names."""


class ListingScreen(Screen[None]):
    """A table of tickets with the filter above it. Whoever derives from it lays the two out, and draws in `show`."""

    def __init__(self, port: BatchPort, clock: Callable[[], float]) -> None:
        super().__init__()
        self.port = port
        self._clock = clock
        self.table = TicketTable(id="tickets")
        self.arrangement = Arrangement()
        self.filter_bar = FilterBar(self.table, self._filter_changed, id="filter")
        self._origin: str | None = None
        """The ticket that was selected when the operator began to type a filter."""

    # Drawing

    def show(self) -> None:
        """Draw the board as it is."""
        raise NotImplementedError

    def show_list(self) -> None:
        """Draw the table and the line above it."""
        now, listed = self._clock(), self.arrangement
        listed.update(self.port.board.rows(), now, self.port.board.waiting.ids)
        self.table.show(listed.rows, now, listed.shape)
        words = status(len(listed.rows), listed.total, listed.filter, listed.sort, listed.group)
        self.filter_bar.show(words, is_plain=listed.is_plain)

    @property
    def has_moves(self) -> bool:
        """Whether rows wait to be moved, and may be by now."""
        return self.arrangement.is_due(self._clock())

    @property
    def hidden_marks(self) -> list[str]:
        """The marked tickets that are not listed, in no order."""
        return [ticket for ticket in self.table.marked if not self.table.shows(ticket)]

    def _filter_changed(self, only: Filter) -> None:
        self.arrangement.ask(only=only)
        self._show_asked()
        if self._origin is not None and self.filter_bar.is_editing:
            self.table.select(self._origin)

    def _show_asked(self) -> None:
        self.show()
        self.table.reveal()

    @on(TicketTable.SortAsked)
    def _header_clicked(self, event: TicketTable.SortAsked) -> None:
        self.arrangement.ask(sort=Sort.FILE if event.sort is self.arrangement.sort else event.sort)
        self._show_asked()

    @on(DescendantFocus)
    def _typing_ended(self) -> None:
        if not self.filter_bar.is_editing:
            self._origin = None

    def on_key(self, _: events.Key) -> None:
        """Let the rows stand still for a while: the operator is looking at them."""
        self.arrangement.touched(self._clock())

    # Keys

    def _to_table(self) -> None:
        self.set_focus(self.table)

    def action_filter(self) -> None:
        """Take the next keys as a filter."""
        self._to_table()
        self._origin = self.table.cursor_ticket
        self.filter_bar.edit()
        self.show()

    def action_sort(self) -> None:
        """Sort by the next thing there is to sort by."""
        self._to_table()
        self.arrangement.ask(sort=self.arrangement.sort.next())
        self._show_asked()

    def action_group(self) -> None:
        """Group by the next thing there is to group by."""
        self._to_table()
        self.arrangement.ask(group=self.arrangement.group.next())
        self._show_asked()

    def action_mark(self) -> None:
        """Mark or unmark the selected ticket and go on to the next."""
        if self.table.cursor_ticket is not None:
            self.table.mark(self.table.marked ^ {self.table.cursor_ticket})
            self.table.action_move(1)
            self.show()

    def action_mark_all(self) -> None:
        """Mark all tickets that are listed; take all marks away if they are marked already."""
        self._to_table()
        listed = {ticket.id for ticket in self.arrangement.rows}
        self.table.mark(() if listed <= self.table.marked else self.table.marked | listed)
        self.show()

    def action_next_waiting(self) -> None:
        """Go to the next ticket that needs the operator, round and round: first those listed below, then the hidden."""
        listed = self.arrangement.rows
        here = next((place for place, t in enumerate(listed) if t.id == self.table.cursor_ticket), -1)
        hidden = [t for t in self.port.board.rows() if not self.table.shows(t.id)]
        needs = self.port.board.waiting.needs
        found = next((t for t in (*listed[here + 1 :], *hidden, *listed[: here + 1]) if needs(t)), None)
        if found is None:
            self.notify("Nothing needs you.", markup=False, timeout=3)
        else:
            self.go_to(found.id)

    def go_to(self, ticket_id: str) -> None:
        """Select a ticket; a filter that hides it gives way."""
        if ticket_id in self.port.board and not self.table.shows(ticket_id):
            self.filter_bar.clear()
            self.notify(f"Filter cleared: it hid {drawable(ticket_id)}.", markup=False, timeout=4)
        self.table.select(ticket_id)

    # Marks

    def hidden_words(self, tickets: Sequence[str]) -> str:
        """Return which of some tickets are not listed, safe to draw; empty where all are."""
        hidden = [drawable(ticket) for ticket in tickets if not self.table.shows(ticket)]
        if not hidden:
            return ""
        names = ", ".join(hidden[:_NAMED]) + (f" and {len(hidden) - _NAMED} more" if len(hidden) > _NAMED else "")
        return f"The filter hides {len(hidden)} of them: {names}."
