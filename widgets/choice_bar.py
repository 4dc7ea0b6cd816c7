"""A choice of a few things on one line: the arrows or space go to the next, a click takes what is under the pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message

from widgets.cells import Cell, Piece, Tone
from widgets.lines import LineBar
from widgets.tones import tone_css

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip

    Choice = tuple[str, str]
    """A value, and its words, safe to draw."""

_GAP = 3


class ChoiceBar(LineBar, can_focus=True):
    """Exactly one of its choices is taken."""

    DEFAULT_CSS = """
    ChoiceBar { height: 1; }
    """ + tone_css("ChoiceBar")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space,l", "turn(1)", "Next", show=False),
        Binding("left,h", "turn(-1)", "Previous", show=False),
    ]

    class Changed(Message):
        """Another one was taken."""

    def __init__(self, choices: Sequence[Choice], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._choices = tuple(choices)
        self.value = self._choices[0][0]
        """The one that is taken."""

    def offer(self, choices: Sequence[Choice], value: str) -> None:
        """Offer these from now on; ``value`` is taken, without a message."""
        if (tuple(choices), value) != (self._choices, self.value):
            self._choices, self.value = tuple(choices), value
            self.refresh()

    def take(self, value: str) -> None:
        """Take one; unknown values change nothing."""
        if value != self.value and any(value == known for known, _ in self._choices):
            self.value = value
            self.refresh()
            self.post_message(self.Changed())

    def action_turn(self, by: int) -> None:
        """Take the next one, round and round."""
        values = [value for value, _ in self._choices]
        self.take(values[(values.index(self.value) + by) % len(values)])

    def on_click(self, event: events.Click) -> None:
        """Take the one under the pointer."""
        offset = event.get_content_offset(self)
        left = offset.x if offset is not None else -1
        for value, words in self._choices:
            left -= 2 + cell_len(words)
            if left < 0:
                self.take(value)
                return
            left -= _GAP

    def on_focus(self) -> None:
        """Show that keys choose here."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that keys go elsewhere."""
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the choices."""
        return self.palette.line(tuple(self._pieces()), self.content_size.width)

    def _pieces(self) -> Cell:
        pieces: list[Piece] = []
        for value, words in self._choices:
            is_taken = value == self.value
            tone = (Tone.ACCENT if self.has_focus else Tone.STRONG) if is_taken else Tone.MUTED
            pieces += [("● " if is_taken else "○ ", tone), (words, tone), (" " * _GAP, Tone.PLAIN)]
        return tuple(pieces[:-1])
