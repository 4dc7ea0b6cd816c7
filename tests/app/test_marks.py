"""Marks: how many there are is always said, and nothing happens to a ticket that nobody sees without a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.app.screens.confirm import ConfirmScreen
from tests.screens.scenes import busy, crowd

if TYPE_CHECKING:
    from tests.app.conftest import Opener

pytestmark = pytest.mark.anyio


async def test_all_that_is_listed_is_marked_and_unmarked(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *"state:run", "enter", "asterisk")
        assert stage.screen.table.marked == {"001-rounding", "001-rounding.2"}
        await stage.until(lambda: "◆ 2 marked  !" in stage.text())
        assert "◆└ 001-rounding.2" in stage.text()
        await stage.pilot.press("asterisk")
        assert stage.screen.table.marked == frozenset()
        assert "marked" not in stage.text()


async def test_the_footer_says_what_marks_are_good_for(open_app: Opener) -> None:
    async with open_app(busy(), keys={"changes": "f4"}) as stage:
        assert "unmark" not in stage.text()
        await stage.pilot.press("space")
        await stage.until(lambda: "esc unmark" in stage.text())
        assert "compare" not in stage.text()
        await stage.pilot.press("space")
        await stage.until(lambda: "f4 compare  esc unmark" in stage.text())
        await stage.pilot.press("space", "escape")
        await stage.until(lambda: "compare" not in stage.text() and "unmark" not in stage.text())


async def test_marking_all_keeps_hidden_marks_and_unmarking_takes_them_too(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("end", "space", "slash", *"state:run", "enter", "asterisk")
        assert stage.screen.table.marked == {"006-cart", "001-rounding", "001-rounding.2"}
        await stage.until(lambda: "◆ 3 marked, 1 hidden" in stage.text())
        await stage.pilot.press("asterisk")
        assert stage.screen.table.marked == frozenset()


async def test_a_mark_outlives_a_filter_that_hides_it(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("space", "slash", *"deploy", "enter")
        await stage.until(lambda: "◆ 1 marked, 1 hidden" in stage.text())
        await stage.pilot.press("slash", "escape")
        assert stage.screen.table.marked == {"001-rounding"}
        await stage.until(lambda: "◆ 1 marked  " in stage.text())


async def test_a_verb_asks_before_it_reaches_a_hidden_ticket(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("space", "slash", *"rounding.2", "enter", "space", "i")
        assert isinstance(stage.app.screen, ConfirmScreen)
        await stage.until(lambda: "Interrupt 2 tickets?" in stage.text())
        assert "The filter hides 1 of them: 001-rounding." in stage.text()
        assert stage.port.submitted == []
        await stage.pilot.press("escape")
        assert (stage.port.submitted, stage.is_on_board) == ([], True)
        await stage.pilot.press("i", "enter")
        assert stage.port.submitted == [("interrupt", ("001-rounding", "001-rounding.2"))]


async def test_a_verb_that_reaches_only_what_is_listed_names_nobody(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("j", "j", "space", "slash", *"rounding", "enter", "asterisk", "i")
        await stage.until(lambda: "Interrupt 2 tickets?" in stage.text())
        assert "The filter hides" not in stage.text()
        await stage.pilot.press("enter")
        assert stage.port.submitted == [("interrupt", ("001-rounding", "001-rounding.2"))]


async def test_many_hidden_ones_are_named_in_part(open_app: Opener) -> None:
    async with open_app(crowd()) as stage:
        await stage.pilot.press("asterisk", "slash", *"state:run", "enter", "x")
        await stage.until(lambda: "Cancel 200 tickets?" in stage.text())
        assert "The filter hides 180 of them: 021-ticket, 022-ticket," in stage.text()
        assert "024-ticket and 176 more." in stage.text()


async def test_escape_takes_marks_away_before_the_filter(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *"tax", "enter", "space", "escape")
        assert stage.screen.table.marked == frozenset()
        assert "1 of 11" in stage.text()
        await stage.pilot.press("escape")
        assert "1 of 11" not in stage.text()
