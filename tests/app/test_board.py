"""The board under an operator's fingers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.app.screens.ticket import TicketScreen
from supervisor.core.model import State, Why
from tests.screens.scenes import NOW, Story, busy, calm, crowd, empty

if TYPE_CHECKING:
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio


async def test_the_first_paint_shows_the_batch(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        assert "tinyshop  3/4 running  3 need you (1 failed)" in stage.text()
        assert "▸ 001-rounding" in stage.line("● running")
        assert "── 001-rounding · Discounts round the wrong way" in stage.text()
        assert "$ pytest -q   ✓ 14 passed" in stage.text()
        assert "i interrupt" in stage.text().splitlines()[-1]


async def test_an_empty_batch_says_so(open_app: Opener) -> None:
    async with open_app(empty()) as stage:
        assert "no tickets yet" in stage.text()
        await stage.pilot.press("j", "enter", "escape", "i", "n", "space")
        assert stage.port.submitted == []


async def test_events_are_drawn_by_the_next_frame(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        Story.move(_story(stage), "001-rounding", State.DONE, detail="verified")
        await stage.until(lambda: "✓ done" in stage.line("001-rounding"))
        assert "0/4 running  3 done" in stage.text()


async def test_tickets_that_come_and_go_keep_the_cursor_on_its_ticket(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        await stage.pilot.press("j", "j")
        assert stage.screen.table.cursor_ticket == "003-slugs"
        story = _story(stage)
        story.add("001-rounding.2", "A fork", parent="001-rounding")
        stage.frame()
        await stage.pilot.pause()
        assert stage.screen.table.cursor_ticket == "003-slugs"
        assert "▸ 003-slugs" in stage.line("003-slugs")
        assert stage.text().splitlines()[4].startswith("  └ 001-rounding.2")


async def test_the_cursor_moves_and_stays_in_view(open_app: Opener) -> None:
    async with open_app(crowd(), size=(80, 24)) as stage:
        table = stage.screen.table
        for keys, ticket in (
            (["j", "down", "k"], "002-ticket"),
            (["end"], "200-ticket"),
            (["pageup"], "191-ticket"),
            (["home"], "001-ticket"),
            (["k"], "001-ticket"),
            (["pagedown", "j"], "011-ticket"),
        ):
            await stage.pilot.press(*keys)
            assert table.cursor_ticket == ticket
            await stage.until(lambda: "▸ " in stage.line(table.cursor_ticket or ""))
            assert f"── {ticket}" in stage.text()


async def test_the_selection_changes_everything_that_belongs_to_it(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("j", "j")
        assert "── 002-images · Serve images in two sizes · try 1 · 6 turns" in stage.text()
        assert "» task · Do it." in stage.text()
        assert "The discount is rounded" not in stage.text()
        assert "interrupt" not in stage.text().splitlines()[-1]


async def test_a_click_selects_and_a_double_click_opens(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        table = stage.screen.table
        await stage.pilot.click(table, offset=(10, 4))
        assert table.cursor_ticket == "003-deploy"
        await stage.pilot.click(table, offset=(10, 0))
        assert table.cursor_ticket == "003-deploy"
        await stage.pilot.click(table, offset=(10, 5), times=2)
        assert table.cursor_ticket == "004-search"
        await stage.until(lambda: isinstance(stage.app.screen, TicketScreen))


async def test_the_wheel_scrolls_the_table_and_leaves_the_cursor(open_app: Opener) -> None:
    async with open_app(crowd(), size=(80, 24)) as stage:
        table = stage.screen.table
        table.scroll_to(y=50, animate=False, force=True)
        await stage.pilot.pause()
        assert "051-ticket" in stage.text().splitlines()[3]
        assert table.cursor_ticket == "001-ticket"
        await stage.pilot.click(table, offset=(10, 2))
        assert table.cursor_ticket == "052-ticket"


async def test_a_verb_paints_its_mark_before_the_engine_answers(open_app: Opener) -> None:
    async with open_app(calm(), frame_hz=0.001) as stage:
        await stage.pilot.press("i")
        assert stage.port.submitted == [("interrupt", ("001-rounding",))]
        assert "interrupt …" in stage.line("001-rounding")


async def test_a_verb_that_does_not_apply_says_why(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        await stage.pilot.press("j", "i")
        assert stage.port.submitted == []
        await stage.until(lambda: "002-images is done" in stage.text())


async def test_marked_tickets_get_the_verb_together(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("space", "space", "j", "space")
        assert stage.screen.table.marked == {"001-rounding", "001-rounding.2", "003-deploy"}
        assert "◆001-rounding" in stage.line("001-rounding ")
        await stage.pilot.press("i", "enter")
        assert stage.port.submitted == [("interrupt", ("001-rounding", "001-rounding.2"))]
        await stage.pilot.press("escape")
        assert stage.screen.table.marked == frozenset()


async def test_next_goes_round_what_needs_the_operator(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        seen = []
        for _ in range(4):
            await stage.pilot.press("n")
            seen.append(stage.screen.table.cursor_ticket)
        assert seen == ["003-deploy", "007-tax", "008-docs", "003-deploy"]


async def test_next_says_when_nothing_does(open_app: Opener) -> None:
    async with open_app(calm()) as stage:
        await stage.pilot.press("n")
        await stage.until(lambda: "Nothing needs you." in stage.text())


async def test_attention_names_the_longest_waiting_first_and_failures_last(open_app: Opener) -> None:
    async with open_app(calm(), size=(140, 30)) as stage:
        story = _story(stage)
        story.move("004-search", State.CANCELLED)
        for ticket, ago in (("003-slugs", 5), ("002-images", 50)):
            story.move(ticket, State.QUEUED)
            story.move(ticket, State.NEEDS_YOU, why=Why.VERIFY, at=NOW - ago)
        story.move("001-rounding", State.FAILED, detail="it broke", at=NOW - 500)
        stage.frame()
        await stage.pilot.pause()
        line = stage.text().splitlines()[1]
        assert line.index("! 002-images") < line.index("! 003-slugs") < line.index("✗ 001-rounding")


async def test_enter_opens_the_ticket_and_escape_comes_back(open_app: Opener) -> None:
    async with open_app(busy(), size=(80, 24)) as stage:
        await stage.pilot.press("enter", "home")
        await stage.until(lambda: "» task · Discounts round the wrong way." in stage.text())
        assert "WHY / NOW" not in stage.text()
        await stage.pilot.press("escape")
        await stage.until(lambda: "WHY / NOW" in stage.text())
        assert stage.has_focus(stage.screen.table)


async def test_tab_goes_between_table_and_transcript(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("tab")
        assert stage.has_focus(stage.screen.transcript)
        await stage.pilot.press("k", "tab")
        assert stage.has_focus(stage.screen.table)
        assert stage.screen.table.cursor_ticket == "001-rounding"


async def test_very_wide_terminals_put_the_transcript_beside(open_app: Opener) -> None:
    async with open_app(busy(), size=(240, 50)) as stage:
        assert "── 001-rounding" in stage.text().splitlines()[2]
        await stage.pilot.resize_terminal(100, 30)
        await stage.until(lambda: "── 001-rounding" not in stage.text().splitlines()[2])
        assert "── 001-rounding" in stage.text()


async def test_a_narrow_terminal_still_shows_what_matters(open_app: Opener) -> None:
    async with open_app(busy(), size=(50, 16)) as stage:
        assert "3 need you" in stage.text()
        assert "● running" in stage.line("▸ 001-rounding")
        assert "? help" in stage.text().splitlines()[-1]


@pytest.mark.parametrize("size", [(1, 1), (5, 3), (20, 4), (300, 5), (10, 80)])
async def test_no_size_is_too_small(open_app: Opener, size: tuple[int, int]) -> None:
    async with open_app(busy(), size=size) as stage:
        await stage.pilot.press("j", "enter", "k", "escape", "question_mark")
        await stage.pilot.resize_terminal(80, 24)


def _story(stage: Stage) -> Story:
    story = Story()
    story.board = stage.board
    story._number = 100
    return story


async def test_the_footer_follows_the_keys_into_the_transcript(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        assert "/ filter" in stage.text().splitlines()[-1]
        await stage.pilot.press("tab")
        await stage.until(lambda: "enter fold  / find  tab table" in stage.text().splitlines()[-1])
        await stage.pilot.press("tab")
        await stage.until(lambda: "/ filter" in stage.text().splitlines()[-1])
