"""One question before something happens that the operator may not see coming."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

if TYPE_CHECKING:
    from textual.app import ComposeResult


class ConfirmScreen(ModalScreen[bool]):
    """Asks; answers True for yes, False for no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "answer(True)", "Yes"),
        Binding("escape", "answer(False)", "No"),
    ]

    def __init__(self, title: str, words: str, label: str) -> None:
        """Prepare the question.

        Args:
            title: What is asked, safe to draw.
            words: What will happen, safe to draw.
            label: One word for what enter does.
        """
        super().__init__()
        self._title, self._words, self._label = title, words, label

    def compose(self) -> ComposeResult:
        """Ask, and say which keys decide."""
        with Vertical(id="dialog"):
            yield Static(self._title, id="dialog-title", markup=False)
            yield Static(self._words, markup=False)
            yield Static(f"enter  {self._label}      esc  leave", id="dialog-keys", markup=False)

    def action_answer(self, answer: bool) -> None:
        """Close with the answer."""
        self.dismiss(answer)
