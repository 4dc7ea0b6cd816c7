"""A place for batches with scripted agents: a real repository and store, and a disk that can be acted on.

A second ``batch`` on the same world is a restart. Nothing here waits for a time to pass: ``until`` wakes at every event
and at every change of an agent.
"""

from __future__ import annotations

import os
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from supervisor.core import events as ev
from supervisor.core.errors import StoreError
from supervisor.core.model import RESTING, State
from supervisor.core.spec import BatchSpec, TicketSpec
from supervisor.engine.batch import Batch, make_state_dir, open_batch
from supervisor.engine.context import Launch
from supervisor.engine.groups import task_group
from tests.engine.acts import hang
from tests.engine.fake_session import Agents

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from supervisor.core.model import AttemptRecord, TicketSnapshot
    from supervisor.engine.context import Engine

DEADLINE_S = 45.0


def a(kind: type[ev.Event], **fields: object) -> Callable[[ev.Event], bool]:
    """Match events of a kind with these fields."""
    return lambda e: isinstance(e, kind) and all(getattr(e, name) == value for name, value in fields.items())


def to(state: State, **fields: object) -> Callable[[ev.Event], bool]:
    """Match moves to a state."""
    return a(ev.StateChanged, to=state, **fields)


@dataclass
class _Watch:
    matches: Callable[[ev.Event], bool]
    act: Callable[[], object] | None
    """None: the supervisor dies here, and no later event is written either."""
    left: int


class Disk:
    """Stands in front of the store: acts exactly while an event is about to be written, or refuses it."""

    def __init__(self) -> None:
        self._watches: list[_Watch] = []
        self.dead = False
        self.written: list[ev.Event] = []

    def at(self, matches: Callable[[ev.Event], bool], act: Callable[[], object], nth: int = 1) -> None:
        """Act while the n-th such event from now on is written."""
        self._watches.append(_Watch(matches, act, nth))

    def die_at(self, matches: Callable[[ev.Event], bool], nth: int = 1) -> None:
        """Refuse the n-th such event from now on, and everything after it, until the next start."""
        self._watches.append(_Watch(matches, None, nth))

    def refuse_at(self, matches: Callable[[ev.Event], bool], nth: int = 1) -> None:
        """Refuse the n-th such event from now on, and take the ones after it."""

        def refuse() -> None:
            raise StoreError("the disk is full")

        self.at(matches, refuse, nth)

    def forget(self) -> None:
        """Take back what was to happen."""
        self._watches.clear()

    def before(self, event: ev.Event) -> None:
        """Meet an event on its way to the store. Raises StoreError."""
        for watch in [w for w in self._watches if w.matches(event)]:
            watch.left -= 1
            if watch.left == 0:
                self._watches.remove(watch)
                self._meet(watch)
        if self.dead:
            raise StoreError("the disk is full")
        self.written.append(event)

    def _meet(self, watch: _Watch) -> None:
        if watch.act is None:
            self.dead = True
        else:
            watch.act()


