"""Dialogs as pictures. Look at the report before accepting a change: ``pytest tests/screens --snapshot-update``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from supervisor.app.app import SuperviseApp
from tests.screens.dialog_scenes import TICKET, Library, at_rest
from tests.screens.scenes import NOW, FakePort

if TYPE_CHECKING:
    from textual.pilot import Pilot

Compare = Callable[..., bool]


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()


@pytest.mark.parametrize(
    ("ticket", "size", "keys"),
    [
        pytest.param("001-rounding", (80, 24), ["m", *"Leave", "space", *"it."], id="message-80x24"),
        pytest.param("001-rounding", (120, 40), ["space", "space", "m"], id="message-marked-120x40"),
        pytest.param("001-rounding", (80, 24), ["asterisk", "m"], id="message-left-out-80x24"),
        pytest.param("001-rounding", (80, 24), ["b", "full_stop", "5", "x"], id="budget-refused-80x24"),
        pytest.param("007-tax", (80, 24), ["r"], id="raise-80x24"),
        pytest.param("006-cart", (80, 24), ["P", "plus"], id="priority-80x24"),
        pytest.param(TICKET, (80, 24), ["R"], id="start-over-80x24"),
        pytest.param("001-rounding", (80, 24), ["x"], id="cancel-80x24"),
        pytest.param(TICKET, (80, 24), ["f", *"Again"], id="fork-80x24"),
        pytest.param(TICKET, (120, 40), ["f", "shift+tab", "shift+tab", "j", "j", "j"], id="fork-earlier-120x40"),
        pytest.param(TICKET, (80, 24), ["z", "j"], id="rewind-80x24"),
        pytest.param(TICKET, (120, 40), ["z", "s"], id="rewind-checkpoint-120x40"),
        pytest.param("002-images", (120, 40), ["p"], id="starting-paused-120x40"),
    ],
)
def test_dialog(ticket: str, size: tuple[int, int], keys: list[str], snap_compare: Compare) -> None:
    port = FakePort(at_rest(), reader=Library())
    app = SuperviseApp(port, clock=lambda: NOW)

    async def open_it(pilot: Pilot[int]) -> None:
        await pilot.pause()
        app._board_screen.go_to(ticket)
        for key in keys:
            await pilot.press(key)
            await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=open_it)
