"""An app over a scene, run without a terminal, with a clock that stands still until a test moves it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.app.app import SuperviseApp
from tests.screens.scenes import NOW, FakePort

if TYPE_CHECKING:
    from textual.pilot import Pilot
    from textual.widget import Widget

    from supervisor.app.screens.board import BoardScreen
    from supervisor.core.board import Board


@dataclass
class Clock:
    """A clock that tests move."""

    now: float = NOW

    def __call__(self) -> float:
        """Return the moment."""
        return self.now


@dataclass
class Stage:
    """A running app and everything around it."""

    app: SuperviseApp
    port: FakePort
    pilot: Pilot[int]
    clock: Clock

    @property
    def board(self) -> Board:
        """The board that the app draws."""
        return self.port.board

    @property
    def screen(self) -> BoardScreen:
        """The board's screen."""
        return self.app._board_screen

    @property
    def is_on_board(self) -> bool:
        """Whether no dialog is open."""
        return self.app.screen is self.screen

    def has_focus(self, widget: Widget) -> bool:
        """Whether the keys go to a widget."""
        return self.app.focused is widget

    def frame(self) -> None:
        """Let the app draw what changed, without waiting for its timer."""
        self.app._frame()

    async def until(self, condition: Callable[[], bool], seconds: float = 45.0) -> None:
        """Let messages be worked off until something is so; fails after a while."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError("the condition never came true")
            await self.pilot.pause()

    def text(self) -> str:
        """Return what stands on the screen, line by line."""
        return "\n".join(strip.text.rstrip() for strip in self.app.screen._compositor.render_strips())

    def line(self, words: str) -> str:
        """Return the first line on the screen that holds some words; empty if none does."""
        return next((line for line in self.text().splitlines() if words in line), "")


def keep_notices(app: SuperviseApp) -> None:
    """Let notices stay on the screen: on a busy machine they might be gone before a test has looked."""
    notify = app.notify

    def stays(*told: Any, **more: Any) -> None:
        notify(*told, **{**more, "timeout": 3600.0})

    app.notify = stays  # type: ignore[method-assign]


Opener = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def open_app() -> Opener:
    """Return the way to run an app over a board."""

    @asynccontextmanager
    async def opened(board: Board, size: tuple[int, int] = (100, 30), **more: object) -> AsyncIterator[Stage]:
        port, clock = FakePort(board), Clock()
        app = SuperviseApp(port, clock=clock, **more)  # type: ignore[arg-type]
        keep_notices(app)
        async with app.run_test(size=size, notifications=True) as pilot:
            await pilot.pause()
            yield Stage(app, port, pilot, clock)

    return opened
