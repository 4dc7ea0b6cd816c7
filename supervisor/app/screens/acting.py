"""What the operator does from a list of tickets: verbs on the marked ones or the selected one, undo, and slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.app.screens.listing import ListingScreen
from supervisor.app.verb_dialogs import VerbDesk, severity, who_can
from supervisor.app.verb_news import VerbNews
from supervisor.core.verbs import BY_NAME, REWIND, VERBS, Verb
from widgets.cells import drawable

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.app.ports import BatchPort
    from supervisor.core.model import TicketSnapshot
    from widgets.verb_footer import Hint

_TOLD_S = 6


class ActingScreen(ListingScreen):
    """A list of tickets that verbs can be given to."""

    def __init__(self, port: BatchPort, clock: Callable[[], float]) -> None:
        super().__init__(port, clock)
        self.desk = VerbDesk(port, self.show)
        self.news = VerbNews(port.board)

    def on_unmount(self) -> None:
        """Listen no more."""
        self.news.stop()

    @property
    def selected(self) -> TicketSnapshot | None:
        """The ticket under the cursor."""
        cursor = self.table.cursor_ticket
        return self.port.board[cursor] if cursor is not None and cursor in self.port.board else None

    @property
    def targets(self) -> list[TicketSnapshot]:
        """The tickets that a verb is for: the marked ones, or the selected one."""
        marked = self.table.marked
        if marked:
            return [t for t in self.port.board.rows() if t.id in marked]
        return [self.selected] if self.selected is not None else []

    # What is offered

    def offered_verbs(self) -> list[tuple[Verb, str]]:
        """Return the verbs that apply now, each with the words for what it would act on."""
        targets = self.targets
        found = [(verb, [t for t in targets if verb.applies(t)]) for verb in VERBS if verb.on_many or len(targets) < 2]
        return [(v, drawable(ts[0].id) if len(ts) == 1 else f"{len(ts)} tickets") for v, ts in found if ts]

    def verb_hints(self) -> list[Hint]:
        """Return the keys of the verbs that apply now, and of undo where files were just taken back."""
        targets = self.targets
        can_undo = len(targets) == 1 and self.news.can_undo(targets[0].id) and REWIND.applies(targets[0])
        verbs = [(verb.key, verb.label) for verb, _ in self.offered_verbs()]
        return [("u", "undo"), *verbs] if can_undo else verbs

    # Keys

    def action_verb(self, name: str) -> None:
        """Act on the marked tickets, or the selected one; say why where the verb does not apply."""
        verb, targets = BY_NAME[name], self.targets
        self.desk.give(self, verb, targets, self.hidden_words(who_can(verb, targets).accepted))

    def action_undo(self) -> None:
        """Bring back the files that were taken back last."""
        targets = self.targets
        if len(targets) == 1:
            self.desk.undo(self, targets[0])
        elif targets:
            self.notify(f"undo takes one ticket at a time: {len(targets)} are marked", severity="warning", timeout=4)

    def action_pause_starting(self) -> None:
        """Start no further ticket, or go on with starting."""
        self.port.pause_starting(not self.port.board.announced.starting_paused)
        self.show()

    def action_slots(self, by: int) -> None:
        """Run one ticket more or less at the same time, at least one."""
        self.port.set_slots(max(1, self.port.board.announced.slots + by))
        self.show()

    # What becomes of it

    def tell_news(self) -> None:
        """Say what became of verbs that were accepted, and go to a fork that was asked for from here."""
        untold = self.news.untold()
        for is_refusal in (True, False):
            words = [news.words for news in untold if news.is_refusal is is_refusal]
            if words:
                more = f"; and {len(words) - 1} more, see their transcripts" if len(words) > 1 else ""
                self.notify(words[0] + more, severity=severity(is_refusal), markup=False, timeout=_TOLD_S)
        for parent, child in self.news.born():
            if not self.filter_bar.is_editing and self.table.cursor_ticket == parent:
                self.table.select(child)
