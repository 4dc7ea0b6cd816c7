"""Words that broke screens, on every surface: shown as they are, or as visible replacements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.core import events as ev
from supervisor.core.model import State
from tests.screens.scenes import HOSTILE, NOW, Story, hostile

if TYPE_CHECKING:
    from tests.app.conftest import Opener

pytestmark = pytest.mark.anyio
FORBIDDEN = set("\x1b\x07\x00\x9b\u202e\u2066\ud83d\r\t")


@pytest.mark.parametrize("size", [(80, 24), (160, 50), (240, 60)])
async def test_nothing_hostile_reaches_the_terminal(open_app: Opener, size: tuple[int, int]) -> None:
    async with open_app(hostile(), size=size) as stage:
        for _ in HOSTILE:
            await stage.pilot.pause()
            assert not set(stage.text()) & FORBIDDEN
            await stage.pilot.press("j")
        for key in ("enter", "question_mark", "escape", "escape", "q", "escape", "ctrl+p", "escape"):
            await stage.pilot.press(key)
            await stage.pilot.pause()
            assert not set(stage.text()) & FORBIDDEN


async def test_markup_is_shown_literally(open_app: Opener) -> None:
    async with open_app(hostile(), size=(160, 50)) as stage:
        for text in HOSTILE[:3]:
            await stage.until(lambda text=text: f"I read {text}" in stage.text())  # type: ignore[misc]
            await stage.pilot.press("j")
        await stage.pilot.click(stage.screen.table, offset=(25, 3))
        await stage.pilot.pause()
        assert stage.port.stops == 0
        assert stage.screen.table.cursor_ticket == "003-hard"


async def test_a_refusal_that_names_a_hostile_id_is_literal(open_app: Opener) -> None:
    story = Story()
    story.add("x [/b] [red]", "t")
    story.start("x [/b] [red]")
    story.move("x [/b] [red]", State.DONE)
    async with open_app(story.board) as stage:
        await stage.pilot.press("i")
        await stage.until(lambda: "x [/b] [red] is done" in stage.text())


async def test_huge_text_keeps_the_keys_live(open_app: Opener) -> None:
    story = Story()
    story.add("001", "t" * 10_000_000)
    story.add("002", "short")
    story.start("001", prompt="p" * 10_000_000)
    story.say("001", "\u202e" * 10_000_000)
    story.call("001", "Bash", "c" * 10_000_000, "r" * 10_000_000)
    for number in range(2000):
        story.board.apply(ev.ToolReturned("001", NOW, f"gone{number}", "line\n" * 50))
    async with open_app(story.board, size=(80, 24)) as stage:
        await stage.pilot.press("j", "k", "enter", "home", "end", "escape")
        assert stage.screen.table.cursor_ticket == "001"
        assert stage.screen.transcript._lines.height < 5000
