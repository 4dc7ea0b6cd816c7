"""The Textual application: one frame timer between the board and the screen, the global keys, and the way out.

Run it with ``await app.run_async()`` as a sibling of the engine in one task group, and end it with ``finish``; never
cancel it from outside, and host nothing in its workers: Textual does not wait for those when it leaves.
"""

from __future__ import annotations

import os
import time
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import on
from textual.app import App
from textual.widgets import Input

from supervisor.app.commands import APP_COMMANDS, command_bindings
from supervisor.app.driver import TerminalDriver
from supervisor.app.herald import Herald
from supervisor.app.own_keys import keymap, own_hints
from supervisor.app.own_theme import keep_theme, read_theme
from supervisor.app.pager import read_in_pager
from supervisor.app.palette import SuperviseCommands
from supervisor.app.screens.board import BoardScreen
from supervisor.app.screens.dialog import VerbDialog
from supervisor.app.screens.help import HelpScreen
from supervisor.app.screens.items import ItemsScreen
from supervisor.app.screens.live import LiveScreen
from supervisor.app.screens.quit import QuitScreen
from supervisor.app.theme import HIGH_CONTRAST, MONOCHROME, THEME
from supervisor.core.model import State
from widgets.cells import drawable
from widgets.transcript import TranscriptView
from widgets.words_area import WordsArea

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from textual import events
    from textual.binding import BindingType
    from textual.screen import Screen
    from textual.theme import Theme

    from supervisor.app.ports import BatchPort


_MAX_BACKLOG = 2
"""Writes a slow terminal may owe us before frames are left out; what changed is drawn once it has caught up."""
_BENEATH_S = 1.0
"""How long what lies under a dialog may be out of date: with every line of it Textual draws the whole dialog again."""


