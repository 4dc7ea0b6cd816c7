"""All tickets over time, under an operator's fingers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.app.screens.ticket import TicketScreen
from supervisor.app.screens.timeline import TimelineScreen
from supervisor.core import events as ev
from supervisor.core.errors import SupervisorError
from supervisor.core.model import State
from tests.app.test_ticket_screen import FORBIDDEN, settled, written
from tests.screens.scenes import NOW, Story, hostile
from tests.screens.ticket_scenes import Shelf, never
from tests.screens.timeline_scenes import two_hours
from widgets.timeline import TimelineView

if TYPE_CHECKING:
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


async def timeline(stage: Stage, shelf: Shelf, *keys: str) -> TimelineScreen:
    """Open the timeline, and press keys there once all was read."""
    stage.port.reader = shelf
    await stage.pilot.press("T")
    await settled(stage)
    for key in keys:
        await stage.pilot.press(key)
        await stage.pilot.pause()
    screen = stage.app.screen
    assert isinstance(screen, TimelineScreen)
    return screen


async def test_each_ticket_has_its_time(open_app: Opener) -> None:
    board, shelf = two_hours()
    async with open_app(board, size=(100, 24)) as stage:
        await timeline(stage, shelf)
        lines = stage.text().splitlines()
        assert lines[0].startswith(" TIMELINE  2m a cell")
        assert lines[1].endswith("now╷")
        assert "╷13:00" in lines[1]
        assert "✓ 001-rounding  $0.70" in lines[2]
        assert "1███████████████┄┄┄┄┄┄┄┄┄┄2████" in lines[2]
        assert lines[2].endswith("✓")
        assert "1███████████████████✗" in stage.line("002-images")
        assert stage.line("003-deploy").rstrip().endswith("!!!!!")
        assert stage.line("004-search").rstrip().endswith("█")
        assert stage.line("100-later").split() == ["○", "100-later"]


async def test_opening_draws_the_rows_once(open_app: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, told = TimelineView.show, list[str]()

    def show(view: TimelineView, *args: Any) -> None:
        told.append("rows")
        shown(view, *args)

    monkeypatch.setattr(TimelineView, "show", show)
    board, shelf = two_hours()
    async with open_app(board, size=(100, 24)) as stage:
        await stage.pilot.press("j", "j")
        screen = await timeline(stage, shelf)
        assert told == ["rows"]
        assert screen.view.built == len(board.rows())
        assert screen.view.picked == "003-deploy"
        assert "▸ ! 003-deploy" in stage.text()


async def test_costs_stand_below_with_their_total(open_app: Opener) -> None:
    board, shelf = two_hours()
    async with open_app(board, size=(100, 24)) as stage:
        await timeline(stage, shelf)
        assert "$1.80 of $5" in stage.text().splitlines()[-4]
        assert stage.text().splitlines()[-2].rstrip().endswith("█")


async def test_zoom_and_pan(open_app: Opener) -> None:
    board, shelf = two_hours()
    async with open_app(board, size=(100, 24)) as stage:
        await timeline(stage, shelf)
        for key, words in (
            ("plus", "1m a cell"),
            ("equals_sign", "30s a cell"),
            ("left", "30s a cell, up to 18m ago"),
            ("minus", "1m a cell, up to 18m ago"),
            ("right", "1m a cell"),
            ("h", "1m a cell, up to 37m ago"),
            ("l", "1m a cell"),
            ("minus", "2m a cell"),
            ("minus", "5m a cell"),
            ("0", "2m a cell"),
        ):
            await stage.pilot.press(key)
            await stage.pilot.pause()
            assert words in stage.text().splitlines()[0], key
        assert stage.port.slots is None


async def test_zooming_in_shows_less(open_app: Opener) -> None:
    board, shelf = two_hours()
    async with open_app(board, size=(100, 24)) as stage:
        await timeline(stage, shelf, *["plus"] * 8)
        assert "1s a cell" in stage.text()
        assert "█" in stage.line("004-search")
        assert "█" not in stage.line("001-rounding")
        await stage.pilot.press(*["minus"] * 20)
        await stage.pilot.pause()
        assert "7d a cell" in stage.text()


async def test_it_goes_on_with_what_happens(open_app: Opener) -> None:
    board, shelf = two_hours()
    story = Story()
    story.board = board
    async with open_app(board, size=(100, 24)) as stage:
        await timeline(stage, shelf)
        story.move("004-search", State.DONE, at=NOW)
        await stage.until(lambda: stage.line("004-search").rstrip().endswith("✓"))
        board.apply(ev.TurnEnded("003-deploy", NOW, 1, "u", "success", "completed", False, 1, 1.0))
        await stage.until(lambda: "$2.80 of $5" in stage.text())
        story.start("100-later", at=NOW - 1)
        await stage.until(lambda: stage.line("100-later").rstrip().endswith("█"))
        story.add("102-new")
        await stage.until(lambda: stage.line("102-new") != "")


async def test_now_moves_on(open_app: Opener) -> None:
    board, shelf = two_hours()
    async with open_app(board, size=(100, 24)) as stage:
        await timeline(stage, shelf)
        before = stage.line("004-search").count("█")
        stage.clock.now += 600
        await stage.until(lambda: stage.line("004-search").count("█") > before)


async def test_what_happens_while_the_past_is_read_counts_once(open_app: Opener) -> None:
    board, shelf = two_hours()
    async with open_app(board, size=(100, 24)) as stage:
        gate = shelf.gate = never()
        await timeline(stage, shelf)
        assert "reading …" in stage.text()
        event = ev.TurnEnded("004-search", NOW, 1, "u-004-search", "success", "completed", False, 4, 0.5)
        board.apply(event)
        later = ev.TurnEnded("004-search", NOW + 1, 1, "u-004-search", "success", "completed", False, 4, 0.25)
        board.apply(later)
        shelf.happened = (*shelf.happened, event)
        gate.set()
        await stage.until(lambda: "$2.55 of $5" in stage.text())


async def test_it_listens_only_while_it_is_open(open_app: Opener) -> None:
    board, shelf = two_hours()
    async with open_app(board) as stage:
        before = len(board._listeners)
        await timeline(stage, shelf)
        assert len(board._listeners) == before + 1
        await stage.pilot.press("escape")
        await stage.until(lambda: len(board._listeners) == before)


async def test_what_cannot_be_read_is_told(open_app: Opener) -> None:
    board, shelf = two_hours()
    async with open_app(board) as stage:
        shelf.fault = SupervisorError("the disk [/b] is gone")
        await timeline(stage, shelf)
        assert "the disk [/b] is gone" in stage.text()


async def test_five_hundred_tickets_scroll(open_app: Opener) -> None:
    board, shelf = two_hours(queued=500)
    async with open_app(board, size=(100, 24)) as stage:
        screen = await timeline(stage, shelf)
        for keys, ticket in (
            (["end"], "599-later"),
            (["home"], "001-rounding"),
            (["j", "j", "k"], "002-images"),
            (["pagedown"], "113-later"),
        ):
            await stage.pilot.press(*keys)
            await stage.pilot.pause()
            assert screen.view.picked == ticket
            assert f"{ticket}" in stage.line("▸ ")


async def test_it_begins_at_the_selected_ticket(open_app: Opener) -> None:
    board, shelf = two_hours(queued=100)
    async with open_app(board, size=(100, 24)) as stage:
        await stage.pilot.press("end")
        screen = await timeline(stage, shelf)
        await stage.until(lambda: screen.view.picked == "199-later")


async def test_only_rows_that_changed_are_drawn(open_app: Opener) -> None:
    board, shelf = two_hours(queued=100)
    async with open_app(board, size=(100, 40)) as stage:
        screen = await timeline(stage, shelf)
        await stage.pilot.pause(0.1)
        built = screen.view.built
        board.apply(ev.StateChanged("004-search", NOW, State.PARKED))
        await settled(stage)
        assert screen.view.built == built + 1


async def test_at_rest_nothing_is_drawn_within_a_cell(open_app: Opener) -> None:
    board, shelf = two_hours()
    async with open_app(board, size=(100, 24)) as stage:
        await timeline(stage, shelf)
        await stage.pilot.pause(0.1)
        with written(stage) as writes:
            for _ in range(10):
                stage.clock.now += 1
                await settled(stage)
        assert writes == []


@pytest.mark.parametrize("key", ["escape", "T"])
async def test_it_leads_back(open_app: Opener, key: str) -> None:
    board, shelf = two_hours()
    async with open_app(board) as stage:
        await timeline(stage, shelf, "j")
        await stage.pilot.press(key)
        assert stage.is_on_board
        assert stage.has_focus(stage.screen.table)


async def test_enter_opens_the_ticket(open_app: Opener) -> None:
    board, shelf = two_hours()
    async with open_app(board) as stage:
        await timeline(stage, shelf, "j")
        await stage.pilot.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, TicketScreen))
        assert "002-images" in stage.text().splitlines()[0]
        await stage.pilot.press("escape")
        assert stage.is_on_board
        assert stage.screen.table.cursor_ticket == "002-images"


async def test_an_empty_batch_has_no_time(open_app: Opener) -> None:
    async with open_app(Story().board) as stage:
        await timeline(stage, Shelf(), "j", "plus", "left", "enter")
        assert "$0.00 of $20" in stage.text()


async def test_nothing_hostile_reaches_the_terminal(open_app: Opener) -> None:
    async with open_app(hostile(), size=(100, 30)) as stage:
        await timeline(stage, Shelf())
        assert not set(stage.text()) & FORBIDDEN


@pytest.mark.parametrize("size", [(1, 1), (5, 3), (20, 4), (300, 5), (10, 80)])
async def test_no_size_is_too_small(open_app: Opener, size: tuple[int, int]) -> None:
    board, shelf = two_hours()
    async with open_app(board, size=size) as stage:
        await timeline(stage, shelf, "j", "plus", "left")
        await stage.pilot.resize_terminal(100, 24)
        await stage.until(lambda: "001-rounding" in stage.text())
