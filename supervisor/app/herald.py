"""Keeps the window's title true, and calls the operator who looks elsewhere. The app's frames drive it; never waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.app.notices import Caller, affairs_of, title_words
from supervisor.app.terminal_codes import VARIABLE, Channels, call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.core.board import Board

TITLE_S = 1.0
"""Least time between two titles."""


class Herald:
    """What is told beside the screen."""

    def __init__(
        self,
        board: Board,
        clock: Callable[[], float],
        *,
        env: Mapping[str, str],
        write: Callable[[str], None],
        set_title: Callable[[str], None],
    ) -> None:
        """Prepare it.

        Args:
            board: The board.
            clock: Seconds on any clock.
            env: The environment: what the operator wants, and which terminal it is.
            write: Writes sequences to the terminal.
            set_title: Sets the window's title.
        """
        self._board, self._clock = board, clock
        self._env, self._write, self._set_title = env, write, set_title
        self._channels = Channels.of(env)
        self._caller = Caller()
        self._title = ""
        self._titled_at = float("-inf")
        self._is_stale = True
        """The title may be another by now."""
        self._is_muted = False

    def turn(self) -> str:
        """Fall silent, or call again; return in a sentence which of the two."""
        if not (self._channels.bell or self._channels.desktop):
            return f"{VARIABLE} turns bell and notifications off."
        self._is_muted = not self._is_muted
        return "Bell and notifications are off." if self._is_muted else "Bell and notifications are on."

    def look(self) -> None:
        """The board changed."""
        self._is_stale = True
        self.tick()

    def tick(self) -> None:
        """Let time pass: do what was held back, once its time has come."""
        at = self._clock()
        if self._is_stale or self._caller.is_holding:
            words = self._caller.look(affairs_of(self._board), at)
            if words is not None and not self._is_muted and not self._board.announced.stopping:
                self._write(call(words, self._channels, self._env))
        if self._is_stale and at >= self._titled_at + TITLE_S:
            self._is_stale = False
            self._retitle(at)

    def _retitle(self, at: float) -> None:
        words = title_words(self._board.totals())
        if words != self._title:
            self._title, self._titled_at = words, at
            self._set_title(words)
