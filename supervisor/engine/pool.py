"""The pool: which ticket runs next, on how many slots, and with how much money.

Priority first, then the file's order; ``after`` waits for those to be done. The pool never runs a ticket itself: each
has a runner in a task of its own inside the pool's group, and comes back here when it rests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.model import State, TicketSnapshot, Why
from supervisor.engine import outlook, pruning, settling
from supervisor.engine.governor import API, KEY, is_keyless
from supervisor.engine.groups import task_group
from supervisor.engine.mailroom import Mailroom
from supervisor.engine.parking import Parking
from supervisor.engine.runner import NO_MONEY, Runner
from supervisor.engine.treasury import allowance, raise_limits, waits_for_others
from supervisor.engine.wishes import Wanted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from supervisor.core.board import Board
    from supervisor.core.effects import EffectRecord
    from supervisor.engine.context import Engine
    from supervisor.engine.treasury import Allowance

_SHORT = f"{NO_MONEY}: queued tickets stay queued"


class Pool:
    """Runs the tickets of one batch."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._runners: dict[str, Runner] = {}
        self._group: TaskGroup | None = None
        self._wake = anyio.Event()
        self._stopping = False
        self._errands = 0
        """What is under way that may put tickets into the queue: verbs being carried out, and endings."""
        self._resting: set[str] = set()
        """Tickets that were told to rest while they waited for the operator."""
        self.slots = engine.spec.slots
        self._parking = Parking(lambda: engine.clock(), lambda: engine.running())
        self._parked_s: float | None = None
        """Seconds until parked tickets are looked at again."""
        self.mailroom = Mailroom(engine, self._runners.get, self._spawn, self._closed, lambda: self._wake.set())
        """Where the operator's verbs come in."""
        engine.desk.on_decided = engine.desk.on_ended = self._on_effect
        engine.asks.on_answered, engine.asks.on_stop = self._on_answer, self.mailroom.interrupt
        engine.custody.on_free = engine.governor.on_change = lambda: self._wake.set()
        engine.governor.keep = lambda name, value: self._spawn(engine.journal.store.keep_setting, name, value)
        engine.sharers = self._sharers
        self._held = ""
        """What the notice says of holds."""
        engine.holds.listen(self._on_holds)
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
                busy = True
                while busy:
                    await self._loop(stay)
                    await self._finish_effects()
                    # a verb that came meanwhile, or an effect that ended, may have put a ticket into the queue again
                    busy = not self._stopping and (self._errands > 0 or self._wake.is_set())
                self._group = None
        finally:
            self._group = None
            self.finished.set()

    def _spawn(self, work: Callable[..., Awaitable[object]], *args: object) -> bool:
        """Start a task that outlives its caller; return False when no more are taken."""
        if self._group is None or self._closed() is not None:
            return False
        self._begin(self._group, work, *args)
        return True

    def _begin(self, group: TaskGroup, work: Callable[..., Awaitable[object]], *args: object) -> None:
        """Start a task that the pool waits for before it thinks that nothing can move any more."""
        self._errands += 1
        group.start_soon(self._errand, work, *args)

    def _closed(self) -> str | None:
        """Return why no verbs are taken; None while they are."""
        if self._group is None or self._stopping:
            return "the supervisor is stopping, or has not begun yet: try again"
        return None

    async def _errand(self, work: Callable[..., Awaitable[object]], *args: object) -> None:
        try:
            await work(*args)
        finally:
            self._errands -= 1
            self._wake.set()

    def set_slots(self, slots: int) -> None:
        """Run so many tickets at the same time from now on, at least one; what runs goes on."""
        self.slots = max(1, slots)
        self.board.announce(slots=self.slots)
        self._wake.set()

    async def _loop(self, stay: bool) -> None:
        for ticket in [t.id for t in self.board if t.state is State.NEEDS_YOU]:
            await self._place(ticket)  # the operator may have answered before we began
        while not (self._stopping and not self._runners):
            self._wake = anyio.Event()
            await self._explain_the_blocked()
            self._engine.governor.look()
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
        if self._runners or self._errands:
            return False
        if self._engine.governor.is_refused:
            return True  # nobody is here to give another key
        if any(t.state is State.PARKED for t in self.board):
            return False
        waits = self._engine.holds.besides(API, KEY) or self._engine.governor.wait() != 0
        return not (waits and self._queue())

    def _let_rest(self, stay: bool) -> None:
        """An agent that waits for the operator keeps its slot, until somebody else needs it or nothing else moves.

        What it waits for stays on the disk, and the ticket goes on once it is answered.
        """
        waiting = [i for i in self._runners if self.board[i].state is State.NEEDS_YOU and i not in self._resting]
        all_wait = len(waiting) + len(self._resting) == len(self._runners)
        wanted = bool(self._queue()) and len(self._runners) >= self.slots and not self._engine.holds
        for ticket in waiting if all_wait and not stay else waiting[:1] if wanted and not self._resting else ():
            self._resting.add(ticket)
            self._runners[ticket].stop(Wanted.REST)

    def _on_event(self, event: ev.Event, _: TicketSnapshot, after: TicketSnapshot) -> None:
        if isinstance(event, ev.StateChanged | ev.AskOpened) and after.state is State.NEEDS_YOU:
            self._wake.set()

    def _on_holds(self) -> None:
        """Say why nothing starts; once it does again, take back only what was said of that."""
        words = "; ".join(filter(None, (self._engine.desk.ledger.held, self._engine.holds.words)))
        if self._engine.holds or self.board.announced.notice == self._held:
            self.board.announce(notice=words)
        self._held = words
        self.board.announce(held=self._engine.holds.words)
        self._wake.set()

    async def _pause(self) -> None:
        """Wait for something to happen, for the next parked ticket's time, or for the next start."""
        waits = [seconds for seconds in (self._parked_s, self._engine.governor.wait()) if seconds]
        await self._engine.wait_for(self._wake, None if self._stopping else min(waits, default=None))

    async def _release_parked(self) -> None:
        """Put parked tickets back into the queue whose time has come: one by one while the API is short of patience."""
        governor = self._engine.governor
        if not governor.is_refused:
            for ticket in [t for t in self.board.rows() if is_keyless(t)]:
                await self._move(ticket.id, ticket.state, State.QUEUED, "the key is accepted again")
        due, self._parked_s = self._parking.look(self.board.rows())
        for ident in due:
            if self._stopping or (governor.is_pacing and (self._queue() or governor.wait() != 0)):
                return
            await self._move(ident, State.PARKED, State.QUEUED)

    def _sharers(self) -> int:
        """Return among how many tickets the batch's free money is shared, one that goes on by itself included."""
        return 1 + max(0, min(self.slots - len(self._runners), len(self._queue())))

    async def _start_what_fits(self) -> None:
        """Start tickets while there are slots, money and the API's patience. Those at their own limit are told so."""
        ready, governor = self._queue(), self._engine.governor
        free = min(self.slots - len(self._runners), len(ready))
        if not ready:
            self._say_short(False)
        for ticket in ready:
            if ticket.held_by and await self._is_put_aside(ticket.id):
                continue
            if free <= 0 or self._stopping or self._engine.holds.besides(API, KEY) or governor.wait() != 0:
                return
            spec = self._engine.specs[ticket.id]
            may = allowance(self._engine, spec, ticket, sharers=free)
            if may.own_limit:
                await self._needs_more(ticket, may)
            elif may.nothing:
                self._say_short(True)
                return
            elif ticket.id in self.board and self.board[ticket.id] is ticket and ticket.id not in self._engine.custody:
                if governor.wait(spec.model) != 0:
                    continue  # only its model has to wait
                self._engine.purse.promise(ticket.id, may.promise_usd)
                governor.starting(ticket.id)
                self._start(ticket.id, Runner(spec, self._engine, may))
                self._say_short(False)
                free -= 1

    async def _is_put_aside(self, ticket: str) -> bool:
        """Let a ticket wait for its effect, whatever else keeps it from going on; return whether it does now."""
        await settling.place(self._engine.journal, self._engine.desk, ticket, self._engine.clock)
        return self.board[ticket].state is not State.QUEUED

    def _say_short(self, short: bool) -> None:
        """Say that the batch's money starts nothing more; once it does again, take back only that."""
        if short:
            self.board.announce(notice=_SHORT)
        elif self.board.announced.notice == _SHORT:
            self.board.announce(notice=self._held)

    async def _needs_more(self, ticket: TicketSnapshot, may: Allowance) -> None:
        """Let a ticket that is at a limit of its own raise it, now or once the batch can pay, or ask for more."""
        spec = self._engine.specs[ticket.id]
        if may.is_money and await raise_limits(self._engine, spec):
            self._wake.set()
            return
        if may.is_money and waits_for_others(self._engine, spec):
            return
        event = ev.StateChanged(ticket.id, self._engine.clock(), State.NEEDS_YOU, Why.LIMIT, may.own_limit)
        await self._engine.journal.emit(event, expect=State.QUEUED)

    def _queue(self) -> list[TicketSnapshot]:
        """Return the tickets that may start now, first one first."""
        ready = [t for t in self.board.rows() if t.state is State.QUEUED and t.pending is None and self._is_free(t)]
        return sorted(ready, key=lambda t: (-t.priority, t.order))

    def _is_free(self, ticket: TicketSnapshot) -> bool:
        known, busy = ticket.id in self._engine.specs, ticket.id in self._runners or ticket.id in self._engine.custody
        return known and not busy and self.blocker(ticket) is None

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
            self._engine.governor.ended(ticket)
            self._wake.set()
        self._errands += 1
        await self._errand(self._afterwards, ticket)

    async def _afterwards(self, ticket: str) -> None:
        await self._place(ticket)  # the operator may have answered while it was going to rest
        await outlook.announce(self._engine, self.slots)
        await pruning.prune(self._engine, ticket)

    async def _explain_the_blocked(self) -> None:
        """Tickets that wait for one that will not be done say so."""
        for ident in [t.id for t in self.board.rows() if t.state is State.QUEUED]:
            ticket = self.board[ident]
            dead, other = self.board.waiting.blocker(ticket), self.blocker(ticket)
            if other is None:
                continue
            detail = f"after {other}" if dead is None else f"blocked by {dead.id}"
            if ticket.detail != detail:
                await self._move(ident, State.QUEUED, State.QUEUED, detail)

    async def _move(self, ticket: str, old: State, to: State, detail: str = "", *, by_operator: bool = False) -> bool:
        event = ev.StateChanged(ticket, self._engine.clock(), to, detail=detail, by_operator=by_operator)
        return await self._engine.journal.emit(event, expect=old)

    def _on_effect(self, record: EffectRecord) -> None:
        """An effect has ended or was settled: tickets that rest because of it go on, or wait because of it."""
        if self._group is not None:
            for ticket in sorted(self._engine.desk.askers(record)):
                self._begin(self._group, self._place, ticket)

    def _on_answer(self, ticket: str) -> None:
        """What a resting ticket asks was answered: it goes on once nothing else of it waits."""
        if self._group is not None:
            self._begin(self._group, self._place, ticket)

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
