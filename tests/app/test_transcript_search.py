"""Searching in the transcript: its keys, and that they are the board's again afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.widgets import Input

from supervisor.core import events as ev
from tests.screens.scenes import NOW, busy, calm
from widgets.transcript_search_bar import SearchBar

if TYPE_CHECKING:
    from supervisor.core.board import Board
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio
TICKET = "001-rounding"


def counted(count: int = 300) -> Board:
    board = calm()
    for number in range(count):
        board.apply(ev.AgentSpoke(TICKET, NOW, f"word {number}."))
    return board


def line(stage: Stage) -> str:
    """The row under the cursor."""
    return stage.line("▸› ").strip(" ▁▂▃▄▅▆▇█")


def query(stage: Stage) -> str:
    """What is looked for."""
    return stage.app.screen.query_one(SearchBar).query_one(Input).value


async def search(stage: Stage, words: str) -> None:
    await stage.pilot.press("tab", "slash")
    await stage.until(lambda: isinstance(stage.app.focused, Input))
    await stage.pilot.press(*words)
    await stage.pilot.pause()


async def test_words_are_typed_and_found_while_they_are(open_app: Opener) -> None:
    async with open_app(counted()) as stage:
        await search(stage, "word 12")
        await stage.until(lambda: "11/11" in stage.text())
        assert query(stage) == "word 12"
        assert "› word 129." in stage.text()
        await stage.pilot.press("0")
        await stage.until(lambda: "1/1 · n N · esc" in stage.text())
        assert "› word 120." in stage.text()


async def test_enter_n_and_N_go_from_find_to_find(open_app: Opener) -> None:  # noqa: N802
    async with open_app(counted()) as stage:
        await search(stage, "word 12")
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.has_focus(stage.screen.transcript))
        for key, place in (("N", 10), ("N", 9), ("n", 10), ("n", 11), ("n", 1), ("enter", 2)):
            await stage.pilot.press(key)
            await stage.until(lambda place=place: f"{place}/11" in stage.text())  # type: ignore[misc]
        assert line(stage) == "▸› word 120."
        assert not stage.screen.transcript.is_following


async def test_escape_ends_it_and_gives_the_keys_back(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await search(stage, "cart")
        await stage.pilot.press("escape")
        await stage.until(lambda: not stage.app.query(SearchBar))
        assert stage.has_focus(stage.screen.transcript)
        await stage.pilot.press("n")
        assert stage.screen.selected is not None
        assert stage.screen.selected.id == "003-deploy", "n is the board's again"
        await stage.pilot.press("slash", *"zz", "enter")
        await stage.until(lambda: "nothing found" in stage.text())
        await stage.pilot.press("escape")
        await stage.until(lambda: not stage.app.query(SearchBar))
        assert stage.has_focus(stage.screen.transcript)


async def test_keys_typed_into_it_are_text(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await search(stage, "qnNy/!mx[/]")
        assert query(stage) == "qnNy/!mx[/]"
        assert stage.port.submitted == []
        assert stage.is_on_board


async def test_a_slash_begins_with_other_words(open_app: Opener) -> None:
    async with open_app(counted()) as stage:
        await search(stage, "word 12")
        await stage.pilot.press("enter", "slash", *"word 77")
        await stage.until(lambda: "1/1" in stage.text())
        assert query(stage) == "word 77"
        assert len(stage.app.query(SearchBar)) == 1


async def test_what_is_folded_is_found_and_unfolded(open_app: Opener) -> None:
    board = counted(50)
    board.apply(ev.ToolCalled(TICKET, NOW, "a", "Bash", "make", ""))
    board.apply(ev.ToolReturned(TICKET, NOW, "a", "one\ntwo\nneedle\nfour"))
    for number in range(50):
        board.apply(ev.AgentSpoke(TICKET, NOW, f"later {number}."))
    async with open_app(board) as stage:
        await search(stage, "needle")
        await stage.until(lambda: "  needle" in stage.text())
        assert "  two" in stage.text()
        assert "▸  needle" in stage.text() or not stage.has_focus(stage.screen.transcript)


async def test_what_is_said_meanwhile_is_counted_too(open_app: Opener) -> None:
    async with open_app(counted()) as stage:
        await search(stage, "word")
        await stage.until(lambda: "300/300" in stage.text())
        stage.board.apply(ev.AgentSpoke(TICKET, NOW, "one more word"))
        stage.frame()
        await stage.until(lambda: "300/301" in stage.text())


async def test_another_ticket_ends_it(open_app: Opener) -> None:
    async with open_app(counted()) as stage:
        await search(stage, "word")
        await stage.pilot.press("tab", "j")
        await stage.until(lambda: not stage.app.query(SearchBar))


async def test_the_table_keeps_its_own_slash(open_app: Opener) -> None:
    async with open_app(counted()) as stage:
        await stage.pilot.press("slash")
        await stage.pilot.pause()
        assert not stage.app.query(SearchBar)
