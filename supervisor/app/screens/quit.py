"""The question before leaving."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

if TYPE_CHECKING:
    from textual.app import ComposeResult


_ONE = "1 ticket is running. It is interrupted and rests; the next start resumes it. Nothing is lost."
_MANY = "{} tickets are running. They are interrupted and rest; the next start resumes them. Nothing is lost."


class QuitScreen(ModalScreen[bool]):
    """Asks whether to interrupt what is running; answers True for yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y,ctrl+c,ctrl+q", "answer(True)", "Quit"),
        Binding("escape,n", "answer(False)", "Stay"),
    ]

    def __init__(self, running: int) -> None:
        super().__init__()
        self._count = running

    def compose(self) -> ComposeResult:
        """Say what will happen and which keys decide."""
        with Vertical(id="dialog"):
            yield Static("Quit?", id="dialog-title", markup=False)
            yield Static(_ONE if self._count == 1 else _MANY.format(self._count), markup=False)
            yield Static("enter  quit      esc  stay", id="dialog-keys", markup=False)

    def action_answer(self, answer: bool) -> None:
        """Close with the answer."""
        self.dismiss(answer)
