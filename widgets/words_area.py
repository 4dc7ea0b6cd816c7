"""Some lines to write on, with a still cursor, that take any paste as harmless lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import TextArea

from supervisor.core.text import safe_text
from supervisor.core.verb_args import MAX_TEXT

if TYPE_CHECKING:
    from textual import events


class WordsArea(TextArea):
    """A small area of text. Enter begins a new line, and tab goes on to the next field."""

    DEFAULT_CSS = """
    WordsArea, WordsArea:focus { border: none; padding: 0; height: 5; background: $background; }
    WordsArea { scrollbar-size-vertical: 1; }
    WordsArea .text-area--cursor-line { background: $background; }
    """

    def __init__(self, text: str = "", *, placeholder: str = "", id: str | None = None) -> None:  # noqa: A002
        super().__init__(text, id=id, compact=True, placeholder=placeholder)
        self.move_cursor(self.document.end)

    def on_mount(self) -> None:
        """Keep the cursor still: what is at rest is not drawn again."""
        self.cursor_blink = False

    def on_paste(self, event: events.Paste) -> None:
        """Take a paste without the control characters in it.

        One that is too long stays too long, to be refused when it is sent, and not sent in part.
        """
        event.stop().prevent_default()
        self.write(safe_text(event.text, MAX_TEXT + 1))

    def write(self, text: str) -> None:
        """Put text in where the cursor is, in place of what is selected."""
        self.replace(text, *self.selection, maintain_selection_offset=False)
