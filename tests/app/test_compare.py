"""Two tickets' changes side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.app.screens.compare import CompareScreen
from supervisor.core import events as ev
from supervisor.core.errors import SupervisorError
from tests.app.test_ticket_screen import FORBIDDEN, settled
from tests.screens.effect_scenes import stuck
from tests.screens.scenes import NOW
from tests.screens.ticket_scenes import Forks, Shelf, hostile_shelf, never

if TYPE_CHECKING:
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio


async def compared(stage: Stage, *keys: str, shelf: Shelf | None = None) -> CompareScreen:
    """Mark a ticket and its fork, look at both, and wait until all was read."""
    stage.port.reader = shelf or Forks()
    await stage.pilot.press("space", "space", "d")
    await settled(stage)
    for key in keys:
        await stage.pilot.press(key)
        await settled(stage)
    screen = stage.app.screen
    assert isinstance(screen, CompareScreen)
    return screen


async def test_files_are_aligned_by_path(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 30)) as stage:
        await compared(stage)
        lines = stage.text().splitlines()
        assert lines[0].split() == ["FILE", "001-rounding", "001-rounding.2"]
        assert lines[1].split()[-3:] == ["A", "binary", "·"]
        assert lines[2].split() == ["tinyshop/pricing.py", "M", "+4", "−2", "M", "+4", "−2"]
        assert "001-rounding  4 files  +5 −5" in stage.text()
        assert "001-rounding.2  1 file  +4 −2" in stage.text()


async def test_each_side_says_how_its_ticket_stands(open_app: Opener) -> None:
    async with open_app(stuck(), size=(160, 30)) as stage:
        await compared(stage)
        assert "001-rounding  4 files  +5 −5  ● running  $0.21  Discounts round the wrong way" in stage.text()


async def test_the_diffs_stand_next_to_each_other(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 30)) as stage:
        await compared(stage, "j")
        line = stage.line("rounds once, at the end")
        assert "half to even" in line
        assert line.count("15 +") == 2
        await stage.pilot.press("j")
        await settled(stage)
        assert "not changed here" in stage.text()


async def test_it_needs_exactly_two_marks(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        stage.port.reader = Forks()
        await stage.pilot.press("space", "space", "space", "d")
        assert not isinstance(stage.app.screen, CompareScreen)


async def test_both_scroll_as_one(open_app: Opener) -> None:
    shelf = Forks()
    shelf.diffs["tinyshop/pricing.py"] = "@@ -0,0 +1,200 @@\n" + "".join(
        f"+{n} rounds once, at the end {'x' * 200}\n" for n in range(200)
    )
    async with open_app(stuck(), size=(100, 30)) as stage:
        screen = await compared(stage, "j", shelf=shelf)
        page = screen.panes[0].scrollable_content_region.height - 1
        for key, top in (("space", page), ("J", page + 1), ("K", page), ("pageup", 0)):
            await stage.pilot.press(key)
            assert [pane.scroll_offset.y for pane in screen.panes] == [top, top], key
        for key, left in (("right", 8), ("l", 16), ("left", 8), ("h", 0), ("h", 0)):
            await stage.pilot.press(key)
            assert [pane.left for pane in screen.panes] == [left, left], key
        await stage.pilot.press("tab", "end")
        assert screen.panes[0].scroll_offset.y == screen.panes[1].scroll_offset.y > 100
        await stage.pilot.press("tab", "home")
        assert [pane.scroll_offset.y for pane in screen.panes] == [0, 0]


async def test_the_wheel_takes_both_along(open_app: Opener) -> None:
    shelf = Forks()
    shelf.diffs["tinyshop/pricing.py"] = "@@ -0,0 +1,200 @@\n" + "+line\n" * 200
    async with open_app(stuck(), size=(100, 30)) as stage:
        screen = await compared(stage, "j", shelf=shelf)
        screen.panes[1].scroll_lines(3)
        await stage.pilot.pause()
        assert [pane.scroll_offset.y for pane in screen.panes] == [3, 3]


async def test_it_follows_what_the_agents_do(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 30)) as stage:
        shelf = Forks()
        await compared(stage, shelf=shelf)
        shelf.reads.clear()
        stage.clock.now += 3
        stage.board.apply(ev.ToolReturned("001-rounding.2", NOW, "x", "done"))
        await settled(stage)
        assert shelf.reads.count("changes base") == 1


async def test_while_it_is_read_and_when_it_cannot_be(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 30)) as stage:
        await compared(stage, shelf=Forks(gate=never()))
        assert "reading …" in stage.text()
        await stage.pilot.press("escape")
        await stage.pilot.press("escape", "home")
        await compared(stage, shelf=Forks(fault=SupervisorError("git [/b] is \x1b gone")))
        assert "git [/b] is ␛ gone" in stage.text()


async def test_nothing_changed(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 30)) as stage:
        await compared(stage, shelf=Forks(files=()))
        assert "Neither of them changed anything." in stage.text()


@pytest.mark.parametrize("key", ["escape", "d"])
async def test_it_leads_back(open_app: Opener, key: str) -> None:
    async with open_app(stuck()) as stage:
        await compared(stage, "j")
        await stage.pilot.press(key)
        assert stage.is_on_board
        assert stage.has_focus(stage.screen.table)
        assert len(stage.screen.table.marked) == 2


async def test_nothing_hostile_reaches_the_terminal(open_app: Opener) -> None:
    async with open_app(stuck(), size=(120, 40)) as stage:
        bad = hostile_shelf()
        await compared(stage, shelf=Forks(files=bad.files, diffs=bad.diffs))
        for _ in bad.files:
            assert not set(stage.text()) & FORBIDDEN
            await stage.pilot.press("j")
            await settled(stage)


@pytest.mark.parametrize("size", [(5, 3), (20, 4), (300, 5), (10, 80)])
async def test_no_size_is_too_small(open_app: Opener, size: tuple[int, int]) -> None:
    async with open_app(stuck(), size=size) as stage:
        await compared(stage, "j", "right", "space")
        await stage.pilot.resize_terminal(120, 30)
        await stage.until(lambda: "001-rounding.2" in stage.text())
