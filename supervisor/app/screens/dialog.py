"""What the dialogs of verbs share: whom they are for, what is wrong with what was typed, and the ways out."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from supervisor.app.orders import Order, sort_out
from widgets.cells import drawable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.widget import Widget

    from supervisor.app.ports import BatchPort
    from supervisor.core.board import Board
    from supervisor.core.model import TicketSnapshot

CONFIRM = Binding("ctrl+s", "confirm", "Do it", show=False)
"""Does it from every field: enter writes a line, or goes to the next field."""


class VerbDialog(ModalScreen[tuple[Order, ...]]):
    """A dialog for one ticket or several. Its result is what to do; it has none where the operator left it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave", show=False), CONFIRM]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012

    def __init__(self, port: BatchPort, tickets: Sequence[str], note: str = "") -> None:
        """Prepare the dialog.

        Args:
            port: The batch.
            tickets: Ids, at least one.
            note: What the operator might not expect of whom it is for: which tickets they do not see, and which of the
                marked ones are left alone. Safe to draw; empty for nothing.
        """
        super().__init__()
        self.port = port
        self.tickets = tuple(tickets)
        self._note = Static(note, classes="warning", markup=False)
        self._note.display = bool(note)
        self._missing = Static("", id="missing", markup=False)
        self._missing.display = False

    @property
    def board(self) -> Board:
        """The live board."""
        return self.port.board

    @property
    def targets(self) -> list[TicketSnapshot]:
        """The tickets as they are now."""
        return [self.board[ticket] for ticket in self.tickets]

    @property
    def only(self) -> TicketSnapshot | None:
        """The ticket as it is now, if the dialog is for one alone."""
        return self.board[self.tickets[0]] if len(self.tickets) == 1 else None

    def show(self) -> None:
        """Draw what may have changed on the board."""

    def on_mount(self) -> None:
        """Draw what is there already. Textual calls this after a dialog's own."""
        self.show()

    def refuse(self, words: str) -> None:
        """Say what is wrong; empty words take that back."""
        self._missing.update(drawable(words))
        self._missing.display = bool(words)

    def finish(self, *orders: Order) -> None:
        """Close with what is to be done; stay open, and say why, where no ticket would take the first of it."""
        found = sort_out(self.board, orders[0])
        if found.accepted:
            self.dismiss(orders)
        else:
            self.refuse(found.refused[0][1] if found.refused else "there is no ticket left for it")

    def action_confirm(self) -> None:
        """Do it."""
        raise NotImplementedError

    def action_leave(self) -> None:
        """Leave everything as it is."""
        self.dismiss()


def frame(*parts: Widget, classes: str = "") -> VerticalScroll:
    """Return the box of a dialog. What does not fit into a small terminal is reached by going from field to field."""
    return VerticalScroll(*parts, id="dialog", classes=classes, can_focus=False)


def title(words: str) -> Static:
    """Return the first line of a dialog; the words must be safe to draw."""
    return Static(words, id="dialog-title", markup=False)


def heading(words: str) -> Static:
    """Return the words above a field."""
    return Static(words, classes="heading", markup=False)


def field(label: str, *widgets: Widget) -> Horizontal:
    """Return a field with its label to the left."""
    return Horizontal(Static(label, classes="label", markup=False), *widgets, classes="field")


def buttons(*each: Button) -> Horizontal:
    """Return buttons beside each other."""
    return Horizontal(*each, classes="buttons")


def button(words: str, action: str) -> Button:
    """Return a button on one line that runs an action of its dialog."""
    made = Button(words, action=f"screen.{action}", compact=True)
    made.active_effect_duration = 0  # a button that shows that it was pressed takes no press meanwhile
    return made


def keys(words: str) -> Static:
    """Return the line that says which keys there are."""
    return Static(words, id="dialog-keys", markup=False)


def columns(left: Iterable[Widget], right: Iterable[Widget]) -> Horizontal:
    """Return two columns of a large dialog."""
    return Horizontal(Vertical(*left, classes="left"), Vertical(*right, classes="right"), classes="columns")
