"""The board: every ticket on a line, the selected one's conversation below, and the keys that apply."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Container, Vertical
from textual.events import DescendantFocus
from textual.screen import Screen

from supervisor.app.commands import APP_COMMANDS, BOARD_COMMANDS, command_bindings, verb_bindings
from supervisor.app.docket import Docket
from supervisor.app.screens.inbox import InboxScreen
from supervisor.app.screens.ledger import LedgerScreen
from supervisor.app.waiting import WAITING, effect_of, other_tickets, waiting_effects, waiting_tickets
from supervisor.core.verbs import VERBS, Verb
from widgets.cells import drawable
from widgets.facts_line import FactsLine
from widgets.formatting import reason
from widgets.summary_bar import SummaryBar
from widgets.ticket_table import TicketTable
from widgets.transcript import TranscriptView
from widgets.verb_footer import Hint, VerbFooter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from supervisor.app.ports import BatchPort
    from supervisor.app.screens.effects import EffectsScreen
    from supervisor.core.effects import EffectView
    from supervisor.core.model import BatchTotals, TicketSnapshot

_VERBS = {verb.name: verb for verb in VERBS}
_ALWAYS: tuple[Hint, ...] = tuple((c.shown, c.label) for c in APP_COMMANDS if c.in_footer)
_BOARD_HINTS: tuple[Hint, ...] = tuple((c.shown, c.label) for c in BOARD_COMMANDS if c.in_footer)


class BoardScreen(Screen[None]):
    """The screen that is always there. Drawn by `show`, which the app calls once a frame when something changed."""

    BINDINGS: ClassVar[list[BindingType]] = [*command_bindings(BOARD_COMMANDS), *verb_bindings()]
    HORIZONTAL_BREAKPOINTS = [(0, "-stacked"), (230, "-beside")]  # noqa: RUF012

    def __init__(self, port: BatchPort, clock: Callable[[], float]) -> None:
        super().__init__()
        self.port = port
        self._clock = clock
        self._waiting: tuple[TicketSnapshot, ...] = ()
        self._effects: tuple[EffectView, ...] = ()
        """The effects that wait, as of `_effects_version`."""
        self._effects_version = -1
        self._inbox = 0
        """How many items the inbox holds."""
        self.docket = Docket(port)
        self._is_stopping = False
        self.table = TicketTable(id="tickets")
        self.transcript = TranscriptView(id="transcript")
        self._summary, self._facts, self._footer = SummaryBar(), FactsLine(), VerbFooter()

    def compose(self) -> ComposeResult:
        """Lay out the widgets; ``supervisor.tcss`` places them."""
        yield self._summary
        with Container(id="body"):
            yield self.table
            with Vertical(id="talk"):
                yield self._facts
                yield self.transcript
        yield self._footer

    def on_mount(self) -> None:
        """Draw what is there already, and let the keys move the cursor."""
        self.show()
        self.table.focus()

    # Drawing

    @property
    def selected(self) -> TicketSnapshot | None:
        """The ticket under the cursor."""
        cursor = self.table.cursor_ticket
        return self.port.board[cursor] if cursor is not None and cursor in self.port.board else None

    @property
    def has_news(self) -> bool:
        """Whether the selected ticket said something that changed nothing else on the board."""
        ticket = self.table.cursor_ticket
        return ticket is not None and self.port.board.transcript(ticket).next_seq > self.transcript.wants(ticket)

    def show(self) -> None:
        """Draw the board as it is: each widget repaints only what differs."""
        rows = self.port.board.rows()
        self._waiting = waiting_tickets(rows)
        if self._effects_version != self.port.board.effects_version:
            self._effects_version, self._effects = self.port.board.effects_version, waiting_effects(self.port.board)
        self._inbox = len(self._effects) + len(other_tickets(self.port.board, self._effects))
        self.table.show(rows, self._clock())
        self._summary.show(self._totals(), self._waiting)
        self._show_selected()

    def tick(self) -> None:
        """Let time pass on what shows a running age or a countdown."""
        self.table.tick(self._clock())

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
        targets = self._targets()
        verbs = [(v.key, v.label) for v in VERBS if any(v.applies(t) for t in targets)]
        self._footer.show([*verbs, *self._hints()], _ALWAYS)

    def _show_transcript(self, ticket: TicketSnapshot | None) -> None:
        if ticket is None:
            self.transcript.show(None, ())
            return
        wanted = self.transcript.wants(ticket.id)
        source = self.port.board.transcript(ticket.id)
        entries = source.since(wanted) if wanted < source.next_seq else ()
        self.transcript.show(ticket.id, entries, empty=_nothing_yet(ticket))

    def _hints(self) -> Sequence[Hint]:
        if self.has_class("-reading"):
            return [("esc", "board")]
        answer: list[Hint] = [("a", "answer")] if self._effect() is not None else []
        inbox: list[Hint] = [("!", f"needs you {self._inbox}")] if self._inbox else []
        return [*answer, *inbox, *_BOARD_HINTS]

    def _effect(self) -> EffectView | None:
        """The effect that the selected ticket waits for."""
        return effect_of(self.port.board, self.selected, self._effects) if self.selected is not None else None

    @on(TicketTable.Highlighted)
    def _selection_changed(self) -> None:
        self._show_selected()

    @on(DescendantFocus)
    def _focus_changed(self) -> None:
        self._facts.activate(self.transcript.has_focus)

    # Keys

    @on(TicketTable.Opened)
    def action_open(self) -> None:
        """Give the transcript the whole screen."""
        self.add_class("-reading")
        self.transcript.focus()
        self._show_selected()

    def action_back(self) -> None:
        """Come back from the transcript; on the board take the marks away."""
        if self.has_class("-reading"):
            self.remove_class("-reading")
        else:
            self.table.mark(())
        self.table.focus()
        self._show_selected()

    def action_switch_focus(self) -> None:
        """Go to the other one of table and transcript."""
        other = self.transcript if self.table.has_focus or self.has_class("-reading") else self.table
        other.focus()

    def action_mark(self) -> None:
        """Mark or unmark the selected ticket and go on to the next."""
        if self.table.cursor_ticket is not None:
            self.table.mark(self.table.marked ^ {self.table.cursor_ticket})
            self.table.action_move(1)
            self._show_selected()

    def action_next_waiting(self) -> None:
        """Go to the next ticket that needs the operator, round and round."""
        rows = self.port.board.rows()
        places = [i for i, t in enumerate(rows) if t.state in WAITING]
        if not places:
            self.notify("Nothing needs you.", markup=False, timeout=3)
            return
        here = next((i for i, t in enumerate(rows) if t.id == self.table.cursor_ticket), -1)
        self.go_to(rows[next((i for i in places if i > here), places[0])].id)

    def action_inbox(self) -> None:
        """Show everything that waits."""
        self._open(InboxScreen(self.port, self._clock, self.docket))

    def action_answer(self) -> None:
        """Show what waits, beginning at what the selected ticket waits for."""
        view = self._effect()
        self._open(InboxScreen(self.port, self._clock, self.docket, view.record.key if view is not None else None))

    def action_ledger(self) -> None:
        """Show all effects."""
        self._open(LedgerScreen(self.port, self._clock, self.docket))

    def _open(self, screen: EffectsScreen) -> None:
        self.app.push_screen(screen, self._came_back)

    def _came_back(self, ticket: str | None) -> None:
        if ticket is not None:
            self.go_to(ticket)

    def go_to(self, ticket_id: str) -> None:
        """Select a ticket."""
        self.table.select(ticket_id)

    def offered_verbs(self) -> list[tuple[Verb, str]]:
        """Return the verbs that apply now, each with the words for what it would act on."""
        targets = self._targets()
        found = [(verb, [t for t in targets if verb.applies(t)]) for verb in VERBS]
        return [(v, drawable(ts[0].id) if len(ts) == 1 else f"{len(ts)} tickets") for v, ts in found if ts]

    def action_verb(self, name: str) -> None:
        """Act on the marked tickets, or the selected one; say why where the verb does not apply."""
        verb, targets = _VERBS[name], self._targets()
        chosen = [ticket.id for ticket in targets if verb.applies(ticket)]
        if chosen:
            self.port.submit(name, chosen)
            self.show()
            return
        refusals = [refusal for ticket in targets if (refusal := verb.refusal(ticket))]
        if refusals:
            self.notify(drawable(refusals[0]), severity="warning", markup=False, timeout=4)

    def _targets(self) -> list[TicketSnapshot]:
        marked = self.table.marked
        if marked:
            return [t for t in self.port.board.rows() if t.id in marked]
        return [self.selected] if self.selected is not None else []


def _nothing_yet(ticket: TicketSnapshot) -> str:
    words = reason(ticket)
    return f"Nothing said yet: {words}." if words else "Nothing said yet."
