"""Opens a batch: state directory, lock, store, board, worktrees and pool, ready to run; and closes it again."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.board import Board
from supervisor.core.budget import Prices, Purse
from supervisor.core.errors import StoreError, SupervisorError
from supervisor.core.model import BatchTotals
from supervisor.core.prompts import fingerprint
from supervisor.engine import settling
from supervisor.engine.context import Engine, Launch
from supervisor.engine.desk import EffectDesk, Ruling
from supervisor.engine.effects import EffectRunner, secrets_of
from supervisor.engine.groups import task_group
from supervisor.engine.journal import Journal
from supervisor.engine.lock import BatchLock
from supervisor.engine.pool import Pool
from supervisor.engine.recovery import Recovered, recover
from supervisor.engine.worktree import Worktrees
from supervisor.store.ledger import Ledger
from supervisor.store.tickets import TicketStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from anyio.abc import TaskGroup

    from supervisor.core.effects import EffectRecord
    from supervisor.core.spec import BatchSpec, TicketSpec

STATE_DIR = ".supervisor"


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

    def submit(self, verb: str, tickets: Sequence[str]) -> None:
        """Take an operator's verb; see ``Pool.submit``."""
        self.pool.submit(verb, tickets)

    def rule(self, ruling: Ruling, answered: Callable[[str | None], None], *, once_more: bool = False) -> None:
        """Carry out a decision about an effect. Never blocks; ``answered`` gets None, or why it was refused."""
        desk = self.engine.desk
        decide = desk.once_more if once_more else desk.rule

        async def go() -> None:
            try:
                await decide(ruling)
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

    def request_stop(self) -> None:
        """Let everything rest; ``Pool.run`` then returns."""
        self.pool.stop()

    def kill(self) -> None:
        """Stop at once."""
        self.pool.kill()


def make_state_dir(path: Path) -> Path:
    """Make the state directory, readable by its owner only and ignored by git. Raises StoreError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        ignore = path / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
    except OSError as error:
        raise StoreError(
            f"cannot write the state directory {path}: {error.strerror}", "name another one with --state-dir"
        ) from error
    return path


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
        StoreError: the database cannot be used.
    """
    async with AsyncExitStack() as stack:
        lock = BatchLock(state_dir / "lock")
        await anyio.to_thread.run_sync(lock.acquire)
        stack.callback(lock.release)
        store = TicketStore(state_dir / "state.db")
        await store.open()
        stack.push_async_callback(_close, store)
        group = await stack.enter_async_context(task_group())  # effects outlive agents, and the pool
        engine = await _engine(spec, state_dir, launch, store, group)
        if adjust is not None:
            adjust(engine)
        await _take_in(engine)
        orphans = await engine.desk.open()
        recovered = replace(await recover(engine), orphans=len(orphans))
        await settling.hold_waiting(engine.journal, engine.desk, engine.clock)
        if str(recovered):
            engine.board.announce(notice=str(recovered))
        batch = Batch(engine, Pool(engine), recovered, group)
        watcher = await stack.enter_async_context(task_group())
        watcher.start_soon(_watch_claims, engine, orphans)
        try:
            yield batch
        finally:
            watcher.cancel_scope.cancel()


async def _close(store: TicketStore) -> None:
    with anyio.CancelScope(shield=True):
        await store.close()


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
    for usage in await store.prices():
        prices.learn(usage)
    desk = EffectDesk(Ledger(store.database, secrets=secrets_of(spec.effects)), board, spec.effects)
    return Engine(
        spec=spec,
        desk=desk,
        effects=EffectRunner(desk, spec.effects, group, spec.path.parent, launch.recorder),
        journal=Journal(board, store),
        worktrees=Worktrees(spec.repo, state_dir / "worktrees", spec.name),
        launch=launch,
        state_dir=state_dir,
        purse=Purse(spec.budget_usd),
        prices=prices,
    )


async def _take_in(engine: Engine) -> None:
    """Add the file's tickets to the board; a known one takes what the file says now and keeps its life."""
    for order, ticket in enumerate(engine.spec.tickets):
        event = _added(engine, ticket, order)
        if ticket.id not in engine.board or engine.board[ticket.id] != engine.board.preview(event):
            await engine.journal.emit(event)


def _added(engine: Engine, ticket: TicketSpec, order: int) -> ev.TicketAdded:
    return ev.TicketAdded(
        ticket.id,
        engine.clock(),
        title=ticket.title,
        order=order,
        priority=ticket.priority,
        after=ticket.after,
        budget_usd=ticket.budget_usd,
        reserve_usd=ticket.reserve_usd or 0.0,
        model=ticket.model,
        instructions=fingerprint(ticket),
    )
