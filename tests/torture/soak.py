"""``python -m tests.torture soak``: one supervisor for thousands of turns, and what it holds on to meanwhile.

Scripted agents finish, crash, meet a failing API and are interrupted; every turn ends in a message that asks for
another. Memory, file descriptors, threads and tasks are counted while all tickets rest: once it has warmed up, none of
them may grow. Exit 1 when one did.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import random
import sys
import tempfile
import threading
import time
import tracemalloc
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.model import State
from tests.e2e.stage import make_repo
from tests.engine import world as worlds
from tests.engine.acts import crash, hang, overloaded
from tests.engine.world import World, running, ticket

if TYPE_CHECKING:
    from supervisor.engine.batch import Batch
    from tests.engine.fake_session import FakeSession

TICKETS = 24
SLOTS = 6
WARM_UP = 1 / 3
"""Share of the readings that does not count: caches fill, and the allocator takes what it will keep."""
_WORDS = "what an agent says, " * 200
_SAYINGS = 45
"""So often it is said in one turn: more than the board keeps of a ticket."""
_LEAVE_S = 10.0
"""So long a runner may take to leave after its ticket rests."""
_KEPT_LINES = 40
"""A session's file is cut to its last lines: it is the agent's, and reading it is not what is measured."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the supervisor holds while all its tickets rest."""

    turns: int
    rss_kb: int
    python_kb: int
    """Memory that Python's objects take, as far as it is traced."""
    heap_kb: int
    """Memory that was asked of the C library and not given back, SQLite's included; 0 where it does not tell."""
    descriptors: int
    threads: int
    tasks: int
    loop_ms: int
    """How long the last round took for each of its turns."""


MARGINS = {"rss_kb": 6_000, "python_kb": 400, "heap_kb": 600, "descriptors": 0, "threads": 3, "tasks": 0}
"""How much of each may come on top between the middle and the end: a table that doubles once is no leak."""


class Soak:
    """One supervisor, round after round: each ticket gets one turn in a round."""

    def __init__(self, root: Path, seed: int, tickets: int) -> None:
        """Prepare in an empty directory."""
        self._chance = random.Random(seed)
        self._world = World(root, make_repo(root / "template"))
        self._world.agents.default = _chatty
        self._idents = [f"{number:03}" for number in range(1, tickets + 1)]
        self._turns = 0
        self.readings: list[Reading] = []

    async def run(self, seconds: float, rounds: int) -> None:
        """Play rounds for so many seconds, at least ``rounds``; take a reading in each."""
        worlds.DEADLINE_S = seconds + 300.0
        end = time.monotonic() + seconds
        async with self._world.batch(*map(ticket, self._idents), slots=SLOTS) as batch, running(batch):
            await self._rest(batch)
            while time.monotonic() < end or len(self.readings) < rounds:
                began = time.monotonic()
                await self._round(batch)
                self._forget()
                took = time.monotonic() - began
                self.readings.append(await self._read(took / len(self._idents)))

    async def _round(self, batch: Batch) -> None:
        """Ask every ticket for another turn, and wait until all rest."""
        acts = self._world.agents.acts
        hanging = []
        for ident in self._idents:
            kind = self._chance.choices(("plain", "crash", "overloaded", "hang"), (7, 1, 1, 1))[0]
            if kind == "hang":
                hanging.append(ident)
            if kind != "plain":
                acts[ident].append({"crash": crash(), "overloaded": overloaded(), "hang": hang()}[kind])
        batch.submit("message", self._idents, {"text": "Once more."})
        for ident in hanging:
            await self._world.until(lambda i=ident: batch.board[i].detail == "I look at it.")  # type: ignore[misc]
            batch.submit("interrupt", [ident])
        await self._rest(batch)
        self._turns += len(self._idents)

    async def _rest(self, batch: Batch) -> None:
        def rests() -> bool:
            return all(
                t.state in (State.DONE, State.PAUSED) and not t.live and not t.messages and t.pending is None
                for t in batch.board
            )

        await self._world.until(rests)

    def _forget(self) -> None:
        """Drop what the agents' stand-ins remember: only the supervisor is measured."""
        agents = self._world.agents
        assert agents.faults == [], agents.faults
        for memory in (agents.sessions, agents.sent, agents.permissions, self._world.disk.written):
            memory.clear()
        agents.answered.clear()
        agents.checkpoints.clear()
        for path in agents.path("x").parent.glob("*.jsonl"):
            lines = path.read_text().splitlines(keepends=True)
            if len(lines) > 2 * _KEPT_LINES:
                path.write_text("".join(lines[-_KEPT_LINES:]))

    async def _settle(self) -> None:
        """Give runners whose tickets rest already the time to leave; one that stays is counted."""
        with anyio.move_on_after(_LEAVE_S):
            # the pool has no event for it: nothing but this count asks
            while any("supervisor.engine.pool" in str(task.name) for task in anyio.get_running_tasks()):  # noqa: ASYNC110
                await anyio.sleep(0.01)

    async def _read(self, turn_s: float) -> Reading:
        await self._settle()
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        traced = tracemalloc.get_traced_memory()[0] if tracemalloc.is_tracing() else 0
        return Reading(
            self._turns,
            pages * os.sysconf("SC_PAGE_SIZE") // 1000,
            traced // 1000,
            _heap_bytes() // 1000,
            len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - names are enough
            threading.active_count(),
            len(anyio.get_running_tasks()),
            round(turn_s * 1000),
        )


