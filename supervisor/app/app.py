"""The Textual application: one frame timer between the board and the screen, the global keys, and the way out.

Run it with ``await app.run_async()`` as a sibling of the engine in one task group, and end it with ``finish``; never
cancel it from outside, and host nothing in its workers: Textual does not wait for those when it leaves.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import App
from textual.widgets import Input

from supervisor.app.commands import APP_COMMANDS, command_bindings
from supervisor.app.driver import TerminalDriver
from supervisor.app.herald import Herald
from supervisor.app.pager import read_in_pager
from supervisor.app.palette import SuperviseCommands
from supervisor.app.screens.board import BoardScreen
from supervisor.app.screens.dialog import VerbDialog
from supervisor.app.screens.help import HelpScreen
from supervisor.app.screens.items import ItemsScreen
from supervisor.app.screens.live import LiveScreen
from supervisor.app.screens.quit import QuitScreen
from supervisor.app.theme import MONOCHROME, THEME
from widgets.cells import drawable
from widgets.transcript import TranscriptView
from widgets.words_area import WordsArea

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.binding import BindingType

    from supervisor.app.ports import BatchPort


_MAX_BACKLOG = 20
"""Writes a slow terminal may owe us before frames are left out; what changed is drawn once it has caught up."""


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
    ) -> None:
        """Prepare the application; nothing is drawn before it runs.

        Args:
            port: The running batch.
            on_ready: Called once, after the first paint: the time to start what should not delay it.
            clock: Seconds since the epoch.
            frame_hz: How often a second changes are drawn, at most.
        """
        no_color = "NO_COLOR" in os.environ
        # With native colours Textual answers NO_COLOR by sending none at all; otherwise it would send greys.
        super().__init__(driver_class=TerminalDriver, ansi_color=True if no_color else None)
        self._port = port
        self._tell_ready = on_ready
        self._clock = clock
        self._frame_hz = frame_hz
        self._announced: object = None
        self._items_seen = (-1, -1, -1)
        self._second = -1
        self._is_stopping = False
        self._board_screen = BoardScreen(port, clock)
        self._herald = Herald(
            port.board,
            self._board_screen.waits,
            time.monotonic,
            env=os.environ,
            write=self._signal,
            set_title=self._show_title,
        )
        self.register_theme(THEME)
        self.theme = MONOCHROME if no_color else THEME.name

    def get_default_screen(self) -> BoardScreen:
        """The board lies under every other screen."""
        return self._board_screen

    def on_ready(self) -> None:
        """Keep up with the board from now on, and tell whoever waits for the first paint."""
        self.set_interval(1 / self._frame_hz, self._frame)
        if self._tell_ready is not None:
            self.call_after_refresh(self._tell_ready)

    def finish(self, code: int) -> None:
        """Leave, with this exit code. May be called from any task of the app's loop."""
        self.exit(code, return_code=code)

    # Frames

    def _frame(self) -> None:
        """Draw what changed since the last frame. Synchronous, so that no key handler runs in the middle of it."""
        if getattr(self._driver, "backlog", 0) > _MAX_BACKLOG:
            return
        board = self._port.board
        news = self._items_version() != self._items_seen or board.announced is not self._announced
        live = self._live_screens()
        if board.drain() or news or self._board_screen.has_news or any(screen.has_news for screen in live):
            self.refresh_board()
        elif int(self._clock()) != self._second:
            self._second = int(self._clock())
            self._board_screen.tick()
            for items in self._items_screens():
                items.tick()
            for screen in live:
                screen.tick()
        self._herald.tick()

    def refresh_board(self) -> None:
        """Draw the board as it is now, without waiting for the next frame."""
        board = self._port.board
        board.drain()
        self._announced, self._second = board.announced, int(self._clock())
        self._items_seen = self._items_version()
        self._board_screen.show()
        screens = self._items_screens()
        for screen in screens:
            screen.show()
        for live in self._live_screens():
            live.show()
        for dialog in self.screen_stack:
            if isinstance(dialog, VerbDialog) and dialog.is_mounted:
                dialog.show()
        self._herald.look()
        self._board_screen.tell_news()
        for refusal in self._board_screen.docket.untold():
            if not screens:
                self.notify(drawable(refusal.text), severity="warning", markup=False)

    def _items_version(self) -> tuple[int, int, int]:
        board = self._port.board
        return board.effects_version, board.asks_version, self._board_screen.docket.version

    def _items_screens(self) -> list[ItemsScreen]:
        return [screen for screen in self.screen_stack if isinstance(screen, ItemsScreen) and screen.is_mounted]

    def _live_screens(self) -> list[LiveScreen[Any]]:
        return [screen for screen in self.screen_stack if isinstance(screen, LiveScreen) and screen.is_mounted]

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
        running = sum(ticket.holds_slot for ticket in self._port.board.rows())
        if running:
            self.push_screen(QuitScreen(running), self._quit_answered)
        else:
            self._stop()

    def _quit_answered(self, answer: bool | None) -> None:
        if answer:
            self._stop()

    def _stop(self) -> None:
        self._is_stopping = True
        self._port.request_stop()
        self._board_screen.show_stopping()
