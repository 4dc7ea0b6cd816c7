"""The question before leaving."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

if TYPE_CHECKING:
    from textual.app import ComposeResult


_ONE = "It is interrupted and rests; the next start resumes it. Nothing is lost."
_MANY = "They are interrupted and rest; the next start resumes them. Nothing is lost."


class QuitScreen(ModalScreen[bool]):
    """Asks whether to interrupt what is running; answers True for yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y,ctrl+c,ctrl+q", "answer(True)", "Quit"),
        Binding("escape,n", "answer(False)", "Stay"),
    ]

    def __init__(self, running: int, waiting: int = 0) -> None:
        """Prepare the question.

        Args:
            running: How many tickets are at work.
            waiting: How many more have an agent that waits for an answer.
        """
        super().__init__()
        self._at_work, self._waits = running, waiting

    def compose(self) -> ComposeResult:
        """Say what will happen and which keys decide."""
        with Vertical(id="dialog"):
            yield Static("Quit?", id="dialog-title", markup=False)
            yield Static(self._words(), markup=False)
            yield Static("enter  quit      esc  stay", id="dialog-keys", markup=False)

    def _words(self) -> str:
        running, waiting = self._at_work, self._waits
        parts = [f"{running} ticket{' is' if running == 1 else 's are'} running"] if running else []
        if waiting:
            parts.append(f"{waiting} agent{' waits' if waiting == 1 else 's wait'} for your answer")
        return f"{' and '.join(parts)}. {_ONE if running + waiting == 1 else _MANY}"

    def action_answer(self, answer: bool) -> None:
        """Close with the answer."""
        self.dismiss(answer)
