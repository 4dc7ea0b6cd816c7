"""Messages that the agent has not been given: where they stand on the ticket's screen, and when they go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.app.screens.ticket import TicketScreen
from supervisor.app.tabs.transcript import TranscriptTab
from supervisor.core import events as ev
from supervisor.core.errors import SupervisorError
from tests.screens.effect_scenes import stuck
from tests.screens.scenes import HOSTILE, NOW
from tests.screens.ticket_scenes import Shelf, given, write

if TYPE_CHECKING:
    from tests.app.conftest import Opener, Stage
    from widgets.transcript import TranscriptView

pytestmark = pytest.mark.anyio
TICKET = "001-rounding"
MARK = "◌ you, not given yet · "


async def opened(stage: Stage, shelf: Shelf, ticket: str = TICKET) -> TranscriptView:
    """Open a ticket's conversation with something to read."""
    stage.port.reader = shelf
    stage.screen.go_to(ticket)
    await stage.pilot.press("enter")
    await drawn(stage)
    assert isinstance(stage.app.screen, TicketScreen)
    assert isinstance(stage.app.screen.tab, TranscriptTab)
    return stage.app.screen.tab.transcript


async def drawn(stage: Stage) -> None:
    """Wait until everything that was asked for is on the screen."""
    for _ in range(4):
        await stage.pilot.pause()
        stage.frame()
    await stage.pilot.pause()


def talk(stage: Stage) -> list[str]:
    """The rows of the conversation that say something."""
    assert isinstance(stage.app.screen, TicketScreen)
    view = stage.app.screen.tab.target.region
    rows = stage.text().splitlines()[view.y : view.bottom]
    return [row[: view.right - 1].strip(" ▸") for row in rows if row.strip()]


def say(stage: Stage, first: int, last: int) -> None:
    for number in range(first, last):
        stage.board.apply(ev.AgentSpoke(TICKET, NOW, f"word {number}."))


