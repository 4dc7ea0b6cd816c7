"""A ticket's screen: what it is and costs at the top, and below it one of six views, with all the verbs' keys."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on

from supervisor.app.commands import APP_COMMANDS, TICKET_COMMANDS, command_bindings, tab_bindings, verb_bindings
from supervisor.app.fresh import Fresh
from supervisor.app.own_keys import help_of
from supervisor.app.screens.inbox import InboxScreen
from supervisor.app.screens.ledger import LedgerScreen
from supervisor.app.screens.live import LiveScreen
from supervisor.app.screens.page import PageScreen
from supervisor.app.tabs.attempts import AttemptsTab
from supervisor.app.tabs.changes import ChangesTab
from supervisor.app.tabs.checkpoints import CheckpointsTab
from supervisor.app.tabs.effects import EffectsTab
from supervisor.app.tabs.facts import FactsTab
from supervisor.app.tabs.transcript import TranscriptTab
from supervisor.app.waiting import is_answerable, line_of
from supervisor.core.verbs import BY_NAME, REWIND, VERBS
from widgets.attempt_facts import attempt_facts
from widgets.cells import drawable
from widgets.items import effect_key
from widgets.labelled import Part
from widgets.tab_bar import TabBar
from widgets.ticket_header import TicketHeader
from widgets.verb_footer import Hint, VerbFooter

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from supervisor.app.screens.board import BoardScreen
    from supervisor.app.screens.items import ItemsScreen, Offer
    from supervisor.app.tabs.tab import Tab
    from supervisor.core.model import AttemptRecord, TicketSnapshot
    from supervisor.core.rewinds import Checkpoint

CHANGES = 3
"""Place of the tab of changes."""
_ALWAYS: tuple[Hint, ...] = (
    ("1-6", "views"),
    *((c.shown, c.label) for c in (*TICKET_COMMANDS, *APP_COMMANDS) if c.name in ("leave", "help")),
)


class TicketScreen(LiveScreen[str | None]):
    """Everything about one ticket. Its result is the ticket to go to on the board, if any."""

    BINDINGS: ClassVar[list[BindingType]] = [*command_bindings(TICKET_COMMANDS), *tab_bindings(), *verb_bindings()]

    def __init__(self, home: BoardScreen, clock: Callable[[], float], ticket: str, place: int = 0) -> None:
        """Prepare the screen.

        Args:
            home: The board, whose desk takes the verbs.
            clock: Seconds since the epoch.
            ticket: Whose screen it is.
            place: The view to begin with.
        """
        super().__init__()
        self.home, self.ticket_id, self._place = home, ticket, place
        port, self._clock = home.port, clock
        self._attempts: Fresh[tuple[AttemptRecord, ...]] = Fresh(port, lambda reader: reader.attempts(ticket))
        self._points: Fresh[tuple[Checkpoint, ...]] = Fresh(port, lambda reader: reader.checkpoints(ticket))
        self._header, self._bar, self._footer = TicketHeader(), TabBar(), VerbFooter()
        self.tabs: tuple[Tab, ...] = (
            TranscriptTab(port, ticket),
            AttemptsTab(self._attempts),
            EffectsTab(port, ticket, home.docket),
            ChangesTab(port, ticket, clock),
            CheckpointsTab(port, ticket, self._points),
            FactsTab(port, ticket, self._attempts),
        )

    def compose(self) -> ComposeResult:
        """Lay out header, line of tabs, the tabs and the keys."""
        yield self._header
        yield self._bar
        yield from self.tabs
        yield self._footer

    def on_mount(self) -> None:
        """Draw the view to begin with."""
        self._turn_to(self._place)

    # Drawing

    @property
    def ticket(self) -> TicketSnapshot:
        """The ticket as it is now."""
        return self.home.port.board[self.ticket_id]

    @property
    def tab(self) -> Tab:
        """The view that is looked at."""
        return self.tabs[self._place]

    @property
    def has_news(self) -> bool:
        """Whether there is something to draw that no change on the board tells of."""
        return self._attempts.is_new or self._points.is_new or self.tab.has_news

    def show(self) -> None:
        """Draw the ticket as it is: each widget repaints only what differs."""
        ticket, now = self.ticket, self._clock()
        self._look(ticket, now)
        self.home.histories.want(ticket)
        self._header.show(ticket, self._attempts.value or (), now)
        self.tab.show(ticket, now)
        self._bar.show([f"{tab.NAME} {tab.count}".rstrip() for tab in self.tabs], self._place)
        self._footer.show(self._hints(ticket), _ALWAYS)

    def _look(self, ticket: TicketSnapshot, now: float) -> None:
        """Have read what the header adds up and the line of tabs counts."""
        moved = (ticket.attempts, ticket.state, ticket.live, ticket.session_id, ticket.spent_usd, ticket.turns)
        self._attempts.want((*moved, ticket.terminal_reason), now)
        self._points.want((*moved, ticket.messages), now)
        self._attempts.taken()
        self._points.taken()

    def _hints(self, ticket: TicketSnapshot) -> list[Hint]:
        undo: list[Hint] = [("u", "undo")] if self.home.news.can_undo(ticket.id) and REWIND.applies(ticket) else []
        answer: list[Hint] = [("a", "answer")] if is_answerable(self.home.port.board, ticket) else []
        verbs = [(verb.key, verb.label) for verb in VERBS if verb.applies(ticket)]
        return [*answer, *self.tab.hints, *undo, *verbs, *self.tab.late_hints]

    def offers(self) -> list[Offer]:
        """Return the verbs that apply now, for the palette."""
        words = drawable(self.ticket_id)
        verbs = [verb for verb in VERBS if verb.applies(self.ticket)]
        return [(f"{v.label} {words}", help_of(v, self.app), partial(self.action_verb, v.name)) for v in verbs]

    def _turn_to(self, place: int) -> None:
        self._place = place
        for other, tab in enumerate(self.tabs):
            tab.display = other == place
        self.show()
        self.set_focus(self.tab.target)

    @on(TabBar.Chosen)
    def _tab_clicked(self, event: TabBar.Chosen) -> None:
        self._turn_to(event.place)

    @on(AttemptsTab.Opened)
    def _attempt_opened(self, event: AttemptsTab.Opened) -> None:
        title = f" {drawable(self.ticket_id)} · try {event.attempt.number}"
        facts = attempt_facts(event.attempt, self._clock())
        self.app.push_screen(PageScreen(title, [Part("", tuple(facts))]))

    @on(EffectsTab.Opened)
    def _effect_opened(self, event: EffectsTab.Opened) -> None:
        key = event.effect.record.key
        self._open(self._inbox(effect_key(key)) if event.effect.waits else self._ledger(key))

    @on(CheckpointsTab.Opened)
    def _checkpoint_opened(self, event: CheckpointsTab.Opened) -> None:
        self.home.desk.rewind(self, self.ticket, event.point.uuid)

    # Keys

    def action_view(self, place: int) -> None:
        """Look at another view."""
        self._turn_to(place)

    def action_turn(self, by: int) -> None:
        """Look at the view beside this one, round and round."""
        self._turn_to((self._place + by) % len(self.tabs))

    def action_leave(self) -> None:
        """Go back to the board."""
        self.dismiss(None)

    def action_verb(self, name: str) -> None:
        """Give a verb to this ticket; say why where it does not apply."""
        self.home.desk.give(self, BY_NAME[name], [self.ticket])
        self.show()

    def action_undo(self) -> None:
        """Bring back the files that were taken back last."""
        self.home.desk.undo(self, self.ticket)

    def action_answer(self) -> None:
        """Show what waits, beginning at what this ticket waits for."""
        self._open(self._inbox(line_of(self.home.port.board, self.ticket)))

    def action_inbox(self) -> None:
        """Show everything that waits."""
        self._open(self._inbox())

    def action_ledger(self) -> None:
        """Show all effects."""
        self._open(self._ledger())

    def action_next_waiting(self) -> None:
        """Go on to the next ticket that needs the operator."""
        self.home.show()
        self.home.action_next_waiting()
        other = self.home.selected
        if other is not None and other.id != self.ticket_id:
            self.dismiss(other.id)
            self.home.open_ticket(other.id)

    def _inbox(self, key: str | None = None) -> InboxScreen:
        return InboxScreen(self.home.port, self._clock, self.home.docket, self.home.desk, key)

    def _ledger(self, key: str | None = None) -> LedgerScreen:
        return LedgerScreen(self.home.port, self._clock, self.home.docket, key)

    def _open(self, screen: ItemsScreen) -> None:
        self.app.push_screen(screen, self._came_back)

    def _came_back(self, ticket: str | None) -> None:
        """Stay where the operator came back to this ticket; go to the board for another one."""
        if ticket is not None and ticket != self.ticket_id:
            self.dismiss(ticket)
