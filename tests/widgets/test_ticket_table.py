"""What stays in view when the rows of the ticket table change their order."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from textual.app import App, ComposeResult

from supervisor.core.model import TicketSnapshot
from supervisor.core.ordering import Sort
from widgets.cells import Tone
from widgets.roster import Heading, Shape
from widgets.ticket_table import TicketTable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from textual.pilot import Pilot

pytestmark = pytest.mark.anyio
ROWS = tuple(TicketSnapshot(f"t{number:02}") for number in range(40))


class TableApp(App[None]):
    """A table of ten lines."""

    def compose(self) -> ComposeResult:
        """Fill the screen with it."""
        yield TicketTable()


@asynccontextmanager
async def shown(cursor: int, top: int) -> AsyncIterator[tuple[TicketTable, Pilot[None]]]:
    """Yield a table of forty tickets with the cursor on one of them, scrolled so far."""
    async with TableApp().run_test(size=(60, 11)) as pilot:
        table = pilot.app.query_one(TicketTable)
        table.show(ROWS, 0.0)
        await pilot.pause()
        table.select(f"t{cursor:02}")
        table.scroll_to(y=top, animate=False, force=True)
        await pilot.pause()
        yield table, pilot


def screen_line(table: TicketTable, ticket: str) -> int | None:
    """Return the line below the header on which a ticket stands; None out of view."""
    lines = [strip.text for strip in table.render_lines(table.size.region)]
    return next((line for line, text in enumerate(lines[1:]) if ticket in text), None)


async def test_the_cursor_keeps_its_line_when_the_order_turns() -> None:
    async with shown(cursor=15, top=12) as (table, _):
        assert screen_line(table, "t15") == 3
        table.show(ROWS[::-1], 0.0)
        assert screen_line(table, "t15") == 3
        assert table.cursor_ticket == "t15"


async def test_what_is_read_keeps_its_line_where_the_cursor_is_out_of_view() -> None:
    async with shown(cursor=0, top=20) as (table, _):
        table.show((*ROWS[10:20], *ROWS[:10], TicketSnapshot("new"), *ROWS[20:]), 0.0)
        assert screen_line(table, "t20") == 0
        assert table.cursor_ticket == "t00"


async def test_at_the_top_what_comes_first_is_seen() -> None:
    async with shown(cursor=2, top=0) as (table, _):
        table.show((TicketSnapshot("new"), *ROWS), 0.0)
        assert screen_line(table, "new") == 0
        assert screen_line(table, "t02") == 3


async def test_the_cursor_is_never_lost_from_view() -> None:
    async with shown(cursor=0, top=0) as (table, _):
        table.show((*ROWS[1:], ROWS[0]), 0.0)
        assert screen_line(table, "t00") == 9


async def test_fewer_rows_leave_no_empty_page() -> None:
    async with shown(cursor=35, top=30) as (table, pilot):
        table.show(ROWS[:12], 0.0)
        assert table.cursor_ticket == "t11"
        await pilot.pause()
        assert screen_line(table, "t11") == 9


async def test_the_cursor_comes_back_after_an_empty_list() -> None:
    async with shown(cursor=7, top=0) as (table, _):
        table.show((), 0.0)
        assert table.cursor_ticket is None
        table.action_open()
        table.show(ROWS, 0.0)
        assert table.cursor_ticket == "t07"


async def test_the_cursor_moves_over_headings_and_a_groups_first_shows_its_own() -> None:
    headings = tuple(Heading(place, f"group {place}", Tone.PLAIN, 5) for place in range(0, 40, 5))
    async with shown(cursor=0, top=0) as (table, _):
        table.show(ROWS, 0.0, Shape(headings))
        seen = []
        for _ in range(12):
            seen.append(table.cursor_ticket)
            table.action_move(1)
        assert seen == [ticket.id for ticket in ROWS[:12]]
        table.action_edge(-1)
        assert screen_line(table, "t39") == 9
        for _ in range(9):
            table.action_move(-1)
        assert table.cursor_ticket == "t30"
        assert screen_line(table, "group 30") == 0
        assert screen_line(table, "t30") == 1


async def test_only_rows_that_changed_are_drawn_again_below_headings() -> None:
    async with shown(cursor=0, top=0) as (table, _):
        shape = Shape((Heading(0, "all", Tone.PLAIN, 40),))
        table.show(ROWS, 0.0, shape)
        screen_line(table, "")
        built = table.strips_built
        table.show((*ROWS[:3], TicketSnapshot("t03", turns=9), *ROWS[4:]), 0.0, shape)
        screen_line(table, "")
        assert table.strips_built == built + 1


async def test_an_indent_that_changes_is_drawn() -> None:
    async with shown(cursor=0, top=0) as (table, _):
        table.show(ROWS, 0.0, Shape(depths=(0, 1) + (0,) * 38, id_cells=9))
        assert "└ t01" in table.render_lines(table.size.region)[2].text
        table.show(ROWS, 0.0, Shape(id_cells=9))
        assert "└" not in table.render_lines(table.size.region)[2].text


async def test_the_header_shows_what_decides_the_order() -> None:
    async with shown(cursor=0, top=0) as (table, _):

        def colours() -> dict[str, object]:
            return {s.text.strip(): s.style and s.style.color for s in table.render_lines(table.size.region)[0]}

        assert colours()["COST"] == colours()["STATE"]
        table.show(ROWS, 0.0, Shape(sort=Sort.COST))
        assert colours()["COST"] != colours()["STATE"]
