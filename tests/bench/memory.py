"""What the supervisor's memory does over a million messages of 200 tickets, with the screen up."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import anyio

from supervisor.app.app import SuperviseApp
from supervisor.core import events as ev
from supervisor.engine.session import load_sdk
from tests.bench.figures import Figure
from tests.bench.latency import TICKETS, busy_board
from tests.screens.scenes import NOW, FakePort

MESSAGES = 1_000_000


def resident_mb() -> float:
    """Return the memory this process holds, in MB; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def measure(messages: int) -> tuple[float, float]:
    """Return MB after a tenth of the messages, and after all of them."""
    board = busy_board()
    load_sdk()
    app = SuperviseApp(FakePort(board))
    early = 0.0
    async with app.run_test(size=(160, 50)) as pilot:
        for number in range(messages):
            name = f"{number % TICKETS:03}-ticket"
            words = f"message {number} " + "with some words to say " * 10
            if number % 3:
                board.apply(ev.AgentSpoke(name, NOW, words))
            else:
                board.apply(ev.ToolCalled(name, NOW, f"t{number}", "Bash", f"pytest -q test_{number}.py", words))
            if number % 2000 == 0:
                app.refresh_board()
                await pilot.pause()
            if number == messages // 10:
                gc.collect()
                early = resident_mb()
        gc.collect()
        return early, resident_mb()


def figures(messages: int = MESSAGES) -> list[Figure]:
    """Measure, and return the figures."""
    early, late = anyio.run(measure, messages)
    return [
        Figure(f"memory after {messages:,} messages of 200 tickets", late, "MB", "<= 150"),
        Figure("of that, since the first tenth of them", late - early, "MB", "<= 10"),
    ]
