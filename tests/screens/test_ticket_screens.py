"""A ticket's screen, two of them compared, and the timeline, as pictures.

Look at the report before accepting a change: ``pytest tests/screens --snapshot-update``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.app.app import SuperviseApp
from supervisor.app.theme import HIGH_CONTRAST
from supervisor.core.errors import SupervisorError
from tests.screens.effect_scenes import stuck
from tests.screens.scenes import NOW, FakePort
from tests.screens.ticket_scenes import Forks, Shelf, hostile_shelf, never, write
from tests.screens.timeline_scenes import two_hours

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from supervisor.core.board import Board

Compare = Callable[..., bool]
SMALL, USUAL, LARGE = (80, 24), (120, 40), (200, 60)
TABS = {"transcript": "1", "attempts": "2", "effects": "3", "changes": "4", "checkpoints": "5", "facts": "6"}


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()


class Scene:
    """An app over a board, its keys pressed and everything read."""

    def __init__(self, board: Board, reader: Any, keys: list[str], ticket: str = "001-rounding") -> None:
        self._now, self._keys, self._ticket = NOW, keys, ticket
        self.app = SuperviseApp(FakePort(board, reader=reader), clock=lambda: self._now)

    async def run(self, pilot: Pilot[int]) -> None:
        """Press the keys; wait after each until nothing is left to draw."""
        await pilot.pause()
        self.app._board_screen.go_to(self._ticket)
        for key in ["", *self._keys]:
            if key:
                await pilot.press(key)
            for _ in range(3):
                await pilot.pause()
                self.app._frame()
        await pilot.pause()


def shown(scene: Scene, size: tuple[int, int], compare: Compare) -> bool:
    return compare(scene.app, terminal_size=size, run_before=scene.run)


@pytest.mark.parametrize("size", [SMALL, USUAL], ids=["80x24", "120x40"])
@pytest.mark.parametrize("tab", TABS)
def test_tab(tab: str, size: tuple[int, int], snap_compare: Compare) -> None:
    more = ["j"] if tab == "changes" else []
    assert shown(Scene(stuck(), Shelf(), ["enter", TABS[tab], *more]), size, snap_compare)


@pytest.mark.parametrize("tab", ["transcript", "changes"])
def test_tab_on_a_large_terminal(tab: str, snap_compare: Compare) -> None:
    more = ["j"] if tab == "changes" else []
    assert shown(Scene(stuck(), Shelf(), ["enter", TABS[tab], *more]), LARGE, snap_compare)


@pytest.mark.parametrize(
    ("reader", "keys"),
    [
        pytest.param(Shelf(), ["enter", "2", "j", "enter"], id="attempt"),
        pytest.param(Shelf(), ["enter", "4", "t"], id="changes-since-prompt"),
        pytest.param(Shelf(files=()), ["enter", "4"], id="changes-none"),
        pytest.param(Shelf(gate=never()), ["enter", "4"], id="changes-reading"),
        pytest.param(
            Shelf(fault=SupervisorError("git cannot be run: no space left")), ["enter", "4"], id="changes-fault"
        ),
        pytest.param(Shelf(fault=SupervisorError("the store is locked")), ["enter", "2"], id="attempts-fault"),
        pytest.param(hostile_shelf(), ["enter", "4", "j", "j", "j"], id="changes-hostile"),
    ],
)
def test_state(reader: Shelf, keys: list[str], snap_compare: Compare) -> None:
    assert shown(Scene(stuck(), reader, keys), SMALL, snap_compare)


def test_messages_that_wait(snap_compare: Compare) -> None:
    board, shelf = stuck(), Shelf()
    write(board, shelf, "Use half to even, as the tax office does; the note in docs/discounts.png says why.")
    write(board, shelf, "Then go through these:\n\n" + "\n".join(f"- case {n}" for n in range(1, 9)))
    assert shown(Scene(board, shelf, ["enter"]), SMALL, snap_compare)


def test_a_ticket_that_has_not_begun(snap_compare: Compare) -> None:
    nothing = Shelf(tries=(), points=(), files=())
    assert shown(Scene(stuck(), nothing, ["enter", "3"], "006-cart"), SMALL, snap_compare)


def test_compared(snap_compare: Compare) -> None:
    assert shown(Scene(stuck(), Forks(), ["space", "space", "d", "j"]), USUAL, snap_compare)


@pytest.mark.parametrize("size", [SMALL, USUAL, LARGE], ids=["80x24", "120x40", "200x60"])
def test_timeline(size: tuple[int, int], snap_compare: Compare) -> None:
    board, reader = two_hours(12)
    assert shown(Scene(board, reader, ["T", "j"]), size, snap_compare)


def test_wide_board(snap_compare: Compare) -> None:
    scene = Scene(stuck(), Shelf(), [])

    async def rest(pilot: Pilot[int]) -> None:
        await scene.run(pilot)
        scene._now += 1
        await scene.run(pilot)

    assert snap_compare(scene.app, terminal_size=(170, 52), run_before=rest)


def test_high_contrast(snap_compare: Compare) -> None:
    scene = Scene(stuck(), Shelf(), ["enter", "4", "j"])
    scene.app.theme = HIGH_CONTRAST.name
    assert shown(scene, SMALL, snap_compare)


@pytest.mark.parametrize("name", ["changes", "timeline"])
def test_without_colours(name: str, snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    board, reader = two_hours(3)
    scene = Scene(board, reader, ["T"]) if name == "timeline" else Scene(stuck(), Shelf(), ["enter", "4", "j"])
    assert shown(scene, SMALL, snap_compare)
