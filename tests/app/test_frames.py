"""What is drawn when: nothing at rest, only what changed at work, seconds only where seconds are shown."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from supervisor.app import app as app_module
from supervisor.core import events as ev
from supervisor.core.model import State
from tests.screens.scenes import NOW, Story, busy, crowd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio


@contextmanager
def painted(stage: Stage) -> Iterator[list[object]]:
    """Collect everything the app writes to the screen meanwhile."""
    writes: list[object] = []
    original = stage.app._display

    def display(screen: object, renderable: object) -> None:
        writes.append(renderable)
        original(screen, renderable)  # type: ignore[arg-type]

    stage.app._display = display  # type: ignore[method-assign]
    yield writes
    stage.app._display = original  # type: ignore[method-assign]


async def test_a_board_at_rest_is_not_drawn_for_a_minute(open_app: Opener) -> None:
    story = Story()
    for number, state in enumerate((State.DONE, State.PAUSED, State.NEEDS_YOU, State.FAILED, State.CANCELLED)):
        story.add(f"00{number}", f"Ticket {number}")
        story.start(f"00{number}")
        story.move(f"00{number}", state)
    async with open_app(story.board, size=(200, 50)) as stage:
        await stage.pilot.pause(0.2)
        stage.clock.now += 1  # the card beside the conversation looks at files once the cursor rests
        stage.frame()
        await stage.pilot.pause(0.2)
        built = stage.screen.table.strips_built
        with painted(stage) as writes:
            for _ in range(60):
                stage.clock.now += 1
                stage.frame()
                await stage.pilot.pause()
        assert writes == []
        assert stage.screen.table.strips_built == built


async def test_only_rows_that_changed_are_built(open_app: Opener) -> None:
    async with open_app(crowd(), size=(160, 50)) as stage:
        table = stage.screen.table
        await stage.pilot.pause()
        built = table.strips_built
        for ticket in ("003-ticket", "007-ticket", "150-ticket"):
            stage.board.apply(ev.LimitsChanged(ticket, NOW, 2.0, None))
        stage.frame()
        await stage.until(lambda: "2.00" in stage.line("007-ticket"))
        assert table.strips_built == built + 2


async def test_a_countdown_ticks_and_what_rests_beside_it_does_not(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        built = stage.screen.table.strips_built
        assert "API 529, again in 0:41" in stage.line("004-search")
        stage.clock.now += 1
        await stage.until(lambda: "again in 0:40" in stage.line("004-search"))
        assert stage.screen.table.strips_built == built + 1


async def test_ages_tick_where_they_are_shown(open_app: Opener) -> None:
    async with open_app(busy(), size=(160, 40)) as stage:
        assert stage.line("001-rounding ").rstrip().endswith("4m   18s")
        stage.clock.now += 2
        await stage.until(lambda: stage.line("001-rounding ").rstrip().endswith("4m   20s"))


async def test_what_is_announced_is_drawn(open_app: Opener) -> None:
    async with open_app(crowd()) as stage:
        stage.board.announce(notice="rate limit until 14:00", rehearsal=True)
        await stage.until(lambda: "[rehearsal]  rate limit until 14:00" in stage.text())


async def test_a_dialog_on_top_does_not_stop_the_board(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("question_mark")
        stage.board.apply(ev.StateChanged("001-rounding", NOW, State.DONE, detail="verified"))
        stage.frame()
        await stage.pilot.press("escape")
        await stage.until(lambda: "✓ done" in stage.line("001-rounding"))


async def test_what_lies_under_a_dialog_is_drawn_once_a_second(
    open_app: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(busy()) as stage:
        monkeypatch.setattr(app_module, "_BENEATH_S", 1000.0)
        table = stage.screen.table
        await stage.pilot.press("m")
        stage.app._beneath_drawn = -1000.0
        stage.board.apply(ev.LimitsChanged("002-images", NOW, 2.0, None))
        await stage.until(lambda: "1.60" in stage.line("002-images"))
        built = table.strips_built
        for usd in (3.0, 4.0, 5.0):
            stage.board.apply(ev.LimitsChanged("002-images", NOW, usd, None))
            stage.frame()
            await stage.pilot.pause()
        assert table.strips_built == built
        monkeypatch.setattr(app_module, "_BENEATH_S", 0.0)  # the second is over
        await stage.until(lambda: "4.60" in stage.line("002-images"))
        assert table.strips_built == built + 1