class _MallInfo(ctypes.Structure):
    """What glibc's ``mallinfo2`` returns, since its version 2.33; see its manual page."""

    _NAMES = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    _fields_ = [(name, ctypes.c_size_t) for name in _NAMES]


def _heap_bytes() -> int:
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return 0
    ask.restype = _MallInfo
    told = ask()
    return int(told.uordblks + told.hblkhd)


async def _chatty(session: FakeSession, uuid: str) -> None:
    """Say more in one turn than the board keeps, and finish."""
    for number in range(_SAYINGS):
        session.put(ev.AgentSpoke(session.start.ticket, session.clock(), text=f"{number} {_WORDS}"))
    await session.finish(uuid, 0.01)


def grown(readings: list[Reading]) -> dict[str, int]:
    """Return what has grown by more than its margin between the middle and the end of the readings that count.

    The smallest reading of a stretch is taken: what is given back later is no growth.
    """
    counted = readings[int(len(readings) * WARM_UP) :]
    half = len(counted) // 2
    found = {}
    for name, margin in MARGINS.items():
        early, late = (min(getattr(r, name) for r in part) for part in (counted[:half], counted[half:]))
        if late - early > margin:
            found[name] = late - early
    return found


def table(readings: list[Reading], most: int = 12) -> str:
    """Return some of the readings, the first and the last among them."""
    step = max(1, -(-(len(readings) - 1) // (most - 1)))
    shown = [*readings[:-1:step], readings[-1]]
    names = [field.name for field in fields(Reading)]
    lines = ["".join(f"{name.removesuffix('_kb'):>12}" for name in names)]
    lines += ["".join(f"{value:12,}" for value in astuple(reading)) for reading in shown]
    return "\n".join(lines)


def play(seconds: float, seed: int, *, tickets: int = TICKETS, rounds: int = 9, trace: bool = True) -> list[Reading]:
    """Soak for so many seconds, at least for so many rounds, and return the readings."""
    if trace:
        tracemalloc.start()
    try:
        with tempfile.TemporaryDirectory(prefix="soak-") as root:
            soak = Soak(Path(root), seed, tickets)
            anyio.run(soak.run, seconds, rounds)
    finally:
        tracemalloc.stop()
    return soak.readings


def main(arguments: list[str]) -> int:
    """Soak, print a table, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (default: 5)")
    parser.add_argument("--seed", type=int, default=1, help="of what the agents do")
    parser.add_argument("--no-trace", action="store_true", help="do not trace Python's memory: twice as fast")
    options = parser.parse_args(arguments)
    if sys.platform != "linux":
        print("needs /proc")
        return 0
    began = time.monotonic()
    readings = play(options.minutes * 60, options.seed, trace=not options.no_trace)
    print(table(readings))
    found = grown(readings)
    print(f"{readings[-1].turns:,} turns in {time.monotonic() - began:.0f} s")
    print(f"GROWS: {found}" if found else "nothing grows")
    return 1 if found else 0
