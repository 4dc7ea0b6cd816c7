"""The priority dialog: one number, and what it means for the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.widgets import Input, Static

from supervisor.app.orders import Order, whom
from supervisor.app.screens.dialog import VerbDialog, button, field, frame, keys, title
from supervisor.core.model import State
from supervisor.core.verbs import PRIORITY
from widgets.number_input import NumberInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from supervisor.app.ports import BatchPort
    from supervisor.core.model import TicketSnapshot


class PriorityScreen(VerbDialog):
    """Takes a whole number; higher starts earlier."""

    def __init__(self, port: BatchPort, tickets: Sequence[str], note: str = "") -> None:
        super().__init__(port, tickets, note)
        self._number = NumberInput(self.targets[0].priority, id="priority")
        self._meaning = Static("", classes="outcome", markup=False)

    def compose(self) -> ComposeResult:
        """Take the number, and say what it leads to."""
        yield frame(
            title(f"Priority of {whom(self.tickets)}"),
            self._note,
            field("priority", self._number, button("−", "add(-1)"), button("+", "add(1)")),
            self._meaning,
            self._missing,
            keys("+ − or ↑ ↓  change it    enter  set    esc  leave"),
        )

    def on_mount(self) -> None:
        """Begin with the number."""
        self._number.focus()

    def show(self) -> None:
        """Say what the number means as things stand."""
        number = self._number.number
        self._meaning.update("" if number is None else self._words(number))

    @on(Input.Changed)
    def _changed(self) -> None:
        self.refuse("")
        self.show()

    def _words(self, number: int) -> str:
        waiting = [t for t in self.board.rows() if t.state is State.QUEUED and t.id not in self.tickets]
        only = self.only
        if only is not None and only.state is State.QUEUED and waiting:
            earlier = sum(_starts_before(ticket, only, number) for ticket in waiting)
            return f"Higher starts earlier: {earlier} of {len(waiting)} others in the queue would start before it."
        return "Higher starts earlier, whenever it waits in the queue."

    def action_add(self, by: int) -> None:
        """Change the number by one, as the buttons beside it do."""
        self._number.action_add(by)

    @on(Input.Submitted)
    def action_confirm(self) -> None:
        """Set it."""
        told = {} if self._number.number is None else {"priority": self._number.number}
        self.finish(Order(PRIORITY, self.tickets, told))


def _starts_before(ticket: TicketSnapshot, other: TicketSnapshot, priority: int) -> bool:
    """Return whether a ticket comes before another one of that priority."""
    return (-ticket.priority, ticket.order) < (-priority, other.order)
