"""A line to write on, with a still cursor, that takes any paste as one harmless line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Input

from supervisor.core.text import safe_line

if TYPE_CHECKING:
    from textual import events


class WordsInput(Input):
    """A line of text. What is pasted becomes one line that is safe to draw."""

    def on_mount(self) -> None:
        """Keep the cursor still: what is at rest is not drawn again."""
        self.cursor_blink = False

    def on_paste(self, event: events.Paste) -> None:
        """Take all lines of a paste, not only the first, and none of its control characters."""
        event.stop().prevent_default()
        self.replace(safe_line(" ".join(event.text.split())), *self.selection)