async def test_messages_stand_last_in_order_until_they_are_given(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        shelf = Shelf()
        first = write(stage.board, shelf, "Use semicolons.")
        second = write(stage.board, shelf, "And commas.")
        await opened(stage, shelf)
        assert talk(stage)[-2:] == [f"{MARK}Use semicolons.", f"{MARK}And commas."]
        say(stage, 0, 3)
        await drawn(stage)
        assert talk(stage)[-3:] == ["› word 2.", f"{MARK}Use semicolons.", f"{MARK}And commas."]
        given(stage.board, shelf, first)
        await drawn(stage)
        assert talk(stage)[-2:] == ["» you · Use semicolons.", f"{MARK}And commas."]
        given(stage.board, shelf, second)
        await drawn(stage)
        assert talk(stage)[-2:] == ["» you · Use semicolons.", "» you · And commas."]
        assert "not given yet" not in stage.text()


def pane(stage: Stage) -> list[str]:
    """The rows of the board's lower part that say something."""
    view = stage.screen.transcript.region
    rows = stage.text().splitlines()[view.y : view.bottom]
    return [row[view.x : view.right - 1].strip(" ▸") for row in rows if row.strip()]


async def test_the_board_shows_them_below_the_selected_ticket(open_app: Opener) -> None:
    async with open_app(stuck(), size=(100, 40)) as stage:
        stage.port.reader = shelf = Shelf()
        stage.screen.go_to(TICKET)
        letter = write(stage.board, shelf, "Use semicolons.")
        await drawn(stage)
        assert pane(stage)[-1] == f"{MARK}Use semicolons."
        stage.screen.go_to("002-images")
        await drawn(stage)
        assert MARK not in stage.text()
        stage.screen.go_to(TICKET)
        await drawn(stage)
        assert pane(stage)[-1] == f"{MARK}Use semicolons."
        given(stage.board, shelf, letter)
        await drawn(stage)
        assert pane(stage)[-1] == "» you · Use semicolons."
        assert MARK not in stage.text()


async def test_what_was_given_never_stands_there_twice(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        shelf = Shelf()
        first = write(stage.board, shelf, "Use semicolons.")
        write(stage.board, shelf, "And commas.")
        await opened(stage, shelf)
        given(stage.board, shelf, first)
        stage.frame()
        await stage.pilot.pause()
        assert stage.text().count("Use semicolons.") == 1
        # One is given as another is written, so that as many wait as before.
        given(stage.board, shelf, shelf.written[0])
        write(stage.board, shelf, "And tabs.")
        await drawn(stage)
        assert talk(stage)[-2:] == ["» you · And commas.", f"{MARK}And tabs."]


async def test_a_message_that_is_refused_goes_away(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        shelf = Shelf()
        letter = write(stage.board, shelf, "Use semicolons.")
        await opened(stage, shelf)
        shelf.written.clear()
        stage.board.apply(ev.LettersClosed(TICKET, NOW, (letter.id,), "message: no", refused=True))
        await drawn(stage)
        assert "Use semicolons." not in stage.text()


@pytest.mark.parametrize("ticket", ["006-cart", "005-export", "004-search", "002-images"])
async def test_tickets_without_an_agent_show_them_too(open_app: Opener, ticket: str) -> None:
    async with open_app(stuck(), size=(80, 24)) as stage:
        shelf = Shelf()
        write(stage.board, shelf, "Use semicolons.", ticket)
        await opened(stage, shelf, ticket)
        assert talk(stage)[-1] == f"{MARK}Use semicolons."


async def test_what_waits_is_not_read_again_while_the_agent_talks(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        shelf = Shelf()
        await opened(stage, shelf)
        assert "messages" not in shelf.reads
        write(stage.board, shelf, "Use semicolons.")
        await drawn(stage)
        for part in range(5):
            say(stage, part, part + 1)
            await drawn(stage)
        assert shelf.reads.count("messages") == 1


async def test_where_it_cannot_be_read_the_conversation_is_shown_without(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        write(stage.board, Shelf(), "Use semicolons.")
        await opened(stage, Shelf(fault=SupervisorError("the store is locked")))
        assert "✎ tinyshop/receipt.py" in talk(stage)[-1]


async def test_nothing_that_was_written_breaks_the_screen(open_app: Opener) -> None:
    async with open_app(stuck(), size=(80, 24)) as stage:
        shelf = Shelf()
        for text in HOSTILE:
            write(stage.board, shelf, f"{text}\n{text}")
        await opened(stage, shelf)
        await stage.pilot.press("o", "home", "end")
        assert not set(stage.text()) & set("\x1b\x07\x00\x9b\u202e\u2066\ud83d\r\t")


# Reading them


async def test_they_unfold_and_are_copied_as_everything_else(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        shelf = Shelf()
        write(stage.board, shelf, "\n".join(f"- case {n}" for n in range(1, 11)))
        await opened(stage, shelf)
        assert talk(stage)[-1] == "… 5 more lines"
        await stage.pilot.press("enter")
        assert talk(stage)[-1] == "- case 10"
        await stage.pilot.press("y")
        assert stage.app.clipboard.splitlines()[-1] == "- case 10"


async def test_they_are_found_as_everything_else(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        shelf = Shelf()
        write(stage.board, shelf, "\n".join(f"- case {n}" for n in range(1, 11)))
        await opened(stage, shelf)
        await stage.pilot.press("slash", *"case 7", "enter")
        await drawn(stage)
        assert "1/1" in stage.text()
        write(stage.board, shelf, "Not case 7.")
        await drawn(stage)
        assert "1/2" in stage.text()


async def test_who_reads_one_keeps_it_in_place_while_the_agent_talks(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        shelf = Shelf()
        letter = write(stage.board, shelf, "\n".join(f"- case {n}" for n in range(1, 11)))
        view = await opened(stage, shelf)
        await stage.pilot.press("enter")
        before = stage.line(MARK), stage.text().splitlines().index(stage.line(MARK))
        say(stage, 0, 200)
        await drawn(stage)
        assert (stage.line(MARK), stage.text().splitlines().index(stage.line(MARK))) == before
        assert not view.unseen
        given(stage.board, shelf, letter)
        await drawn(stage)
        assert view.is_following
        assert "» you · - case 1" in stage.text()


async def test_who_reads_further_up_is_not_told_of_them_as_news(open_app: Opener) -> None:
    async with open_app(stuck()) as stage:
        shelf = Shelf()
        view = await opened(stage, shelf)
        say(stage, 0, 100)
        await drawn(stage)
        await stage.pilot.press("pageup")
        before = talk(stage)
        write(stage.board, shelf, "Use semicolons.")
        await drawn(stage)
        assert talk(stage) == before
        assert view.unseen == 0
        say(stage, 100, 102)
        await drawn(stage)
        assert view.unseen == 2
        await stage.pilot.press("end")
        assert talk(stage)[-1] == f"{MARK}Use semicolons."
        assert view.unseen == 0
