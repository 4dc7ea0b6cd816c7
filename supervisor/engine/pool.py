"""The pool: which ticket runs next, on how many slots, and with how much money.

Priority first, then the file's order; ``after`` waits for those to be done. The pool never runs a ticket itself: each
has a runner in a task of its own inside the pool's group, and comes back here when it rests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.errors import StoreError
from supervisor.core.model import State, TicketSnapshot, Why
from supervisor.core.verbs import BY_NAME, CANCEL, INTERRUPT, RESUME, Verb
from supervisor.engine import settling
from supervisor.engine.attempt import Wanted
from supervisor.engine.groups import task_group
from supervisor.engine.runner import NO_MONEY, RESTS, Runner
from supervisor.engine.treasury import allowance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.abc import TaskGroup

    from supervisor.core.board import Board
    from supervisor.core.effects import EffectRecord
    from supervisor.engine.context import Engine
    from supervisor.engine.journal import Journal

_DEAD_END = {State.FAILED, State.CANCELLED}
_STOPS = {INTERRUPT: Wanted.PAUSE, CANCEL: Wanted.CANCEL}
"""What a verb asks of a ticket's runner."""


class Pool:
    """Runs the tickets of one batch."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._specs = {t.id: t for t in engine.spec.tickets}
        self._runners: dict[str, Runner] = {}
        self._group: TaskGroup | None = None
        self._wake = anyio.Event()
        self._stopping = False
        self._resting: set[str] = set()
        """Tickets that were told to rest while they waited for the operator."""
        self.slots = engine.spec.slots
        engine.desk.on_decided = engine.desk.on_ended = self._on_effect
        engine.board.listen(self._on_event)
        self.finished = anyio.Event()
        """Set when ``run`` has left, whatever the reason: no agent of ours runs any more."""

    @property
    def board(self) -> Board:
        """The live board."""
        return self._engine.board

    async def run(self, *, stay: bool = False) -> None:
        """Run tickets until nothing can move any more, or with ``stay`` until ``stop`` was called.

        Raises StoreError when the disk refuses what must be written; the agents are ended before it leaves.
        """
        try:
            async with task_group() as self._group:
                await self._loop(stay)
                await self._finish_effects()
        finally:
            self._group = None
            self.finished.set()

    async def _loop(self, stay: bool) -> None:
        await self._explain_the_blocked()
        while not (self._stopping and not self._runners):
            self._wake = anyio.Event()
            await self._release_parked()
            await self._start_what_fits()
            self._let_rest(stay)
            if not stay and self._at_an_end():
                return
            await self._pause()

    async def _finish_effects(self) -> None:
        """An effect under way is not cut off by our leaving: it has a deadline of its own."""
        if self._engine.effects.running:
            self.board.announce(notice=f"waiting for {', '.join(self._engine.effects.running)} to end")
        await self._engine.effects.wait_idle()

    def _at_an_end(self) -> bool:
        return not self._runners and not any(t.state is State.PARKED for t in self.board)

    def _let_rest(self, stay: bool) -> None:
        """An agent that waits for the operator keeps its slot, until somebody else needs it or nothing else moves.

        What it waits for stays on the disk, and the ticket goes on once it is answered.
        """
        waiting = [i for i in self._runners if self.board[i].state is State.NEEDS_YOU and i not in self._resting]
        all_wait = len(waiting) + len(self._resting) == len(self._runners)
        wanted = bool(self._queue()) and len(self._runners) >= self.slots
        for ticket in waiting if all_wait and not stay else waiting[:1] if wanted and not self._resting else ():
            self._resting.add(ticket)
            self._runners[ticket].stop(Wanted.REST)

    def _on_event(self, event: ev.Event, _: TicketSnapshot, after: TicketSnapshot) -> None:
        if isinstance(event, ev.StateChanged) and after.state is State.NEEDS_YOU:
            self._wake.set()

    async def _pause(self) -> None:
        """Wait for something to happen, or for the next parked ticket's time."""
        due = min((t.until for t in self.board if t.state is State.PARKED and t.until is not None), default=None)
        seconds = None if due is None or self._stopping else max(0.0, due - self._engine.clock())
        with anyio.move_on_after(seconds):
            await self._wake.wait()

    async def _release_parked(self) -> None:
        now = self._engine.clock()
        for ticket in self.board.rows():
            if ticket.state is State.PARKED and (ticket.until is None or ticket.until <= now) and not self._stopping:
                await self._move(ticket.id, State.PARKED, State.QUEUED)

    async def _start_what_fits(self) -> None:
        """Start tickets while there are slots and money. Tickets whose own budget is used up are told so."""
        ready = self._queue()
        free = min(self.slots - len(self._runners), len(ready))
        for ticket in ready:
            if free <= 0 or self._stopping:
                return
            spec = self._specs[ticket.id]
            may = allowance(self._engine, spec, ticket, sharers=free)
            if may.own_limit:
                await self._needs_more(ticket)
            elif may.nothing:
                self.board.announce(notice=f"{NO_MONEY}: queued tickets stay queued")
                return
            elif ticket.id in self.board and self.board[ticket.id] is ticket:
                self._engine.purse.promise(ticket.id, may.cap_usd)
                self._start(ticket.id, Runner(spec, self._engine, may.cap_usd))
                free -= 1

    async def _needs_more(self, ticket: TicketSnapshot) -> None:
        words = f"${max(0.0, ticket.headroom_usd or 0.0):.2f} left, less than the reserve"
        event = ev.StateChanged(ticket.id, self._engine.clock(), State.NEEDS_YOU, Why.LIMIT, words)
        await self._engine.journal.emit(event, expect=State.QUEUED)

    def _queue(self) -> list[TicketSnapshot]:
        """Return the tickets that may start now, first one first."""
        ready = [t for t in self.board.rows() if t.state is State.QUEUED and t.pending is None and self._is_free(t)]
        return sorted(ready, key=lambda t: (-t.priority, t.order))

    def _is_free(self, ticket: TicketSnapshot) -> bool:
        return ticket.id in self._specs and ticket.id not in self._runners and self.blocker(ticket) is None

    def blocker(self, ticket: TicketSnapshot) -> str | None:
        """Return the id of the first ticket this one waits for, or None."""
        for other in ticket.after:
            if other in self.board and self.board[other].state is not State.DONE:
                return other
        return None

    def _start(self, ticket: str, runner: Runner) -> None:
        assert self._group is not None
        self._runners[ticket] = runner
        self._group.start_soon(self._run_one, ticket, runner)

    async def _run_one(self, ticket: str, runner: Runner) -> None:
        try:
            await runner.run()
        finally:
            del self._runners[ticket]
            self._resting.discard(ticket)
            self._engine.purse.release(ticket)
            self._wake.set()
        await self._place(ticket)  # the operator may have answered while it was going to rest
        await self._explain_the_blocked()

    async def _explain_the_blocked(self) -> None:
        """Tickets that wait for one that will not be done say so."""
        for ident in [t.id for t in self.board.rows() if t.state is State.QUEUED]:
            ticket = self.board[ident]
            other = self.blocker(ticket)
            if other is None:
                continue
            detail = f"{'blocked by' if self.board[other].state in _DEAD_END else 'after'} {other}"
            if ticket.detail != detail:
                await self._move(ident, State.QUEUED, State.QUEUED, detail)

    async def _move(self, ticket: str, old: State, to: State, detail: str = "", *, by_operator: bool = False) -> bool:
        event = ev.StateChanged(ticket, self._engine.clock(), to, detail=detail, by_operator=by_operator)
        return await self._engine.journal.emit(event, expect=old)

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

    async def request(self, verb: str, ticket: str) -> str | None:
        """Take a verb from another shell; return why it is refused, or None once the wish is on the disk.

        Whoever asks may go away then: it is carried out here. Raises StoreError.
        """
        if self._group is None or self._stopping:
            return "the supervisor is stopping, or has not begun yet: try again"
        refusal = BY_NAME[verb].refusal(self.board[ticket])
        if refusal is None:
            self.board.apply(ev.VerbPending(ticket, self._engine.clock(), verb))
            try:
                await self._write_down(BY_NAME[verb], ticket)
            except StoreError:
                self.board.apply(ev.VerbPending(ticket, self._engine.clock(), None))
                raise
            if self._group is not None:
                self._group.start_soon(self._do, BY_NAME[verb], ticket)
        return refusal

    async def _carry_out(self, verb: Verb, ticket: str) -> None:
        await self._write_down(verb, ticket)
        await self._do(verb, ticket)

    async def _write_down(self, verb: Verb, ticket: str) -> None:
        """Put the wish on the disk, so that a crash does not undo it."""
        await self._engine.journal.emit(ev.Wished(ticket, self._engine.clock(), verb.name))

    async def _do(self, verb: Verb, ticket: str) -> None:
        """Do what a verb asks, or take the wish back if it does not apply any more."""
        if not await self._done(verb, ticket):
            await self._engine.journal.emit(ev.Wished(ticket, self._engine.clock(), None))
        await self._explain_the_blocked()
        self._wake.set()

    async def _done(self, verb: Verb, ticket: str) -> bool:
        """Do what a verb asks, and return whether it applied. A ticket that moved meanwhile is looked at again."""
        while True:
            runner = self._runners.get(ticket)
            if runner is not None and verb in _STOPS:
                runner.stop(_STOPS[verb])
                return True
            if runner is not None or not verb.applies(self.board[ticket]):
                return False
            if await fulfil(self._engine, verb, ticket):
                return True

    def _on_effect(self, record: EffectRecord) -> None:
        """An effect has ended or was settled: tickets that rest because of it go on, or wait because of it."""
        if self._group is not None:
            self._group.start_soon(self._place, record.ticket)

    async def _place(self, ticket: str) -> None:
        if ticket not in self._runners and ticket in self.board:
            await settling.place(self._engine.journal, self._engine.desk, ticket, self._engine.clock)
        self._wake.set()

    def stop(self) -> None:
        """Let every ticket rest and ``run`` return: interrupt, result, disconnect, all of them together."""
        if not self._stopping:
            self._stopping = True
            self.board.announce(stopping=True, notice="stopping: agents are interrupted and rest")
        for runner in self._runners.values():
            runner.stop(Wanted.REST)
        self._wake.set()

    def kill(self) -> None:
        """Stop waiting for agents that do not report their ending: end their processes."""
        self.stop()
        self._engine.effects.abandon_running()
        if self._group is not None:
            for runner in self._runners.values():
                self._group.start_soon(runner.kill)


async def fulfil(engine: Engine, verb: Verb, ticket: str) -> bool:
    """Do what a verb asks of a ticket that no runner has; return whether it applied."""
    return await apply_verb(engine.journal, verb, ticket, engine.clock())


async def apply_verb(journal: Journal, verb: Verb, ticket: str, at: float) -> bool:
    """As ``fulfil``, for whoever has no engine."""
    snapshot = journal.board[ticket]
    if not verb.applies(snapshot):
        return False
    to, detail = RESTS[_STOPS[verb]] if verb in _STOPS else (State.QUEUED, "resumed by you")
    event = ev.StateChanged(ticket, at, to, detail=detail, by_operator=verb is RESUME)
    return await journal.emit(event, expect=snapshot.state)
