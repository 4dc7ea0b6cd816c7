"""A ticket whose turn never comes: seen in every count, and helped from where it is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.app.screens.inbox import InboxScreen
from supervisor.core.model import State
from tests.core.test_waiting import chain

if TYPE_CHECKING:
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio


def inbox(stage: Stage) -> InboxScreen:
    screen = stage.app.screen
    assert isinstance(screen, InboxScreen)
    return screen


@pytest.mark.parametrize("state", [State.FAILED, State.CANCELLED])
async def test_header_footer_and_inbox_say_the_same_number(open_app: Opener, state: State) -> None:
    async with open_app(chain(state).board, size=(80, 24)) as stage:
        count = 2 if state is State.FAILED else 1
        head, foot = stage.text().splitlines()[0], stage.text().splitlines()[-1]
        assert ("2 need you (1 failed)" if count == 2 else "1 needs you") in head
        assert f"! needs you {count}" in foot
        assert "! 002 " in stage.text().splitlines()[1]
        await stage.pilot.press("exclamation_mark")
        await stage.pilot.pause()
        assert len(inbox(stage).items.items) == count
        assert f"NEEDS YOU  {count}" in stage.text()


async def test_n_goes_to_what_is_blocked(open_app: Opener) -> None:
    async with open_app(chain(State.CANCELLED).board) as stage:
        await stage.pilot.press("n")
        assert stage.screen.table.cursor_ticket == "002"
        await stage.pilot.press("a")
        await stage.pilot.pause()
        assert inbox(stage).items.cursor_item is not None
        assert inbox(stage).item.ticket_id == "002"  # type: ignore[union-attr]


async def test_the_card_says_why_and_its_keys_help(open_app: Opener) -> None:
    async with open_app(chain(State.FAILED).board, size=(80, 24)) as stage:
        await stage.pilot.press("n", "a")
        await stage.pilot.pause()
        text = " ".join(stage.text().split())
        assert "it comes after 001, which failed: it cannot start before that one is done" in text
        assert "r resume 001: go on with what this one waits for" in text
        assert "x cancel: give this one up" in text
        assert "r resume 001" in stage.text().splitlines()[-2]
        await stage.pilot.press("r")
        assert stage.port.submitted == [("resume", ("001",))]
        assert "resume …" in stage.line("blocked")
        await stage.pilot.press("x")
        assert stage.port.submitted[-1] == ("cancel", ("002",))
