"""A world whose time passes at once: batches with scripted agents, without threads, processes and a disk to wait for.

Everything runs on one thread and in a fixed order, so a run is the same every time. Time goes on when nobody has
anything left to do before it does.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

import anyio

from supervisor.core.changes import Snapshot
from supervisor.engine.batch import make_state_dir
from supervisor.engine.groups import task_group
from supervisor.engine.worktree import Worktree
from supervisor.store.database import Database
from tests.engine.fake_session import Agents
from tests.engine.world import Disk, World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from supervisor.core.spec import TicketSpec
    from supervisor.engine.batch import Batch
    from supervisor.engine.context import Engine

START = 1_800_000_000.0


class VirtualTime:
    """A clock that jumps to the next thing that somebody waits for."""

    def __init__(self) -> None:
        self.now = START
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._order = itertools.count()

    def clock(self) -> float:
        """Return the time, never the same twice: to ask takes a microsecond."""
        self.now += 1e-6
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        await self._alarm(seconds, anyio.Event()).wait()

    async def wait_for(self, event: anyio.Event, seconds: float | None) -> None:
        """Wait for an event, at most so many seconds."""
        if seconds is None:
            await event.wait()
            return
        either = self._alarm(seconds, anyio.Event())

        async def watch() -> None:
            await event.wait()
            either.set()

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            await either.wait()
            group.cancel_scope.cancel()

    def _alarm(self, seconds: float, event: anyio.Event) -> anyio.Event:
        heapq.heappush(self._sleepers, (self.now + max(0.0, seconds), next(self._order), event))
        return event

    async def run(self) -> None:
        """Let time pass, for ever: whenever no task is ready to run, on to the next alarm."""
        ready = cast("Any", asyncio.get_running_loop())._ready
        while True:
            await anyio.lowlevel.checkpoint()
            if not ready and self._sleepers:
                at, _, event = heapq.heappop(self._sleepers)
                self.now = max(self.now, at)
                event.set()


class _Worktrees:
    """Worktrees that are there at once and empty."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def path(self, ticket: str) -> Path:
        return self._home / ticket

    async def ensure(self, ticket: str, *_: object) -> Worktree:
        path = self.path(ticket)
        new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        return Worktree(path, f"supervise/stage/{ticket}", "0" * 40, new)


class _Snapshots:
    """Snapshots of nothing."""

    async def take(self, ticket: str, worktree: Path, message: str) -> Snapshot:
        return Snapshot("1" * 40, "", "2" * 40, message, START)

    async def exists(self, commit: str) -> bool:
        return False

    def taken(self, ticket: str) -> int:
        return 0


@contextmanager
def inline() -> Iterator[None]:
    """Do what would be done in threads at once, in the task that asks for it."""

    async def run_sync(work: Callable[..., Any], *args: Any, **_: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return work(*args)

    async def submit(_: Database, work: Callable[[], Any]) -> Any:
        await anyio.lowlevel.checkpoint()
        return work()

    async def git(*_: object, **__: object) -> str:
        return ""

    with ExitStack() as stack:
        stack.enter_context(mock.patch("supervisor.engine.planning.git", git))
        stack.enter_context(mock.patch.object(anyio.to_thread, "run_sync", run_sync))
        stack.enter_context(mock.patch.object(Database, "_submit", submit))
        yield


class VirtualWorld(World):
    """A world on virtual time. Nothing of it outlives ``batch`` but its files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repo = root / "repo"
        self.repo.mkdir(parents=True)
        self.state_dir = make_state_dir(root / "state")
        self.agents = Agents(root / "claude")
        self.agents.changed = self._wake
        self.disk = Disk()
        self.backoff_s = 5.0
        self.time = VirtualTime()
        self.chance: Callable[[], float] = lambda: 0.5
        self._changed = anyio.Event()

    def now(self) -> float:
        """Return the time."""
        return self.time.clock()

    def _adjust(self, engine: Engine) -> None:
        super()._adjust(engine)
        engine.running = self.time.clock
        engine.wait_for = self.time.wait_for
        engine.chance = self.chance
        engine.worktrees = cast("Any", _Worktrees(self.root / "trees"))
        engine.snapshots = cast("Any", _Snapshots())

    @asynccontextmanager
    async def batch(self, *tickets: TicketSpec, **more: Any) -> AsyncIterator[Batch]:
        """Open a batch and let time pass while it is open."""
        with inline():
            async with super().batch(*tickets, **more) as batch:
                db = batch.engine.journal.store.database._db
                assert db is not None
                db.execute("PRAGMA synchronous = OFF")
                async with anyio.create_task_group() as group:
                    group.start_soon(self.time.run)
                    yield batch
                    group.cancel_scope.cancel()


@asynccontextmanager
async def running(batch: Batch) -> AsyncIterator[None]:
    """Keep the pool running, as under the screen; it is stopped in the end."""
    async with task_group() as group:
        group.start_soon(partial(batch.pool.run, stay=True))
        await anyio.lowlevel.checkpoint()
        yield
        batch.request_stop()