class World:
    """A repository, a state directory, agents, and the disk."""

    def __init__(self, root: Path, template: Path) -> None:
        """Make a world in an empty directory, its repository as a copy of ``template``."""
        self.root = root
        self.repo = Path(shutil.copytree(template, root / "repo"))
        self.state_dir = make_state_dir(root / "state")
        self.agents = Agents(root / "claude")
        self.agents.changed = self._wake
        self.disk = Disk()
        self.backoff_s = 0.0
        self._now = 1_000_000.0
        self._changed = anyio.Event()

    def now(self) -> float:
        """Return the time, which goes on only by being asked for."""
        self._now += 0.001
        return self._now

    def pass_time(self, seconds: float) -> None:
        """Let time pass at once."""
        self._now += seconds

    def spec(self, *tickets: TicketSpec, **more: Any) -> BatchSpec:
        """A batch on the world's repository."""
        return BatchSpec("stage", self.repo / "tickets.toml", self.repo, tickets, **more)

    @asynccontextmanager
    async def batch(self, *tickets: TicketSpec, **more: Any) -> AsyncIterator[Batch]:
        """Open a batch; all its agents must be gone when it is left."""
        self.disk.dead = False
        launch = Launch(Path("unused"), self.agents.config_dir, lambda _: {})
        with anyio.fail_after(DEADLINE_S):
            async with open_batch(self.spec(*tickets, **more), self.state_dir, launch, adjust=self._adjust) as batch:
                yield batch
        assert self.agents.open() == [], "an agent outlived its batch"
        assert self.agents.faults == []

    def _adjust(self, engine: Engine) -> None:
        engine.new_session = self.agents.new_session
        engine.clock = self.now
        engine.backoff_s = self.backoff_s
        store = engine.journal.store
        append, append_all = store.append, store.append_all

        async def watched(event: ev.Event, snapshot: TicketSnapshot) -> None:
            self.disk.before(event)
            await append(event, snapshot)

        async def all_watched(moves: Sequence[tuple[ev.Event, TicketSnapshot]]) -> None:
            for event, _ in moves:
                self.disk.before(event)
            await append_all(moves)

        store.append = watched  # type: ignore[method-assign]
        store.append_all = all_watched  # type: ignore[method-assign]
        engine.board.listen(self._on_event)

    def _on_event(self, event: ev.Event, before: TicketSnapshot, after: TicketSnapshot) -> None:
        rests = after.state in RESTING and not after.live
        if rests and after.state is not before.state and self.agents.open(after.id):
            self.agents.fault(f"{after.id} is {after.state} while its agent works")
        self._wake()

    def _wake(self) -> None:
        self._changed.set()

    async def until(self, true: Callable[[], object]) -> None:
        """Wait until something of the board or the agents is so."""
        while not true():
            if self._changed.is_set():  # others may be waiting for the same one
                self._changed = anyio.Event()
            await self._changed.wait()

    async def begin(self) -> str:
        """Let ticket 001's agent begin its work, and stop; return the session's id."""
        self.agents.acts["001"].append(hang())
        async with self.batch(ticket()) as batch, running(batch):
            await self.until(lambda: batch.board["001"].detail == "I look at it.")
        ident = batch.board["001"].session_id
        assert ident is not None
        return ident

    async def run(self, *tickets: TicketSpec, **more: Any) -> dict[str, TicketSnapshot]:
        """Open a batch, run it to its end and return the tickets as they then are on disk."""
        async with self.batch(*tickets, **more) as batch:
            await batch.pool.run()
            return await stored(batch)


@asynccontextmanager
async def running(batch: Batch) -> AsyncIterator[None]:
    """Keep the pool running, as under the screen; it is stopped in the end."""
    async with task_group() as group:
        group.start_soon(partial(batch.pool.run, stay=True))
        await anyio.wait_all_tasks_blocked()
        yield
        batch.request_stop()


async def stored(batch: Batch) -> dict[str, TicketSnapshot]:
    """Return the tickets as they are on disk, which is how the board shows them."""
    found = {t.id: t for t in await batch.engine.journal.store.snapshots()}
    shown = {t.id: _kept(t, found[t.id]) for t in batch.board}
    assert found == shown, "the board shows what is on disk"
    return found


def _kept(shown: TicketSnapshot, found: TicketSnapshot) -> TicketSnapshot:
    """Return a ticket without what only the board knows; a reserve is written down with the ticket's next event."""
    return replace(shown, held_by="", tools=(), turn_usd=0.0, reserve_usd=found.reserve_usd)


async def attempts(batch: Batch, ident: str = "001") -> tuple[AttemptRecord, ...]:
    """Return a ticket's attempts."""
    return await batch.engine.journal.store.attempts(ident)


async def check_books(batch: Batch) -> None:
    """Every attempt is closed, and a ticket has spent what its attempts have cost."""
    for snapshot in batch.board:
        rows = await attempts(batch, snapshot.id)
        assert [a.number for a in rows if a.ended is None] == []
        assert abs(sum(a.cost_usd for a in rows) - snapshot.spent_usd) < 1e-9


def ticket(ident: str = "001", **more: Any) -> TicketSpec:
    """A ticket."""
    return TicketSpec(ident, **{"title": ident, "prompt": f"Do {ident}.", **more})


class Pipe:
    """A named pipe by which a command says that it has begun, and shows for as long as any process of it is alive."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.command = ("sh", "-c", f"exec 9>'{path}'; echo $$ >&9; exec sleep 600")
        """A command that tells its pid and then works for longer than any test."""
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    async def pid(self) -> int:
        """Wait until the command has begun and return its pid."""
        said = b""
        while not said.endswith(b"\n"):
            await anyio.wait_readable(self._fd)
            said += os.read(self._fd, 100)
        return int(said)

    async def end(self) -> None:
        """Wait until the command's last process has ended."""
        await anyio.wait_readable(self._fd)
        assert os.read(self._fd, 100) == b""
        os.close(self._fd)
