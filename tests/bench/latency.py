"""From a key press to its paint, while 200 tickets say ten things a second each.

The app runs without a terminal, in a loop of its own with the engine's events as they would come: one board, applied on
the same loop. A press of ``j`` moves the cursor; it counts as painted when the screen has been written.
"""

from __future__ import annotations

import gc
import statistics
import time
from typing import TYPE_CHECKING

import anyio

from supervisor.app.app import SuperviseApp
from supervisor.core import events as ev
from tests.bench.figures import Figure
from tests.screens.scenes import NOW, FakePort, Story

if TYPE_CHECKING:
    from supervisor.core.board import Board

TICKETS, A_SECOND, PRESSES, SIZE = 200, 10, 150, (160, 50)
_GAP_S = 0.06


def busy_board() -> Board:
    """Return a board whose tickets all run."""
    story = Story(slots=TICKETS, budget=1000.0)
    for number in range(TICKETS):
        story.add(f"{number:03}-ticket", f"Title of ticket {number}")
        story.start(f"{number:03}-ticket")
    return story.board


async def talk(board: Board, spoken: list[int]) -> None:
    """Let every ticket say something ten times a second, a few of them at a time."""
    part, step = TICKETS // 20, 0
    while True:
        due = anyio.current_time() + 1 / (A_SECOND * 20)
        for number in range(step % 20 * part, step % 20 * part + part):
            name = f"{number:03}-ticket"
            board.apply(ev.ToolCalled(name, NOW, f"t{step}", "Edit", f"file_{step}.py"))
            spoken[0] += 1
        step += 1
        await anyio.sleep_until(due)


async def measure(presses: int) -> tuple[list[float], float, float]:
    """Return seconds from press to paint, the share of a core that was used, and messages a second."""
    board = busy_board()
    app = SuperviseApp(FakePort(board))
    painted = anyio.Event()
    original = app._display

    def display(screen: object, renderable: object) -> None:
        original(screen, renderable)  # type: ignore[arg-type]
        painted.set()

    app._display = display  # type: ignore[method-assign]
    took, spoken = [], [0]
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 100)
    async with app.run_test(size=SIZE) as pilot, anyio.create_task_group() as group:
        group.start_soon(talk, board, spoken)
        await pilot.pause(0.5)
        cpu, wall, before = time.process_time(), time.monotonic(), spoken[0]
        for press in range(presses):
            painted = anyio.Event()
            cursor = app._board_screen.table.cursor_ticket
            began = time.perf_counter()
            app.simulate_key("j" if press % 40 < 20 else "k")
            while app._board_screen.table.cursor_ticket == cursor or not painted.is_set():
                if app._board_screen.table.cursor_ticket == cursor:
                    painted = anyio.Event()
                    await anyio.lowlevel.checkpoint()
                else:
                    await painted.wait()
            took.append(time.perf_counter() - began)
            await anyio.sleep(_GAP_S)
        used = (time.process_time() - cpu) / (time.monotonic() - wall)
        rate = (spoken[0] - before) / (time.monotonic() - wall)
        group.cancel_scope.cancel()
    return took, used, rate


def figures(presses: int = PRESSES) -> list[Figure]:
    """Measure, and return the figures."""
    took, used, rate = anyio.run(measure, presses)
    hundredths = statistics.quantiles(took, n=100)
    return [
        Figure("key to paint, 200 busy tickets: half of them within", hundredths[49] * 1000, "ms", "<= 15"),
        Figure("key to paint, 200 busy tickets: 99 of 100 within", hundredths[98] * 1000, "ms", "<= 50"),
        Figure("share of a core meanwhile", used * 100, "%", "<= 40"),
        Figure("messages meanwhile", rate, "/s"),
    ]
