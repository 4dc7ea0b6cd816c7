"""The live transcript: following, the lock when scrolled up, switching tickets, resizing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.core import events as ev
from tests.screens.scenes import NOW, calm

if TYPE_CHECKING:
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio
TICKET = "001-rounding"


def say(stage: Stage, first: int, last: int, ticket: str = TICKET) -> None:
    for number in range(first, last):
        stage.board.apply(ev.AgentSpoke(ticket, NOW, f"word {number}."))
    stage.frame()


async def test_it_follows_the_end(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        for part in range(5):
            say(stage, part * 20, part * 20 + 20)
            await stage.until(lambda part=part: f"› word {part * 20 + 19}." in stage.text())  # type: ignore[misc]
        assert stage.screen.transcript.is_following


async def test_scrolling_up_locks_and_end_follows_again(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        view = stage.screen.transcript
        say(stage, 0, 100)
        await stage.pilot.press("tab", "k", "k")
        assert not view.is_following
        await stage.pilot.pause()
        before = stage.text()
        assert "› word 99." not in before
        say(stage, 100, 130)
        await stage.until(lambda: "↓ 30 new below · end" in stage.text())
        assert before.splitlines()[-5] == stage.text().splitlines()[-5]
        await stage.pilot.press("end")
        await stage.until(lambda: "word 129." in stage.text())
        assert view.is_following
        assert "new below" not in stage.text()


async def test_scrolling_down_to_the_end_follows_again(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        say(stage, 0, 100)
        await stage.pilot.press("tab", "pageup")
        assert not stage.screen.transcript.is_following
        await stage.pilot.press("pagedown", "pagedown")
        assert stage.screen.transcript.is_following


async def test_home_reaches_what_was_not_laid_out_at_first(open_app: Opener) -> None:
    board = calm()
    for number in range(1500):
        board.apply(ev.AgentSpoke(TICKET, NOW, f"word {number}."))
    async with open_app(board) as stage:
        view = stage.screen.transcript
        assert len(view._text.lines) < 400
        await stage.pilot.press("tab", "home")
        await stage.until(lambda: view.scroll_offset.y == 0)
        await stage.pilot.pause()
        first = board.transcript(TICKET).since(0)[0]
        assert first.text in stage.text()


async def test_paging_up_meets_every_line_once(open_app: Opener) -> None:
    board = calm()
    for number in range(900):
        board.apply(ev.AgentSpoke(TICKET, NOW, f"word {number}."))
    async with open_app(board) as stage:
        await stage.pilot.press("tab")
        seen: list[int] = []
        for _ in range(200):
            shown = [int(w[5:-1]) for w in _spoken(stage)]
            seen = shown + [n for n in seen if n not in shown]
            if 0 in shown:
                break
            await stage.pilot.press("pageup")
            await stage.pilot.pause()
        assert seen == list(range(900))


async def test_another_ticket_starts_at_its_end(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        say(stage, 0, 60, "002-images")
        say(stage, 0, 60)
        await stage.pilot.press("tab", "pageup", "tab", "j")
        await stage.until(lambda: "word 59." in stage.text())
        assert stage.screen.transcript.is_following
        await stage.pilot.press("j", "j")
        await stage.until(lambda: "Nothing said yet." in stage.text())
        say(stage, 0, 1, "004-search")
        await stage.until(lambda: "› word 0." in stage.text())
        assert "Nothing said yet" not in stage.text()


async def test_a_new_width_lays_out_again_and_keeps_the_place(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        for number in range(80):
            stage.board.apply(ev.AgentSpoke(TICKET, NOW, f"word {number}. " + "long " * 30))
        stage.frame()
        await stage.pilot.press("tab", "pageup", "pageup")
        await stage.pilot.pause()
        first = _spoken(stage)[0]
        await stage.pilot.resize_terminal(60, 30)
        await stage.until(lambda: first in stage.text())
        assert not stage.screen.transcript.is_following
        await stage.pilot.press("end")
        await stage.pilot.resize_terminal(120, 30)
        await stage.until(lambda: "word 79." in stage.text())


async def test_the_wheel_scrolls_at_once(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        say(stage, 0, 100)
        view = stage.screen.transcript
        await stage.pilot.pause()
        top = view.scroll_offset.y
        await stage.pilot._post_mouse_events([_wheel_up()], view, offset=(5, 2))
        assert view.scroll_offset.y == top - 3


async def test_memory_is_bounded(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        for part in range(40):
            say(stage, part * 500, part * 500 + 500)
        view = stage.screen.transcript
        assert len(view._text.lines) <= 4000
        assert len(view._strips) < 1000


def _spoken(stage: Stage) -> list[str]:
    return [line.split("› ")[1].split(" long")[0].strip(" ▁▂▃▄▅▆▇█") for line in _said(stage)]


def _said(stage: Stage) -> list[str]:
    return [line for line in stage.text().splitlines() if "› word" in line]


def _wheel_up() -> type:
    from textual.events import MouseScrollUp

    return MouseScrollUp