class SuperviseApp(App[int]):
    """The operator's terminal. Its result, and its return code, is the code given to `finish`."""

    CSS_PATH = "supervisor.tcss"
    TITLE = "supervise"
    COMMANDS: ClassVar = {SuperviseCommands}
    BINDINGS: ClassVar[list[BindingType]] = [*command_bindings(APP_COMMANDS)]

    def __init__(
        self,
        port: BatchPort,
        *,
        on_ready: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.time,
        frame_hz: float = 12.0,
        keys: Mapping[str, str] | None = None,
        theme_file: Path | None = None,
        clear: Callable[[str], str] = str,
    ) -> None:
        """Prepare the application; nothing is drawn before it runs.

        Args:
            port: The running batch.
            on_ready: Called once, after the first paint: the time to start what should not delay it.
            clock: Seconds since the epoch.
            frame_hz: How often a second changes are drawn, at most.
            keys: The operator's own keys by the names of commands and verbs, as ``own_keys`` reads them.
            theme_file: Holds the theme chosen last, and will hold the next one; None remembers none.
            clear: Takes secrets out of what is told of a fault.
        """
        no_color = "NO_COLOR" in os.environ
        # With native colours Textual answers NO_COLOR by sending none at all; otherwise it would send greys.
        super().__init__(driver_class=TerminalDriver, ansi_color=True if no_color else None)
        self.own_keys = dict(keys or {})
        """The operator's own keys, by the names of commands and verbs."""
        self.own_hints = own_hints(self.own_keys)
        self.set_keymap(keymap(self.own_keys))
        self._port = port
        self._tell_ready = on_ready
        self._clock = clock
        self._frame_hz = frame_hz
        self._clear = clear
        self._announced: object = None
        self._items_seen = (-1, -1, -1)
        self._second = -1
        self._beneath_drawn = -_BENEATH_S
        """When what lies under a dialog was drawn last, in seconds of `time.monotonic`."""
        self._owes = False
        """Whether something under a dialog was left as it was."""
        self._is_stopping = False
        self._board_screen = BoardScreen(port, clock)
        self._herald = Herald(
            port.board,
            time.monotonic,
            env=os.environ,
            write=self._signal,
            set_title=self._show_title,
        )
        self.register_theme(THEME)
        self.register_theme(HIGH_CONTRAST)
        self._theme_file = theme_file
        self.theme = MONOCHROME if no_color else self._remembered_theme()

    def _remembered_theme(self) -> str:
        name = read_theme(self._theme_file) if self._theme_file is not None else ""
        return name if name in self.available_themes else THEME.name

    def get_default_screen(self) -> BoardScreen:
        """The board lies under every other screen."""
        return self._board_screen

    def on_ready(self) -> None:
        """Keep up with the board from now on, and tell whoever waits for the first paint."""
        self.set_interval(1 / self._frame_hz, self._frame)
        if self._theme_file is not None and not self.no_color:
            self.theme_changed_signal.subscribe(self, self._keep_theme)
        if self._tell_ready is not None:
            self.call_after_refresh(self._tell_ready)

    def _keep_theme(self, theme: Theme) -> None:
        if self._theme_file is not None:
            self.run_worker(partial(keep_theme, self._theme_file, theme.name), thread=True, group="theme")

    def finish(self, code: int) -> None:
        """Leave, with this exit code. May be called from any task of the app's loop."""
        self.exit(code, return_code=code)

    def _fatal_error(self) -> None:
        """Leave by a fault of ours, and tell it. Textual would print the values of variables too, secrets or not."""
        self.bell()
        told = "\n".join(map(drawable, self._clear(traceback.format_exc()).splitlines()))
        self._exit_renderables.append(Text(told))
        self._close_messages_no_wait()

    # Frames

    def _frame(self) -> None:
        """Draw what changed since the last frame. Synchronous, so that no key handler runs in the middle of it."""
        if getattr(self._driver, "backlog", 0) > _MAX_BACKLOG:
            return
        board = self._port.board
        news = self._items_version() != self._items_seen or board.announced is not self._announced
        seen = self._in_view()
        news = news or (self._owes and not self._waits_beneath(seen))
        if board.drain() or news or any(s.has_news for s in seen if isinstance(s, BoardScreen | LiveScreen)):
            self.refresh_board()
        elif int(self._clock()) != self._second:
            self._second = int(self._clock())
            for screen in seen:
                if isinstance(screen, BoardScreen | ItemsScreen | LiveScreen):
                    screen.tick()
        self._herald.tick()

    def refresh_board(self) -> None:
        """Draw the board as it is now, without waiting for the next frame."""
        board = self._port.board
        board.drain()
        self._announced, self._second = board.announced, int(self._clock())
        self._items_seen = self._items_version()
        seen = self._in_view()
        self._owes = self._waits_beneath(seen)
        if len(seen) > 1 and not self._owes:
            self._beneath_drawn = time.monotonic()
        for screen in seen[-1:] if self._owes else seen:
            if isinstance(screen, BoardScreen | ItemsScreen | LiveScreen | VerbDialog):
                screen.show()
        self._herald.look()
        self._board_screen.tell_news()
        for refusal in self._board_screen.docket.untold():
            if not any(isinstance(screen, ItemsScreen) for screen in self.screen_stack):
                self.notify(drawable(refusal.text), severity="warning", markup=False)

    def _items_version(self) -> tuple[int, int, int]:
        board = self._port.board
        return board.effects_version, board.asks_version, self._board_screen.docket.version

    def _waits_beneath(self, seen: Sequence[Screen[Any]]) -> bool:
        """Return whether there is something under a dialog, and it was drawn only now."""
        return len(seen) > 1 and time.monotonic() - self._beneath_drawn < _BENEATH_S

    def _in_view(self) -> list[Screen[Any]]:
        """Return the screens that can be seen, from the bottom up.

        What is hidden is not drawn: Textual would draw all of the screen above it again. It is when it comes back.
        """
        stack = self.screen_stack
        first = next((place for place in range(len(stack) - 1, 0, -1) if stack[place].styles.background.a == 1), 0)
        return [screen for screen in stack[first:] if screen.is_mounted]

    def _signal(self, data: str) -> None:
        if isinstance(self._driver, TerminalDriver):
            self._driver.signal(data)

    def _show_title(self, text: str) -> None:
        if isinstance(self._driver, TerminalDriver):
            self._driver.show_title(text)

    @on(TranscriptView.ReadingWanted)
    def _read(self, event: TranscriptView.ReadingWanted) -> None:
        # In a task of its own, so that the app can leave meanwhile.
        self.run_worker(read_in_pager(self, event.text), group="pager", exclusive=True)

    # Keys

    def on_key(self, event: events.Key) -> None:
        """Give a line what was typed just before the keys went there: such keys were sent to whoever had them then."""
        line = self.focused
        if not event.is_printable or event.character is None:
            return
        if isinstance(line, Input):
            event.prevent_default()
            line.replace(event.character, *line.selection)
        elif isinstance(line, WordsArea):
            event.prevent_default()
            line.write(event.character)

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(HelpScreen())

    def action_mute(self) -> None:
        """Silence bell and notifications, or let them sound again."""
        self.notify(self._herald.turn(), markup=False, timeout=3)

    async def action_quit(self) -> None:
        """Leave: ask first if something is running, and do not wait any longer when asked again."""
        if self._is_stopping:
            self._port.kill()
            return
        busy = [ticket for ticket in self._port.board.rows() if ticket.holds_slot]
        waiting = sum(ticket.state is State.NEEDS_YOU for ticket in busy)
        if busy:
            self.push_screen(QuitScreen(len(busy) - waiting, waiting), self._quit_answered)
        else:
            self._stop()

    def _quit_answered(self, answer: bool | None) -> None:
        if answer:
            self._stop()

    def _stop(self) -> None:
        self._is_stopping = True
        self._port.request_stop()
        self._board_screen.show_stopping()
