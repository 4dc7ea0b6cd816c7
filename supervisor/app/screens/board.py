"""The board: every ticket on a line, the selected one's conversation below, and the keys that apply."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Container, Vertical
from textual.events import DescendantFocus

from supervisor.app.commands import APP_COMMANDS, BOARD_COMMANDS, command_bindings, verb_bindings
from supervisor.app.docket import Docket
from supervisor.app.glance import GlanceCard
from supervisor.app.histories import Histories
from supervisor.app.own_keys import shown
from supervisor.app.pending import PendingMessages
from supervisor.app.screens.acting import ActingScreen
from supervisor.app.screens.compare import CompareScreen
from supervisor.app.screens.inbox import InboxScreen
from supervisor.app.screens.ledger import LedgerScreen
from supervisor.app.screens.listing import FILTER_HINTS
from supervisor.app.screens.ticket import CHANGES, TicketScreen
from supervisor.app.screens.timeline import TimelineScreen
from supervisor.app.tabs.transcript import nothing_yet
from supervisor.app.waiting import is_answerable, line_of, waiting_items
from widgets.facts_line import FactsLine
from widgets.items import urgency
from widgets.summary_bar import SummaryBar
from widgets.ticket_table import TicketTable
from widgets.transcript import TranscriptView
from widgets.verb_footer import Hint, VerbFooter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from supervisor.app.ports import BatchPort
    from supervisor.app.screens.items import ItemsScreen
    from supervisor.core.model import BatchTotals, TicketSnapshot

_ALWAYS: tuple[Hint, ...] = tuple((c.shown, c.label) for c in APP_COMMANDS if c.in_footer)
_BOARD_HINTS: tuple[Hint, ...] = tuple((c.shown, c.label) for c in BOARD_COMMANDS if c.in_footer)
_FILTER_HINT: tuple[Hint, ...] = tuple((c.shown, c.label) for c in BOARD_COMMANDS if c.name == "filter")
"""Kept where others give way: without it nobody finds a ticket among hundreds."""

_COMMANDS = {command.name: command for command in BOARD_COMMANDS}
_READING_HINTS: tuple[Hint, ...] = (("enter", "fold"), ("/", "find"), ("tab", "table"))
"""While the keys are in the transcript, where some of them mean something else."""


class BoardScreen(ActingScreen):
    """The screen that is always there. Drawn by `show`, which the app calls once a frame when something changed."""

    BINDINGS: ClassVar[list[BindingType]] = [*command_bindings(BOARD_COMMANDS), *verb_bindings()]
    HORIZONTAL_BREAKPOINTS = [(0, "-stacked"), (160, "-wide"), (230, "-beside")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (50, "-high")]  # noqa: RUF012

    def __init__(self, port: BatchPort, clock: Callable[[], float]) -> None:
        super().__init__(port, clock)
        self._needs = 0
        """How many things need the operator, as drawn above."""
        self.docket = Docket(port)
        self.histories = Histories(port, clock)
        self._pending: PendingMessages | None = None
        """Of the selected ticket."""
        self._is_stopping = False
        self.transcript = TranscriptView(id="transcript")
        self._glance = GlanceCard(port, id="glance")
        self._summary, self._facts, self._footer = SummaryBar(), FactsLine(), VerbFooter()

    def compose(self) -> ComposeResult:
        """Lay out the widgets; ``supervisor.tcss`` places them."""
        yield self._summary
        yield self.filter_bar
        with Container(id="body"):
            yield self.table
            with Container(id="lower"):
                with Vertical(id="talk"):
                    yield self._facts
                    yield self.transcript
                yield self._glance
        yield self._footer

    def on_mount(self) -> None:
        """Draw what is there already, and let the keys move the cursor."""
        self.show()
        self.table.focus()

    def on_screen_resume(self) -> None:
        """Draw what happened while another screen hid this one."""
        if self.is_mounted:
            self.show()

    # Drawing

    @property
    def has_news(self) -> bool:
        """Whether there is something to read of the selected ticket that changed nothing else, or rows may move."""
        ticket = self.table.cursor_ticket
        if ticket is not None and self.port.board.transcript(ticket).next_seq > self.transcript.wants(ticket):
            return True
        is_told = self._pending is not None and self._pending.is_new
        return is_told or self.has_moves or self._glance.has_news

    def show(self) -> None:
        """Draw the board as it is: each widget repaints only what differs."""
        totals = self._totals()
        self._needs = totals.needs_you
        self.show_list()
        waiting = sorted(waiting_items(self.port.board, self.docket), key=urgency)
        self._summary.show(totals, waiting, len(self.table.marked), len(self.hidden_marks))
        self._show_selected()

    def tick(self) -> None:
        """Let time pass on what shows a running age or a countdown."""
        self.table.tick(self._clock())
        self._glance.show_ticket(self.selected, self._clock())

    def show_stopping(self) -> None:
        """Say at once that the batch is being stopped, before the engine does."""
        self._is_stopping = True
        self.show()

    def _totals(self) -> BatchTotals:
        totals = self.port.board.totals()
        if self._is_stopping and not totals.stopping:
            return replace(totals, stopping=True, notice=totals.notice or "stopping…")
        return totals

    def _show_selected(self) -> None:
        ticket = self.selected
        self._facts.show(ticket)
        self._show_transcript(ticket)
        self._glance.show_ticket(ticket, self._clock())
        if self.filter_bar.is_editing:
            self._footer.show(FILTER_HINTS, ())
            return
        if self.transcript.has_focus:
            self._footer.show([*self._calls(), *_READING_HINTS, *self.verb_hints()], _ALWAYS)
            return
        hints = [*self._calls(), *self._mark_hints(), *self.verb_hints(), *_BOARD_HINTS]
        self._footer.show(hints, (*_FILTER_HINT, *_ALWAYS))

    def _show_transcript(self, ticket: TicketSnapshot | None) -> None:
        if ticket is None:
            self.transcript.show(None, None)
            return
        self.histories.want(ticket)
        if self._pending is None or self._pending.ticket != ticket.id:
            self._pending = PendingMessages(self.port, ticket.id)
        said, pending = self.port.board.transcript(ticket.id), self._pending.entries(ticket, self._clock())
        self.transcript.show(ticket.id, said, nothing_yet(ticket), pending)

    def _calls(self) -> Sequence[Hint]:
        """Return the keys that lead to what waits for the operator; they come before everything else."""
        answer: list[Hint] = [("a", "answer")] if is_answerable(self.port.board, self.selected) else []
        inbox: list[Hint] = [("!", f"needs you {self._needs}")] if self._needs else []
        return [*answer, *inbox]

    def _mark_hints(self) -> Sequence[Hint]:
        """Return the keys for marks: two tickets can be compared, and there is a way back from marks."""
        if not self.table.marked:
            return ()
        back: Hint = (shown(_COMMANDS["unmark"], self.app), "unmark")
        return ((shown(_COMMANDS["changes"], self.app), "compare"), back) if len(self.targets) == 2 else (back,)

    @on(TicketTable.Highlighted)
    def _selection_changed(self) -> None:
        self._show_selected()

    @on(DescendantFocus)
    def _focus_changed(self) -> None:
        self._facts.activate(self.transcript.has_focus)
        self.show()

    # Keys

    @on(TicketTable.Opened)
    def action_open(self) -> None:
        """Open the selected ticket's own screen."""
        if self.selected is not None:
            self.open_ticket(self.selected.id)

    def action_changes(self) -> None:
        """Show what the selected ticket changed; of two marked ones what each of them did."""
        marked = [ticket.id for ticket in self.targets]
        if len(marked) == 2:
            self.app.push_screen(CompareScreen(self.port, self._clock, (marked[0], marked[1])))
        elif self.selected is not None:
            self.open_ticket(self.selected.id, CHANGES)

    def action_timeline(self) -> None:
        """Show all tickets over time."""
        selected = self.selected.id if self.selected is not None else None
        self.app.push_screen(TimelineScreen(self.port, self._clock, selected), self._came_from_timeline)

    def _came_from_timeline(self, ticket: str | None) -> None:
        if ticket is not None:
            self._came_back(ticket)
            self.open_ticket(ticket)

    def open_ticket(self, ticket: str, place: int = 0) -> None:
        """Open a ticket's own screen at one of its views."""
        self.app.push_screen(TicketScreen(self, self._clock, ticket, place), self._came_back)

    def action_back(self) -> None:
        """Go back to the table; from there take the marks away, then the filter."""
        if self.table.marked and self.table.has_focus:
            self.table.mark(())
        elif self.table.has_focus:
            self.filter_bar.clear()
        self.table.focus()
        self.show()

    def action_switch_focus(self) -> None:
        """Go to the other one of table and transcript."""
        (self.transcript if self.table.has_focus else self.table).focus()

    def action_inbox(self) -> None:
        """Show everything that waits."""
        self._open(InboxScreen(self.port, self._clock, self.docket, self.desk))

    def action_answer(self) -> None:
        """Show what waits, beginning at what the selected ticket waits for."""
        line = line_of(self.port.board, self.selected) if self.selected is not None else None
        self._open(InboxScreen(self.port, self._clock, self.docket, self.desk, line))

    def action_ledger(self) -> None:
        """Show all effects."""
        self._open(LedgerScreen(self.port, self._clock, self.docket))

    def _open(self, screen: ItemsScreen) -> None:
        self.app.push_screen(screen, self._came_back)

    def _came_back(self, ticket: str | None) -> None:
        if ticket is not None:
            self.show()
            self.go_to(ticket)
