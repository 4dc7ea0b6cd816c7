"""Opens a batch: state directory, lock, store, board, worktrees and pool, ready to run; and closes it again."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from supervisor.core.board import Board
from supervisor.core.budget import Purse
from supervisor.core.errors import StoreError, SupervisorError
from supervisor.core.intake import added
from supervisor.core.model import BatchTotals
from supervisor.core.usage import Prices
from supervisor.engine import belonging, forking, settling
from supervisor.engine.context import Engine, Launch
from supervisor.engine.desk import EffectDesk, Ruling
from supervisor.engine.effects import EffectRunner, secrets_of
from supervisor.engine.filesystem import refuse_unsafe
from supervisor.engine.groups import task_group
from supervisor.engine.journal import Journal
from supervisor.engine.lock import BatchLock
from supervisor.engine.pool import Pool
from supervisor.engine.reader import Reader
from supervisor.engine.recovery import Recovered, recover
from supervisor.engine.snapshots import Snapshots
from supervisor.engine.storage import DiskWatch
from supervisor.engine.treasury import show_reserves
from supervisor.engine.worktree import Worktrees
from supervisor.store.ledger import Ledger
from supervisor.store.tickets import TicketStore
from supervisor.store.watermark import Watermark, users_directory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from anyio.abc import TaskGroup

    from supervisor.core import events as ev
    from supervisor.core.asks import AskAnswer
    from supervisor.core.effects import EffectRecord
    from supervisor.core.spec import BatchSpec

STATE_DIR = ".supervisor"
_PAUSE = "starting paused"
"""Names both the hold and the setting."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Batch:
    """An open batch."""

    engine: Engine
    pool: Pool
    recovered: Recovered
    _group: TaskGroup

    @property
    def board(self) -> Board:
        """The live board."""
        return self.engine.board

    def submit(self, verb: str, tickets: Sequence[str], told: Mapping[str, Any] | None = None) -> None:
        """Take an operator's verb; see ``Mailroom.submit``."""
        self.pool.mailroom.submit(verb, tickets, told)

    def look(self, work: Callable[[Reader], Awaitable[T]], answered: Callable[[T | SupervisorError], None]) -> None:
        """Look something up. Never blocks; ``answered`` gets what was found, or why it could not be."""

        async def go() -> None:
            try:
                found = await work(Reader(self.engine))
            except (SupervisorError, OSError) as error:
                answered(error if isinstance(error, SupervisorError) else SupervisorError(str(error)))
            else:
                answered(found)

        self._group.start_soon(go)

    def rule(self, ruling: Ruling, answered: Callable[[str | None], None], *, once_more: bool = False) -> None:
        """Carry out a decision about an effect. Never blocks; ``answered`` gets None, or why it was refused."""
        desk = self.engine.desk
        decide = desk.once_more if once_more else desk.rule
        self._decide(lambda: decide(ruling), answered)

    def answer(self, answer: AskAnswer, answered: Callable[[str | None], None]) -> None:
        """Answer what an agent asks. Never blocks; ``answered`` gets None, or why it was refused."""
        self._decide(lambda: self.engine.asks.answer(answer), answered)

    def _decide(self, carry_out: Callable[[], Awaitable[object]], answered: Callable[[str | None], None]) -> None:
        async def go() -> None:
            try:
                await carry_out()
            except SupervisorError as refusal:
                answered(str(refusal))
            else:
                answered(None)

        self._group.start_soon(go)

    def probe(self, key: str, answered: Callable[[str | None], None]) -> None:
        """Ask the other system about an effect. Never blocks; ``answered`` gets None if settled, else why not."""

        async def go() -> None:
            answered(await self.probe_effect(key))

        self._group.start_soon(go)

    async def probe_effect(self, key: str) -> str | None:
        """Ask the other system about an effect; return None if that settled it, else in words why not."""
        try:
            record = await self.engine.desk.ledger.by_key(key)
        except SupervisorError as refusal:
            return str(refusal)
        try:
            await self.engine.desk.refresh(record, busy=True)
            return await self.engine.desk.take_proof(record, await self.engine.effects.probe(record))
        except (SupervisorError, OSError) as refusal:
            await self.engine.desk.refresh(record)
            return str(refusal)

    def set_slots(self, slots: int) -> None:
        """Run so many tickets at the same time from now on; see ``Pool.set_slots``."""
        self.pool.set_slots(slots)

    def pause_starting(self, on: bool) -> None:
        """Start no further ticket until told otherwise, also after a restart; what runs goes on. Never blocks."""
        self._hold_starts(on)
        self._group.start_soon(self._keep_pause, on)

    async def restore_pause(self) -> None:
        """Start nothing if the operator had paused that. Raises StoreError.

        For whoever has a key to take it back: a batch without a screen would wait for ever.
        """
        if await self.engine.journal.store.setting(_PAUSE):
            self._hold_starts(True)

    def _hold_starts(self, on: bool) -> None:
        if on:
            self.engine.holds.set(_PAUSE, "starting is paused: p starts tickets again")
        else:
            self.engine.holds.clear(_PAUSE)
        self.board.announce(starting_paused=on)

    def remember(self, name: str, value: str) -> None:
        """Keep a setting of the screen's, also for after a restart. Never blocks; a full disk is told in the notice."""
        self._group.start_soon(self._remember, name, value)

    async def _remember(self, name: str, value: str) -> None:
        try:
            await self.engine.journal.store.keep_setting(name, value)
        except StoreError as error:
            self.board.announce(notice=f"a restart will not know your {name}: {error}")

    async def _keep_pause(self, on: bool) -> None:
        try:
            await self.engine.journal.store.keep_setting(_PAUSE, "yes" if on else "")
        except StoreError as error:
            self.board.announce(notice=f"a restart will not know that you {'paused' if on else 'went on'}: {error}")

    def request_stop(self) -> None:
        """Let everything rest; ``Pool.run`` then returns."""
        self.pool.stop()

    def kill(self) -> None:
        """Stop at once."""
        self.pool.kill()


