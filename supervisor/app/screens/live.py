"""What screens have in common that follow the batch while they are open."""

from __future__ import annotations

from typing import TypeVar

from textual.screen import Screen

R = TypeVar("R")


class LiveScreen(Screen[R]):
    """A screen that the app draws again once a frame when something changed, and lets know of every second."""

    @property
    def has_news(self) -> bool:
        """Whether there is something to draw that no change on the board tells of."""
        return False

    def show(self) -> None:
        """Draw things as they are; repaint only what reads differently."""
        raise NotImplementedError

    def tick(self) -> None:
        """Let time pass."""
        self.show()

    def on_screen_resume(self) -> None:
        """Draw what happened while another screen hid this one."""
        if self.is_mounted:
            self.show()
