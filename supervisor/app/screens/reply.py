"""The dialog for what the operator writes to an agent: with an answer, or as the answer itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from supervisor.app.ask_answers import too_long
from widgets.words_input import WordsInput

if TYPE_CHECKING:
    from textual.app import ComposeResult


class ReplyScreen(ModalScreen[str | None]):
    """Takes a line. Its result is None where the operator left it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("enter", "confirm", "Confirm"),
    ]

    def __init__(self, title: str, about: str, prompt: str, label: str, *, words: str = "", must: bool = False) -> None:
        """Prepare the dialog; everything must be safe to draw.

        Args:
            title: What is done.
            about: What it is done to.
            prompt: What is asked for.
            label: A few words for what enter does.
            words: What to begin with.
            must: Something has to be written.
        """
        super().__init__()
        self._title, self._about, self._prompt, self._label, self._must = title, about, prompt, label, must
        self._words = WordsInput(words, id="words", compact=True)
        self._missing = Static("", id="missing", markup=False)

    def compose(self) -> ComposeResult:
        """Say what it is about, and take the words."""
        with Vertical(id="dialog"):
            yield Static(self._title, id="dialog-title", markup=False)
            yield Static(self._about, markup=False)
            yield Static(self._prompt, classes="heading", markup=False)
            yield self._words
            yield self._missing
            yield Static(f"enter  {self._label}      esc  leave", id="dialog-keys", markup=False)

    def on_mount(self) -> None:
        """Begin with the words."""
        self._words.focus()

    @on(Input.Submitted)
    def action_confirm(self) -> None:
        """Take the words, if they will do."""
        words = self._words.value.strip()
        fault = "Write something, or leave with esc." if self._must and not words else too_long(words)
        if fault is not None:
            self._missing.update(fault)
        else:
            self.dismiss(words)

    def action_cancel(self) -> None:
        """Leave everything as it is."""
        self.dismiss(None)