def make_state_dir(path: Path) -> Path:
    """Make the state directory, readable by its owner only and ignored by git.

    Raises StoreError, also for a place where databases get damaged.
    """
    refuse_unsafe(path)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _close_to_others(path)
        ignore = path / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        raise StoreError(
            f"cannot write the state directory {path}: {error.strerror}", "name another one with --state-dir"
        ) from error
    return path


def _close_to_others(path: Path) -> None:
    """Take away what others may do in a directory that holds nothing else of its owner's: it was there already."""
    info = path.stat()
    is_for_us = (path / "state.db").exists() or not any(path.iterdir())
    if is_for_us and info.st_mode & 0o077 and info.st_uid == os.geteuid():
        path.chmod(0o700)


@asynccontextmanager
async def open_batch(
    spec: BatchSpec, state_dir: Path, launch: Launch, *, adjust: Callable[[Engine], None] | None = None
) -> AsyncIterator[Batch]:
    """Open a batch and put right what an earlier supervisor left behind.

    Args:
        spec: the batch.
        state_dir: made by ``make_state_dir``.
        launch: how agents are started.
        adjust: changes the engine before anything runs (clock, session factory, waits).

    Raises:
        LockedError: another supervisor has this state directory.
        DamagedError: the database is damaged or gone.
        StoreError: the database cannot be used, or is another batch's.
    """
    async with AsyncExitStack() as stack:
        lock = BatchLock(state_dir / "lock")
        await anyio.to_thread.run_sync(lock.acquire)
        stack.callback(lock.release)
        store = TicketStore(state_dir / "state.db")
        await store.open()
        stack.push_async_callback(_close, store)
        await belonging.take(store, spec)
        group = await stack.enter_async_context(task_group())  # effects outlive agents, and the pool
        engine = await _engine(spec, state_dir, launch, store, group)
        if adjust is not None:
            adjust(engine)
        await engine.asks.restore()
        await _take_in(engine)
        orphans = await engine.desk.open()
        stack.push_async_callback(_mark, engine.desk.ledger)
        recovered = replace(await recover(engine), orphans=len(orphans))
        await settling.hold_waiting(engine.journal, engine.desk, engine.clock)
        notice = "; ".join(filter(None, (engine.desk.ledger.held, str(recovered))))
        engine.board.announce(notice=notice)
        show_reserves(engine)
        batch = Batch(engine, Pool(engine), recovered, group)
        disk = DiskWatch(engine.holds, (state_dir, spec.repo))
        await disk.look()
        await engine.governor.begin()
        await engine.memory.look()
        watcher = await stack.enter_async_context(task_group())
        watcher.start_soon(_watch_claims, engine, orphans)
        watcher.start_soon(_take_back, engine, notice)
        watcher.start_soon(disk.run)
        watcher.start_soon(engine.memory.run)
        try:
            yield batch
        finally:
            watcher.cancel_scope.cancel()


