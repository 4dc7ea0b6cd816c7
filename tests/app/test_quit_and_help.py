"""The ways out, the page of keys, the palette, and the app as a sibling of an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.app.app import SuperviseApp
from supervisor.app.commands import APP_COMMANDS, BOARD_COMMANDS
from supervisor.app.screens.help import HelpScreen
from supervisor.app.screens.quit import QuitScreen
from supervisor.core.model import State
from supervisor.core.verbs import VERBS
from tests.screens.scenes import FakePort, Story, busy, calm

if TYPE_CHECKING:
    from tests.app.conftest import Opener

pytestmark = pytest.mark.anyio


def at_rest() -> Story:
    story = Story()
    story.add("001-a")
    story.start("001-a")
    story.move("001-a", State.PAUSED)
    return story


async def test_quitting_asks_and_escape_stays(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("q")
        assert isinstance(stage.app.screen, QuitScreen)
        await stage.pilot.pause()
        assert "3 tickets are running. They are interrupted and rest; the" in stage.text()
        await stage.pilot.press("escape")
        assert stage.is_on_board
        assert stage.port.stops == 0


@pytest.mark.parametrize(
    ("running", "waiting", "words"),
    [
        (1, 0, "1 ticket is running. It is interrupted and rests;"),
        (0, 2, "2 agents wait for your answer. They are interrupted and rest;"),
        (2, 1, "2 tickets are running and 1 agent waits for your answer. They are"),
    ],
)
async def test_quitting_tells_who_works_from_who_waits(
    open_app: Opener, running: int, waiting: int, words: str
) -> None:
    async with open_app(calm()) as stage:
        await stage.app.push_screen(QuitScreen(running, waiting))
        await stage.until(lambda: words in " ".join(stage.text().replace("│", " ").split()))


@pytest.mark.parametrize("key", ["q", "ctrl+c", "ctrl+q"])
async def test_enter_stops_and_a_second_key_kills(open_app: Opener, key: str) -> None:
    async with open_app(calm()) as stage:
        await stage.pilot.press(key, "enter")
        await stage.until(lambda: stage.port.stops == 1)
        await stage.until(lambda: "[stopping]  stopping…" in stage.text())
        assert stage.port.kills == 0
        await stage.pilot.press(key)
        assert (stage.port.stops, stage.port.kills) == (1, 1)


async def test_nothing_running_is_not_asked_about(open_app: Opener) -> None:
    async with open_app(at_rest().board) as stage:
        await stage.pilot.press("q")
        assert stage.port.stops == 1


async def test_help_lists_every_key_and_closes(open_app: Opener) -> None:
    async with open_app(calm(), size=(100, 200)) as stage:
        await stage.pilot.press("question_mark")
        await stage.pilot.pause()
        assert isinstance(stage.app.screen, HelpScreen)
        for words in ("Stop the turn", "List only what", "headroom:<0.2", "Show all keys", "! needs you", "estimates"):
            assert words in stage.text()
        shown = " ".join(stage.text().split())
        for known in (*(verb.help for verb in VERBS), *(key.help for key in (*BOARD_COMMANDS, *APP_COMMANDS))):
            assert known[:40] in shown
        await stage.pilot.press("q")
        assert stage.is_on_board
        assert stage.port.stops == 0


async def test_help_scrolls_to_its_end(open_app: Opener) -> None:
    async with open_app(calm(), size=(80, 24)) as stage:
        await stage.pilot.press("question_mark", "j", "down", "k", "end")
        await stage.until(lambda: "marks those we" in stage.text())
        assert "esc  close" in stage.text()
        await stage.pilot.press("home")
        await stage.until(lambda: "Stop the turn" in stage.text())


async def test_the_palette_finds_tickets_and_takes_titles_literally(open_app: Opener) -> None:
    story = Story()
    for ticket, title in (("001-a", "Fix [/"), ("002-b", "x [@click=app.quit]hi[/]")):
        story.add(ticket, title)
    async with open_app(story.board) as stage:
        await stage.pilot.press("ctrl+p", *"002")
        await stage.until(lambda: "go to 002-b  x [@click=app.quit]hi[/]" in stage.text())
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.screen.table.cursor_ticket == "002-b")


async def test_the_palette_gives_verbs(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        await stage.pilot.press("ctrl+p", *"interrupt 001")
        await stage.until(lambda: stage.line("interrupt 001-rounding") != "")
        assert "keeps its session and files. (i)" in stage.text()
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.port.submitted == [("interrupt", ("001-rounding",))])


async def test_finish_gives_the_code() -> None:
    app = SuperviseApp(FakePort(calm()))
    async with app.run_test() as pilot:
        app.finish(3)
        await pilot.pause()
    assert (app.return_value, app.return_code) == (3, 3)


async def test_it_is_a_sibling_of_the_engine() -> None:
    steps: list[str] = []

    async def engine(app: SuperviseApp, ready: anyio.Event) -> None:
        await ready.wait()
        steps.append("ready")
        app.finish(0)
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.05)
                steps.append("cleaned up")

    ready = anyio.Event()
    app = SuperviseApp(FakePort(calm()), on_ready=ready.set)
    async with anyio.create_task_group() as group:
        group.start_soon(engine, app, ready)
        assert await app.run_async(headless=True) == 0
        steps.append("closed")
        group.cancel_scope.cancel()
    assert steps == ["ready", "closed", "cleaned up"]
