"""A line for a whole number: it can be typed, and plus, minus and the arrows change it by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets.input import Selection

from widgets.words_input import WordsInput

if TYPE_CHECKING:
    from textual import events

_MAX_CHARS = 9


class NumberInput(WordsInput):
    """A number on a line. A minus is a sign where a number begins, and takes one away everywhere else."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "add(1)", "More", show=False),
        Binding("down", "add(-1)", "Less", show=False),
    ]

    def __init__(self, value: int, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(str(value), id=id, compact=True, max_length=_MAX_CHARS)

    @property
    def number(self) -> int | None:
        """What stands there; None where that is no whole number."""
        try:
            return int(self.value)
        except ValueError:
            return None

    def action_add(self, by: int) -> None:
        """Change it; what is no number becomes one."""
        self.value = str((self.number or 0) + by)
        self.selection = Selection(0, len(self.value))

    def on_key(self, event: events.Key) -> None:
        """Take plus and minus before they are text."""
        is_sign = not self.value or (self.selection.is_empty and self.cursor_position == 0)
        if event.character == "+" or (event.character == "-" and not is_sign):
            event.stop().prevent_default()
            self.action_add(1 if event.character == "+" else -1)
