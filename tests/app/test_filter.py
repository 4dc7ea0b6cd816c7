"""Filter, order and groups under the operator's fingers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual import events
from textual.widgets import Input

from supervisor.core import events as ev
from supervisor.core.model import State
from supervisor.core.ordering import Group, Sort
from tests.screens.dialog_scenes import at_rest
from tests.screens.scenes import NOW, busy, calm, crowd, empty, hostile

if TYPE_CHECKING:
    from tests.app.conftest import Opener, Stage

pytestmark = pytest.mark.anyio


def listed(stage: Stage) -> list[str]:
    """Return the ids in the table, from top to bottom."""
    return [ticket.id for ticket in stage.screen.arrangement.rows]


def typed(stage: Stage) -> str:
    return stage.screen.query_one("#filter Input", Input).value


def hurry(stage: Stage, text: str) -> None:
    """Send keys as a paste into the terminal does: all at once."""
    for character in text:
        key = {"\r": "enter", "/": "slash", "*": "asterisk", ":": "colon"}.get(character, character)
        stage.app.post_message(events.Key(key, character))


async def test_a_filter_works_while_it_is_typed_and_is_kept_by_enter(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *"dep")
        assert listed(stage) == ["003-deploy"]
        assert "/ dep" in stage.line("1 of 11")
        assert stage.text().splitlines()[-1].startswith(" enter keep  esc clear")
        assert "── 003-deploy" in stage.text()
        await stage.pilot.press("enter")
        assert stage.has_focus(stage.screen.table)
        assert "/ dep" in stage.line("1 of 11")
        await stage.pilot.press("slash", "backspace", "backspace")
        assert typed(stage) == "d"
        assert len(listed(stage)) > 1


async def test_escape_clears_and_goes_back_to_where_the_cursor_was(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("j", "j", "slash", *"deploy")
        assert stage.screen.table.cursor_ticket == "003-deploy"
        await stage.pilot.press("escape")
        await stage.pilot.pause()
        assert stage.screen.table.cursor_ticket == "002-images"
        assert len(listed(stage)) == 11
        assert stage.has_focus(stage.screen.table)
        assert " of 11" not in stage.text()


async def test_escape_on_the_board_takes_the_filter_away_and_keeps_the_cursor(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *"deploy", "enter", "escape")
        assert len(listed(stage)) == 11
        assert stage.screen.table.cursor_ticket == "003-deploy"


@pytest.mark.parametrize("keys", ["q!?123 x", "*sgn/ia", "jkGe+-p"])
async def test_keys_in_the_filter_are_text(open_app: Opener, keys: str) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *keys)
        assert typed(stage) == keys
        assert stage.is_on_board
        assert (stage.port.submitted, stage.port.stops) == ([], 0)
        assert stage.screen.table.marked == frozenset()
        assert stage.screen.arrangement.sort is Sort.FILE


async def test_keys_in_a_hurry_find_the_line_and_then_the_filtered_table(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        hurry(stage, "/state:run\r*i\r")
        await stage.until(lambda: bool(stage.port.submitted))
        assert stage.port.submitted == [("interrupt", ("001-rounding", "001-rounding.2"))]
        hurry(stage, "/q")
        await stage.until(lambda: typed(stage) == "state:runq")
        assert stage.is_on_board


async def test_a_fault_is_said_and_the_last_good_filter_stays(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *"state:runx")
        assert 'no state "runx"' in stage.line("state:runx")
        assert listed(stage) == ["001-rounding", "001-rounding.2"]
        await stage.pilot.press("enter")
        assert not stage.has_focus(stage.screen.table)
        await stage.pilot.press("tab")
        await stage.until(lambda: typed(stage) == "state:run")
        assert stage.has_focus(stage.screen.table)
        assert "2 of 11" in stage.text()


async def test_the_name_of_a_field_is_no_word_to_look_for(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *"!docs state")
        assert listed(stage) == []
        await stage.pilot.press("colon")
        assert len(listed(stage)) == 10
        assert "state: queued, starting" in stage.text()


async def test_nothing_matches(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *"~~~", "enter")
        assert "no ticket matches the filter" in stage.text()
        await stage.pilot.press("j", "i", "space", "asterisk", "enter", "end", "escape", "escape")
        assert stage.port.submitted == []
        assert stage.screen.table.cursor_ticket == "001-rounding"


async def test_the_cursor_goes_to_the_nearest_that_is_shown(open_app: Opener) -> None:
    async with open_app(crowd(), size=(80, 24)) as stage:
        await stage.pilot.press("end", "slash", *"1")
        assert stage.screen.table.cursor_ticket == "199-ticket"
        await stage.pilot.press("1")
        assert stage.screen.table.cursor_ticket == "119-ticket"
        await stage.until(lambda: "▸ 119-ticket" in stage.text())


async def test_sorting_goes_round_and_says_by_what(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        for sort in [*list(Sort)[1:], Sort.FILE]:
            await stage.pilot.press("s")
            assert stage.screen.arrangement.sort is sort
            assert (f"by {sort.value}" in stage.text()) is (sort is not Sort.FILE)
        await stage.pilot.press("s")
        assert listed(stage)[:3] == ["003-deploy", "007-tax", "008-docs"]
        assert "└" not in stage.text()


async def test_the_cursor_follows_its_ticket_into_another_order(open_app: Opener) -> None:
    async with open_app(crowd(), size=(80, 24)) as stage:
        await stage.pilot.press("end", "s", "s")
        assert stage.screen.table.cursor_ticket == "200-ticket"
        stage.board.apply(ev.TurnEnded("200-ticket", NOW, 1, "u", "success", "completed", False, 1, 5.0))
        stage.clock.now += 2
        stage.frame()
        assert listed(stage)[0] == "200-ticket"
        await stage.until(lambda: "▸ 200-ticket" in stage.text())


async def test_rows_move_by_themselves_without_another_event(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("s", "s")
        assert listed(stage)[0] == "007-tax"
        stage.board.apply(ev.TurnEnded("002-images", NOW, 1, "u", "success", "completed", False, 1, 5.0))
        stage.clock.now += 1.5
        stage.frame()
        assert listed(stage)[0] == "007-tax"
        await stage.pilot.press("j")
        stage.clock.now += 0.9
        stage.frame()
        assert listed(stage)[0] == "007-tax"
        stage.clock.now += 0.2
        stage.frame()
        assert listed(stage)[0] == "002-images"


async def test_groups_have_headings_that_the_cursor_passes_over(open_app: Opener) -> None:
    async with open_app(busy(), size=(100, 60)) as stage:
        await stage.pilot.press("g")
        assert "grouped by state" in stage.text()
        assert stage.line("✗ failed 1 ┄").startswith("  ✗ failed 1 ┄")
        seen = [stage.screen.table.cursor_ticket]
        for _ in listed(stage)[1:]:
            await stage.pilot.press("j")
            seen.append(stage.screen.table.cursor_ticket)
        assert seen[0] == "001-rounding"
        assert seen[-1] == "009-legacy"
        await stage.pilot.press("home")
        assert stage.screen.table.cursor_ticket == "003-deploy"
        await stage.pilot.press("g")
        assert stage.line("without forks 9 ┄")
        await stage.pilot.press("g")
        assert stage.screen.arrangement.group is Group.NONE
        assert "┄" not in stage.text()


async def test_home_shows_the_first_heading(open_app: Opener) -> None:
    async with open_app(crowd(), size=(80, 24)) as stage:
        await stage.pilot.press("g", "end")
        await stage.until(lambda: "queued 180" not in stage.text())
        await stage.pilot.press("home")
        await stage.until(lambda: "● running 20" in stage.text())
        assert "▸ 001-ticket" in stage.text()


async def test_next_finds_what_the_filter_hides_and_says_so(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *"state:fail,needs", "enter", "home", "n", "n")
        assert stage.screen.table.cursor_ticket == "008-docs"
        assert len(listed(stage)) == 3
        await stage.pilot.press("slash", "ctrl+u", *"images", "enter")
        assert listed(stage) == ["002-images"]
        await stage.pilot.press("n")
        assert stage.screen.table.cursor_ticket == "003-deploy"
        assert len(listed(stage)) == 11
        await stage.until(lambda: "Filter cleared: it hid 003-deploy." in stage.text())


async def test_next_goes_in_the_order_that_is_shown_then_to_the_hidden(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *"!deploy", "enter", "s", "s")
        seen = []
        for _ in range(4):
            await stage.pilot.press("n")
            seen.append(stage.screen.table.cursor_ticket)
        assert seen == ["008-docs", "003-deploy", "008-docs", "007-tax"]


async def test_the_palette_shows_a_hidden_ticket(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *"tax", "enter", "ctrl+p", *"005-exp")
        await stage.until(lambda: "go to 005-export" in stage.text())
        await stage.pilot.press("enter")
        await stage.until(lambda: stage.screen.table.cursor_ticket == "005-export")
        assert len(listed(stage)) == 11


@pytest.mark.parametrize("name", ["filter", "sort", "group", "mark all"])
async def test_the_palette_offers_every_key(open_app: Opener, name: str) -> None:
    async with open_app(calm()) as stage:
        await stage.pilot.press("ctrl+p", *name)
        key = {"filter": "/", "mark all": "*"}.get(name, name[0])
        await stage.until(lambda: f"({key})" in stage.text())
        await stage.pilot.press("enter")
        screen = stage.screen
        done = {
            "filter": lambda: screen.filter_bar.is_editing,
            "sort": lambda: screen.arrangement.sort is Sort.STATE,
            "group": lambda: screen.arrangement.group is Group.STATE,
            "mark all": lambda: len(screen.table.marked) == 4,
        }
        await stage.until(done[name])


async def test_the_keys_of_the_list_leave_the_transcript(open_app: Opener) -> None:
    async with open_app(busy(), size=(80, 24)) as stage:
        for key in ("s", "g", "asterisk"):
            await stage.pilot.press("tab", key)
            assert stage.has_focus(stage.screen.table)


async def test_a_click_on_a_header_sorts_and_a_second_one_does_not(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        table = stage.screen.table
        x = stage.line("WHY / NOW").index("COST")
        await stage.pilot.click(table, offset=(x, 0))
        assert "by cost" in stage.text()
        await stage.pilot.click(table, offset=(x, 0))
        assert stage.screen.arrangement.is_plain
        await stage.pilot.click(table, offset=(stage.line("WHY / NOW").index("WHY"), 0))
        assert stage.screen.arrangement.is_plain


async def test_a_click_on_a_heading_selects_nothing(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("g", "home")
        await stage.pilot.click(stage.screen.table, offset=(10, 1))
        assert stage.screen.table.cursor_ticket == "003-deploy"
        await stage.pilot.click(stage.screen.table, offset=(10, 3))
        assert stage.screen.table.cursor_ticket == "007-tax"


async def test_a_ticket_that_starts_to_match_comes_with_the_next_move(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *"state:done", "enter")
        stage.board.apply(ev.StateChanged("001-rounding", NOW, State.DONE, None))
        stage.clock.now += 2
        stage.frame()
        assert listed(stage) == ["001-rounding", "002-images"]
        await stage.until(lambda: "2 of 11" in stage.text())


async def test_what_needs_you_is_what_is_counted_and_what_n_goes_to(open_app: Opener) -> None:
    async with open_app(at_rest()) as stage:
        stage.board.apply(ev.TicketAdded("011-after", NOW, "Waits for the docs", 20, after=("008-docs",)))
        stage.frame()
        await stage.pilot.press("slash", *"needs:you", "enter", "home")
        assert listed(stage) == ["003-deploy", "005-export", "007-tax", "008-docs", "010-mail", "011-after"]
        assert "6 of 12" in stage.text()
        assert "! needs you 6" in stage.text()
        seen = [stage.screen.table.cursor_ticket]
        for _ in listed(stage)[1:]:
            await stage.pilot.press("n")
            seen.append(stage.screen.table.cursor_ticket)
        assert seen == listed(stage)


async def test_a_ticket_that_is_blocked_from_now_on_comes_with_the_next_move(open_app: Opener) -> None:
    async with open_app(busy()) as stage:
        await stage.pilot.press("slash", *"needs:you", "enter")
        stage.board.apply(ev.StateChanged("001-rounding", NOW, State.CANCELLED))
        stage.clock.now += 2
        stage.frame()
        assert listed(stage) == ["003-deploy", "007-tax", "008-docs", "006-cart"]


async def test_no_tickets_at_all(open_app: Opener) -> None:
    async with open_app(empty()) as stage:
        await stage.pilot.press("slash", *"a:b", "escape", "s", "g", "asterisk", "n")
        assert "no tickets yet" in stage.text()


async def test_a_paste_is_one_harmless_line(open_app: Opener) -> None:
    async with open_app(hostile(), size=(80, 24)) as stage:
        await stage.pilot.press("slash")
        stage.app.post_message(events.Paste("\x1b[2Jstate:\u202erun\nx:[red]y"))
        await stage.until(lambda: typed(stage) != "")
        assert not set(stage.text()) & set("\x1b\u202e\n\r") - {"\n"}
        assert "[red]" in stage.text()


@pytest.mark.parametrize("size", [(1, 1), (20, 4), (50, 8), (300, 50)])
async def test_every_size_takes_the_bar(open_app: Opener, size: tuple[int, int]) -> None:
    async with open_app(busy(), size=size) as stage:
        await stage.pilot.press("g", "s", "slash", *"state:p", "escape", "j", "end", "home", "slash", *"dep", "enter")
        await stage.pilot.resize_terminal(80, 24)
        await stage.until(lambda: "▸ 003-deploy" in stage.text())