async def _close(store: TicketStore) -> None:
    with anyio.CancelScope(shield=True):
        await store.close()


async def _mark(ledger: Ledger) -> None:
    """Note how far the ledger has come; where the disk refuses, what was noted at the last claim will do."""
    with anyio.CancelScope(shield=True), suppress(StoreError):
        await ledger.close()


_NEWS_S = 60.0
"""How long a screen says what a start put right; what needs the operator has that room afterwards."""


async def _take_back(engine: Engine, notice: str) -> None:
    """Say no more what the start put right, unless something else is said by then."""
    await anyio.sleep(_NEWS_S)
    if engine.board.announced.notice == notice:
        engine.board.announce(notice=engine.desk.ledger.held)


_LOOK_S = 2.0
"""How often claims of earlier starts are looked at again while something of theirs may still be running."""


async def _watch_claims(engine: Engine, orphans: tuple[EffectRecord, ...]) -> None:
    """Ask once for each claim that a dead supervisor left, and look again at those whose command still runs."""
    while True:
        for record in orphans:
            await _probe(engine, record)
        if not engine.desk.has_foreign_claims:
            return
        await anyio.sleep(_LOOK_S)
        orphans = await engine.desk.take_orphans()


async def _probe(engine: Engine, record: EffectRecord) -> None:
    """Let a probe settle an effect if it can; the operator may have been faster."""
    spec = engine.spec.effects.get(record.effect)
    if spec is not None and (spec.probe or spec.probe_handler):
        with suppress(SupervisorError, OSError):
            await engine.desk.take_proof(record, await engine.effects.probe(record))


async def _engine(spec: BatchSpec, state_dir: Path, launch: Launch, store: TicketStore, group: TaskGroup) -> Engine:
    board = Board(BatchTotals(spec.name, spec.slots, budget_usd=spec.budget_usd))
    board.restore(await store.snapshots())
    prices = Prices()
    prices.learn(await store.prices())
    watermark = None if launch.recorder else Watermark(state_dir, users_directory())
    secrets = secrets_of(spec.effects)
    ledger = Ledger(store.database, secrets=secrets, watermark=watermark)
    desk = EffectDesk(ledger, board, spec.effects)
    return Engine(
        spec=spec,
        desk=desk,
        effects=EffectRunner(desk, spec.effects, group, spec.path.parent, launch.recorder),
        journal=Journal(board, store, secrets),
        worktrees=Worktrees(spec.repo, state_dir / "worktrees", spec.name),
        snapshots=Snapshots(spec.repo, spec.name),
        specs={t.id: t for t in spec.tickets},
        launch=launch,
        state_dir=state_dir,
        purse=Purse(spec.budget_usd),
        prices=prices,
        largest_calls=await store.largest_calls(),
    )


async def _take_in(engine: Engine) -> None:
    """Add the file's tickets to the board; a known one, and a fork, takes what the file says now and keeps its life."""
    await forking.load(engine)
    for order, ticket in enumerate(engine.spec.tickets):
        await _update(engine, added(ticket, engine.clock(), order))
    for fork in engine.forks.values():
        spec, order = engine.specs.get(fork.child), engine.board[fork.parent].order
        if spec is not None:
            await _update(engine, added(spec, engine.clock(), order, fork.parent))


async def _update(engine: Engine, event: ev.TicketAdded) -> None:
    if event.ticket not in engine.board or engine.board[event.ticket] != engine.board.preview(event):
        await engine.journal.emit(event)
