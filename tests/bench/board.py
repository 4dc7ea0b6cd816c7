"""What a frame of a big board costs: ours, and Textual's DataTable showing the same figures.

500 tickets, 100 of them changed before each frame, 160 by 50 cells. The figure is
CPU time of the whole process for each frame: deciding what to repaint, drawing and writing it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import anyio
from textual.app import App, ComposeResult
from textual.widgets import DataTable

from supervisor.app.app import SuperviseApp
from supervisor.core import events as ev
from supervisor.core.ordering import Group, Sort
from supervisor.core.query import Filter, parse
from tests.bench.figures import Figure
from tests.screens.scenes import NOW, FakePort, Story
from widgets import columns as cols
from widgets.cells import joined
from widgets.ticket_table import TicketTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.core.board import Board
    from supervisor.core.model import TicketSnapshot

TICKETS, CHANGED, SIZE, HZ = 500, 100, (160, 50), 20


def big_board() -> Board:
    """Return a board with 500 running tickets."""
    story = Story(slots=TICKETS, budget=1000.0)
    for number in range(TICKETS):
        story.add(f"{number:03}-ticket", f"Title of ticket {number}")
        story.start(f"{number:03}-ticket")
    return story.board


def change(board: Board, frame: int) -> list[str]:
    """Let 100 tickets do something, those at the top of the screen among them."""
    ids = [f"{number:03}-ticket" for number in range(CHANGED)]
    for ticket in ids:
        board.apply(ev.ToolCalled(ticket, NOW + frame / HZ, f"t{frame}", "Edit", f"file_{frame}.py"))
    return ids


def words(ticket: TicketSnapshot) -> list[str]:
    """Return what our table says in its wide columns, for the other table."""
    return [joined(c.cell(ticket, cols.Look(NOW), c.width)) for c in cols.arrange(SIZE[0], 12)]


class OurTable(App[None]):
    """Nothing but our table."""

    def __init__(self, board: Board) -> None:
        super().__init__()
        self.board = board

    def compose(self) -> ComposeResult:
        """Fill the screen with it."""
        yield TicketTable()

    def on_mount(self) -> None:
        """Show all tickets."""
        self.query_one(TicketTable).show(self.board.rows(), NOW)

    def draw(self, _: list[str], frame: int) -> None:
        """Draw a frame."""
        self.board.drain()
        self.query_one(TicketTable).show(self.board.rows(), NOW + frame / HZ)


class OtherTable(App[None]):
    """The same in a DataTable, updated cell by cell."""

    def __init__(self, board: Board) -> None:
        super().__init__()
        self.board = board

    def compose(self) -> ComposeResult:
        """Fill the screen with it."""
        yield DataTable(cursor_type="row")

    def on_mount(self) -> None:
        """Show all tickets."""
        table: DataTable[str] = self.query_one(DataTable)
        for column in cols.arrange(SIZE[0], 12):
            table.add_column(column.header, width=column.width, key=column.name)
        for ticket in self.board.rows():
            table.add_row(*words(ticket), key=ticket.id)

    def draw(self, changed: list[str], _: int) -> None:
        """Draw a frame: only cells that say something else are updated."""
        table: DataTable[str] = self.query_one(DataTable)
        for ticket in changed:
            new = words(self.board[ticket])
            for column, text in zip(cols.arrange(SIZE[0], 12), new, strict=True):
                if table.get_cell(ticket, column.name) != text:
                    table.update_cell(ticket, column.name, text)


async def per_frame(app: App[Any], board: Board, draw: Callable[[list[str], int], None], frames: int) -> float:
    """Return CPU milliseconds for each of so many frames of a running app."""
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await _frames(board, draw, 5)
        return await _frames(board, draw, frames) / frames * 1000


async def _frames(board: Board, draw: Callable[[list[str], int], None], frames: int) -> float:
    """Return the CPU seconds of so many frames, without those that change the board."""
    began, aside = time.process_time(), 0.0
    for frame in range(frames):
        before = time.process_time()
        changed = change(board, frame)
        aside += time.process_time() - before
        draw(changed, frame)
        await anyio.sleep(1 / HZ)
    return time.process_time() - began - aside


async def measure(frames: int) -> dict[str, float]:
    """Return CPU milliseconds a frame: our table, the whole board screen in both ways, and the DataTable."""
    ours, whole, some, other = big_board(), big_board(), big_board(), big_board()
    table, screen, data = OurTable(ours), SuperviseApp(FakePort(whole), frame_hz=0.01), OtherTable(other)
    listed = SuperviseApp(FakePort(some), frame_hz=0.01)
    only = parse("ticket state:run try:>0")
    assert isinstance(only, Filter)
    listed.get_default_screen().arrangement.ask(only=only, sort=Sort.LAST, group=Group.STATE)
    return {
        "ticket table": await per_frame(table, ours, table.draw, frames),
        "board screen": await per_frame(screen, whole, lambda *_: screen.refresh_board(), frames),
        "filtered, sorted and grouped": await per_frame(listed, some, lambda *_: listed.refresh_board(), frames),
        "DataTable": await per_frame(data, other, data.draw, max(10, frames // 4)),
    }


def figures(frames: int = 100) -> list[Figure]:
    """Measure, and return the figures."""
    found = anyio.run(measure, frames)
    other = found.pop("DataTable")
    rows = [Figure(f"a frame: {name}", ms, "ms CPU", "<= 8") for name, ms in found.items()]
    return [*rows, Figure("a frame: DataTable, ours", other / found["ticket table"], "times", ">= 8")]
