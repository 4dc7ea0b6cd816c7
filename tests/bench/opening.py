"""How long a state directory with 10 000 tickets takes to open: ours alone, and to the first paint of the screen."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from supervisor.core import events as ev
from supervisor.core.fold import reduce
from supervisor.core.model import State, TicketSnapshot
from supervisor.store.database import connect
from supervisor.store.tickets import append
from tests.bench.figures import Figure

TICKETS = 10_000
_CHILD = """
import sys, time
from pathlib import Path
import anyio
from supervisor.core.board import Board
from supervisor.store.tickets import TicketStore

async def main():
    began = time.perf_counter()
    store = TicketStore(Path(sys.argv[1]))
    await store.open()
    board = Board()
    board.restore(await store.snapshots())
    ours = time.perf_counter() - began
    from supervisor.app.app import SuperviseApp
    from tests.screens.scenes import FakePort
    painted = []
    app = SuperviseApp(FakePort(board), on_ready=lambda: painted.append(time.perf_counter() - began))
    async with app.run_test(size=(160, 50)) as pilot:
        while not painted:
            await pilot.pause()
    await store.close()
    print(ours, painted[0])

anyio.run(main)
"""


def fill(path: Path, tickets: int) -> None:
    """Write so many tickets that were begun and are done."""
    with closing(connect(path)) as db:
        db.execute("BEGIN")
        for order in range(tickets):
            name = f"{order:05}-ticket"
            snapshot = TicketSnapshot(name)
            for event in (
                ev.TicketAdded(name, 1.0, name, order, budget_usd=1.0),
                ev.StateChanged(name, 2.0, State.PAUSED),
            ):
                snapshot = reduce(snapshot, event)
                append(db, event, snapshot)
        db.execute("COMMIT")


def figures(tickets: int = TICKETS, runs: int = 3) -> list[Figure]:
    """Measure, and return the best of some runs."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "state.db"
        fill(path, tickets)
        found = []
        for _ in range(runs):
            began = time.perf_counter()
            out = subprocess.run(
                [sys.executable, "-c", _CHILD, str(path)], capture_output=True, text=True, check=True, timeout=120
            ).stdout
            ours, painted = map(float, out.split())
            found.append((painted, ours, time.perf_counter() - began))
    painted, ours, whole = min(found)
    return [
        Figure(f"opening {tickets:,} tickets, to the first paint", painted, "s", "<= 1"),
        Figure("of that, the store and the board", ours, "s", "<= 0.3"),
        Figure("the whole process, Python's start and end included", whole, "s"),
    ]
