"""The question before a ticket is started over: what is lost, what stays, and what stays done."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Static

from supervisor.app.lookup import Lookup
from supervisor.app.orders import Order, whom
from supervisor.app.screens.dialog import VerbDialog, button, buttons, frame, keys, title
from supervisor.app.stays import staying
from supervisor.core.errors import SupervisorError
from supervisor.core.rewinds import RewindPreview, Source, named
from supervisor.core.verbs import START_OVER
from widgets.cells import drawable
from widgets.formatting import money
from widgets.rewind_words import changes_words, effects_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from supervisor.app.ports import BatchPort
    from supervisor.core.model import TicketSnapshot

_READING = "Files go back to what it began with: reading …"
_MANY = (
    "The files of each go back to what it began with. A snapshot of them is kept: u brings them back, "
    "but not the conversation."
)


class StartOverScreen(VerbDialog):
    """Says in concrete words what happens, and does it on enter."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "confirm", "Start over", show=False)]

    def __init__(self, port: BatchPort, tickets: Sequence[str], note: str = "") -> None:
        super().__init__(port, tickets, note)
        self._talk, self._effects = Static("", classes="part", markup=False), Static("", classes="part", markup=False)
        self._files = Static(_READING if len(self.tickets) == 1 else _MANY, classes="part", markup=False)
        self._preview: Lookup[RewindPreview] = Lookup(port, self._read)
        self._go = button("start over", "confirm")

    def compose(self) -> ComposeResult:
        """Say what happens."""
        yield frame(
            title(f"Start {whom(self.tickets)} over?"),
            self._note,
            self._talk,
            self._files,
            self._effects,
            self._missing,
            buttons(self._go, button("leave", "leave")),
            keys("enter  start over    esc  leave"),
        )

    def on_mount(self) -> None:
        """Look what would happen to the files."""
        self._go.focus()
        if self.only is not None:
            ticket = self.only.id
            self._preview.ask(lambda reader: reader.preview(ticket, "", Source.BASE))

    def on_unmount(self) -> None:
        """Want no answer any more."""
        self._preview.drop()

    def show(self) -> None:
        """Say what is lost and what stays done, as things stand."""
        targets = self.targets
        self._talk.update(_lost(targets))
        records = {record.key: record for ticket in targets for record in staying(self.board, ticket)}
        words = effects_words(tuple(records.values()))
        self._effects.update(f"Effects {words}. The agent is told." if words else "No effect of it has happened.")

    def _read(self, found: RewindPreview | SupervisorError) -> None:
        if isinstance(found, SupervisorError):
            words = f"Files go back to what it began with. What changes is not known: {drawable(str(found))}"
            self._files.update(words)
            return
        names = named([change.path for change in found.changes.files])
        changes = f"{changes_words(found.changes)}{f' ({names})' if names else ''}"
        words = f"Files go back to {drawable(found.to)}: {changes}."
        self._files.update(f"{words} A snapshot of them is kept: u brings them back, but not the conversation.")
        self.refuse(found.refusal)

    def action_confirm(self) -> None:
        """Do it."""
        self.finish(Order(START_OVER, self.tickets))


def _lost(tickets: Sequence[TicketSnapshot]) -> str:
    tries, turns = sum(t.attempts for t in tickets), sum(t.turns for t in tickets)
    spent = money(sum(t.spent_usd for t in tickets), estimated=any(t.estimated_usd for t in tickets))
    work = f"({tries} {'try' if tries == 1 else 'tries'}, {turns} turn{'' if turns == 1 else 's'})"
    forks = [ticket for ticket in tickets if ticket.parent is not None]
    if len(tickets) > 1:
        where = ", forks where they were forked," if forks else ""
        words = f"Their conversations are left behind {work}: the agents begin again{where} and know nothing of it."
    elif forks:
        words = f"What was said since the fork is left behind {work}: the agent begins again where it was forked."
    else:
        words = f"The conversation is left behind {work}: the agent begins again and knows nothing of it."
    return f"{words} The {spent} spent so far stays spent."
