"""Whatever happens in whatever order: endings, wishes, quits and deaths, over three tickets on two slots.

After every start each ticket is where it may be without an agent and its books are right; no prompt is sent to two
sessions or again after its answer (the scripted agents watch for that), and a session is replaced only when it was
refused.
"""

from __future__ import annotations

import tempfile
from collections import deque
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from supervisor.core import events as ev
from supervisor.core.errors import StoreError
from supervisor.core.model import RESTING, Mode, Outcome, State
from supervisor.engine.agent import Failure
from tests.engine.acts import crash, finish, limit, overloaded, report
from tests.engine.world import World, attempts, check_books, running, stored, ticket

if TYPE_CHECKING:
    from supervisor.engine.batch import Batch
    from tests.engine.fake_session import Act, FakeSession

IDS = ("001", "002", "003")
SLOTS = 2
TICKETS = (
    ticket("001", max_attempts=2),
    ticket("002", verify=("true",), max_attempts=2),
    ticket("003", verify=("false",), verify_rounds=1, after=("001",)),
)
ENDINGS: dict[str, Act] = {
    "finish": finish(),
    "limit": limit(),
    "overloaded": overloaded(),
    "fail": report("error_during_execution", "model_error"),
    "crash": crash(),
    "exit": crash(1),
}
STARTS = {"refused": Failure("No conversation found", exit_code=1), "killed": Failure("killed", exit_code=-9)}

idents = st.sampled_from(IDS)
step = st.one_of(
    st.tuples(st.just("end"), idents, st.sampled_from(sorted(ENDINGS))),
    st.tuples(st.just("start"), idents, st.sampled_from(sorted(STARTS))),
    st.tuples(st.just("wish"), idents, st.sampled_from(["interrupt", "resume", "cancel"])),
    st.tuples(st.just("quit"), st.just(""), st.sampled_from(["softly", "at once"])),
    st.tuples(st.just("die"), st.just(""), st.integers(1, 12)),
)
"""One thing that happens, and whether the next one waits until everything has come to rest."""
Steps = deque[tuple[tuple[str, str, object], bool]]


class Story:
    """A batch through all its lives."""

    def __init__(self, world: World, steps: Steps) -> None:
        self.world = world
        self.steps = steps
        self._waiting: dict[str, FakeSession] = {}
        self._told: dict[str, Act] = {}
        world.agents.default = self._obey

    async def _obey(self, session: FakeSession, uuid: str) -> None:
        """Work until told how to end, or interrupted."""
        ident = session.start.ticket
        session.begin(uuid)
        session.speak(tokens=10, message_id=uuid)
        self._waiting[ident] = session
        self.world.agents.changed()
        try:
            await session.interrupted.wait()
        finally:
            del self._waiting[ident]
        await self._told.pop(ident, report("error_during_execution", "aborted_streaming", 0.01))(session, uuid)

    async def play(self) -> None:
        """Live until the steps are used up, then let the agents finish."""
        while self.steps:
            await self._live()
        self.world.agents.default = ENDINGS["finish"]
        self.world.agents.starts.clear()
        self.world.disk.forget()
        async with self.world.batch(*TICKETS, slots=SLOTS) as batch:
            await self._check(batch)
            await batch.pool.run()
            await self._check(batch)

    async def _live(self) -> None:
        self.world.disk.forget()
        try:
            async with self.world.batch(*TICKETS, slots=SLOTS) as batch:
                await self._check(batch)
                async with running(batch):
                    await self._steps(batch)
        except StoreError:
            return  # it died

    async def _steps(self, batch: Batch) -> None:
        while self.steps:
            (kind, ident, what), settles = self.steps.popleft()
            if kind == "quit":
                return batch.kill() if what == "at once" else None
            self._do(batch, kind, ident, what)
            if settles:
                await self.world.until(lambda: self._idle(batch))
        return None

    def _do(self, batch: Batch, kind: str, ident: str, what: object) -> None:
        if kind == "wish":
            batch.submit(str(what), [ident])
        elif kind == "start":
            self.world.agents.starts[ident].append(STARTS[str(what)])
        elif kind == "die":
            self.world.disk.die_at(lambda _: True, int(str(what)))
        elif ident in self._waiting:
            self._told[ident] = ENDINGS[str(what)]
            self._waiting[ident].interrupted.set()

    def _idle(self, batch: Batch) -> bool:
        """Return whether nothing moves until the next step."""
        states = {t.id: t.state for t in batch.board}
        busy = [i for i, s in states.items() if s is State.RUNNING]
        if any(t.pending is not None for t in batch.board) or not set(busy) <= set(self._waiting):
            return False
        if any(self._waiting[i].interrupted.is_set() for i in busy):
            return False
        may_start = [i for i, s in states.items() if s is State.QUEUED and batch.pool.blocker(batch.board[i]) is None]
        moving = {State.STARTING, State.PARKED} & set(states.values())
        return not moving and (not may_start or len(busy) == SLOTS)

    async def _check(self, batch: Batch) -> None:
        assert self.world.agents.open() == []
        await check_books(batch)
        for snapshot in (await stored(batch)).values():
            assert snapshot.state in {*RESTING, State.QUEUED, State.PARKED}
            assert (snapshot.live, snapshot.pending) == (False, None)
            await self._check_history(batch, snapshot.id)

    async def _check_history(self, batch: Batch, ident: str) -> None:
        """A session follows another only where that was refused; a ticket with a check is done only when it passed."""
        rows = await attempts(batch, ident)
        for before, after in pairwise(rows):
            if after.session_id != before.session_id:
                assert (before.outcome, after.mode) == (Outcome.FAILED_RESUME, Mode.FALLBACK)
        verdicts = [e.exit_code for e in await batch.engine.journal.store.events(ident) if isinstance(e, ev.Verified)]
        if batch.board[ident].state is State.DONE and ident != "001":
            assert verdicts[-1] == 0


@given(st.lists(st.tuples(step, st.booleans()), max_size=14))
@settings(max_examples=15, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order(template: Path, steps: list[tuple[tuple[str, str, object], bool]]) -> None:
    async def play(root: Path) -> None:
        await Story(World(root, template), deque(steps)).play()

    with tempfile.TemporaryDirectory() as root:
        anyio.run(play, Path(root))
