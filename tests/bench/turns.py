"""What a start reads of a batch that has had very many turns: their prices and their largest calls."""

from __future__ import annotations

import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.model import TicketSnapshot
from supervisor.store import turn_sums
from supervisor.store.database import connect
from supervisor.store.tickets import append
from tests.bench.figures import Figure

if TYPE_CHECKING:
    from sqlite_utils import Database

TURNS = 100_000
TICKETS = 200
USAGE = {"claude-sonnet": {"inputTokens": 1_200.0, "outputTokens": 3_400.0, "costUSD": 0.12}}


def fill(db: Database, turns: int) -> None:
    """Write so many results, of a few tickets."""
    snapshots = [TicketSnapshot(f"{n:03}") for n in range(TICKETS)]
    db.execute("BEGIN")
    for order, snapshot in enumerate(snapshots):
        append(db, ev.TicketAdded(snapshot.id, 1.0, snapshot.id, order), snapshot)
    for number in range(turns):
        snapshot = snapshots[number % TICKETS]
        turn = ev.TurnEnded(
            snapshot.id, 2.0, 1, None, "success", "completed", False, 1, 0.1, prices=USAGE, largest_call_usd=0.01
        )
        append(db, turn, snapshot)
    db.execute("COMMIT")


def figures(turns: int = TURNS) -> list[Figure]:
    """Measure a start, and the one time that an older database is summed up."""
    with tempfile.TemporaryDirectory() as place, closing(connect(Path(place) / "state.db")) as db:
        fill(db, turns)
        began = time.perf_counter()
        turn_sums.prices(db)
        turn_sums.largest_calls(db)
        read = time.perf_counter() - began
        began = time.perf_counter()
        turn_sums.fill(db)
        summed = time.perf_counter() - began
    return [
        Figure(f"what a start reads of {turns:,} turns", read * 1000, "ms", "<= 10"),
        Figure("summing them up, once for a database of an earlier version", summed, "s"),
    ]
