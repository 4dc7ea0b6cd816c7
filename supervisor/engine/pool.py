"""The pool: which ticket runs next, and on how many slots.

Priority first, then the file's order; ``after`` waits for those to be done. The pool never runs a ticket itself: each
has a runner in a task group of its own inside the pool's, and comes back here when it rests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.model import State, TicketSnapshot
from supervisor.core.spec import DEFAULT_RESERVE_USD
from supervisor.core.verbs import BY_NAME, CANCEL, INTERRUPT, RESUME, Verb
from supervisor.engine.attempt import Wanted
from supervisor.engine.runner import NO_MONEY, Runner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.core.board import Board
    from supervisor.core.spec import TicketSpec
    from supervisor.engine.context import Engine

_DEAD_END = {State.FAILED, State.CANCELLED}
_STOPS = {INTERRUPT: Wanted.PAUSE, CANCEL: Wanted.CANCEL}
"""What a verb asks of a ticket's runner."""
_RESTS = {
    INTERRUPT: (State.PAUSED, "interrupted by you"),
    CANCEL: (State.CANCELLED, "cancelled by you"),
    RESUME: (State.QUEUED, "resumed by you"),
}
"""Where a verb puts a ticket that has no runner."""


class Pool:
    """Runs the tickets of one batch."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._specs = {t.id: t for t in engine.spec.tickets}
        self._runners: dict[str, Runner] = {}
        self._group: anyio.abc.TaskGroup | None = None
        self._wake = anyio.Event()
        self._stopping = False
        self.slots = engine.spec.slots
        self.finished = anyio.Event()
        """Set when ``run`` has left, whatever the reason: no agent of ours runs any more."""
        engine.free_slots = self._free_slots

    @property
    def board(self) -> Board:
        """The live board."""
        return self._engine.board

    def _free_slots(self) -> int:
        """Return the slots that money is shared among: the free ones and the one of the ticket that asks."""
        return max(1, self.slots - len(self._runners) + 1)

    async def run(self, *, stay: bool = False) -> None:
        """Run tickets until nothing can move any more, or with ``stay`` until ``stop`` was called.

        Raises StoreError when the disk refuses what must be written; the agents are ended before it leaves.
        """
        try:
            async with anyio.create_task_group() as self._group:
                await self._loop(stay)
        finally:
            self._group = None
            self.finished.set()

    async def _loop(self, stay: bool) -> None:
        await self._explain_the_blocked()
        while not (self._stopping and not self._runners):
            self._wake = anyio.Event()
            if not self._stopping:
                await self._release_parked()
                self._start_what_fits()
            if not stay and self._at_an_end():
                return
            await self._pause()

    def _at_an_end(self) -> bool:
        return not self._runners and not any(t.state is State.PARKED for t in self.board)

    async def _pause(self) -> None:
        """Wait for something to happen, or for the next parked ticket's time."""
        due = min((t.until for t in self.board if t.state is State.PARKED and t.until is not None), default=None)
        seconds = None if due is None or self._stopping else max(0.0, due - self._engine.clock())
        with anyio.move_on_after(seconds):
            await self._wake.wait()

    async def _release_parked(self) -> None:
        now = self._engine.clock()
        for ticket in self.board.rows():
            if ticket.state is State.PARKED and (ticket.until is None or ticket.until <= now):
                await self._move(ticket, State.QUEUED)

    def _start_what_fits(self) -> None:
        for ticket in self._queue():
            if len(self._runners) >= self.slots or self._out_of_money():
                return
            self._start(self._specs[ticket.id])

    def _out_of_money(self) -> bool:
        """Whether the batch's budget leaves nothing for another ticket; said once in the summary bar."""
        left = self._engine.purse.unreserved(self.board.totals().spent_usd)
        if left is None or left > DEFAULT_RESERVE_USD:
            return False
        if not self._runners:
            self.board.announce(notice="the batch's budget is used up: queued tickets stay queued")
        return True

    def _queue(self) -> list[TicketSnapshot]:
        """Return the tickets that may start now, first one first."""
        ready = [
            t
            for t in self.board.rows()
            if t.state is State.QUEUED and t.id in self._specs and t.id not in self._runners
            and self.blocker(t) is None and not (t.detail == NO_MONEY and self._runners)
        ]  # fmt: skip
        return sorted(ready, key=lambda t: (-t.priority, t.order))

    def blocker(self, ticket: TicketSnapshot) -> str | None:
        """Return the id of the first ticket this one waits for, or None."""
        for other in ticket.after:
            if other in self.board and self.board[other].state is not State.DONE:
                return other
        return None

    def _start(self, ticket: TicketSpec) -> None:
        assert self._group is not None
        runner = self._runners[ticket.id] = Runner(ticket, self._engine)
        self._group.start_soon(self._run_one, ticket.id, runner)

    async def _run_one(self, ticket: str, runner: Runner) -> None:
        try:
            await runner.run()
        finally:
            del self._runners[ticket]
            await self._explain_the_blocked()
            self._wake.set()

    async def _explain_the_blocked(self) -> None:
        """Tickets that wait for one that will not be done say so."""
        for ticket in self.board.rows():
            other = self.blocker(ticket) if ticket.state is State.QUEUED else None
            if other is None:
                continue
            words = "blocked by" if self.board[other].state in _DEAD_END else "after"
            if ticket.detail != f"{words} {other}":
                await self._move(ticket, State.QUEUED, detail=f"{words} {other}")

    async def _move(self, ticket: TicketSnapshot, to: State, detail: str = "") -> None:
        event = ev.StateChanged(ticket.id, self._engine.clock(), to, detail=detail)
        await self._engine.journal.emit(event)

    def submit(self, verb: str, tickets: Sequence[str]) -> None:
        """Take an operator's verb. Never blocks; the pending mark is on the board when it returns.

        A ticket that the verb does not apply to is left alone.
        """
        if self._group is None or self._stopping:
            return
        for ticket in tickets:
            if ticket in self.board and BY_NAME[verb].applies(self.board[ticket]):
                self.board.apply(ev.VerbPending(ticket, self._engine.clock(), verb))
                self._group.start_soon(self._carry_out, BY_NAME[verb], ticket)

    async def _carry_out(self, verb: Verb, ticket: str) -> None:
        runner = self._runners.get(ticket)
        if runner is not None and verb in _STOPS:
            runner.stop(_STOPS[verb])
        elif runner is None and verb.applies(self.board[ticket]):
            to, detail = _RESTS[verb]
            await self._move(self.board[ticket], to, detail)
        else:
            self.board.apply(ev.VerbPending(ticket, self._engine.clock(), None))
        self._wake.set()

    def stop(self) -> None:
        """Let every ticket rest and ``run`` return: interrupt, result, disconnect, all of them together."""
        if self._stopping:
            return
        self._stopping = True
        self.board.announce(stopping=True, notice="stopping: agents are interrupted and rest")
        for runner in self._runners.values():
            runner.stop(Wanted.REST)
        self._wake.set()

    def kill(self) -> None:
        """Stop waiting for agents that do not report their ending: end their processes."""
        self.stop()
        if self._group is not None:
            for runner in self._runners.values():
                self._group.start_soon(runner.kill)
