"""One ticket, from queued to a state in which it rests.

A runner never lets a fault of its ticket out: only cancellation, a broken store or a bug of ours may escape, otherwise
one ticket would take its siblings with it. It holds no slot while it rests: parked tickets come back through the pool.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.errors import StoreError, SupervisorError
from supervisor.core.model import State, TicketSnapshot, Why, is_legal
from supervisor.core.verbs import standing
from supervisor.engine import settling
from supervisor.engine.attempt import Attempt, AttemptResult
from supervisor.engine.moves import move
from supervisor.engine.next_attempt import NextAttempt
from supervisor.engine.planning import Planner
from supervisor.engine.wishes import RESTS, Stopped, Wanted, Wishes
from supervisor.engine.workplace import Workplace

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.core.spec import TicketSpec
    from supervisor.engine.context import Engine
    from supervisor.engine.plan import Plan
    from supervisor.engine.treasury import Allowance

log = logging.getLogger("supervisor.runner")
NO_MONEY = "the batch's budget is used up"
"""What a queued ticket says that cannot go on for want of money."""


class Runner:
    """Runs one ticket."""

    def __init__(self, ticket: TicketSpec, engine: Engine, may: Allowance) -> None:
        self._ticket = ticket
        self._engine = engine
        self._may = may
        """What the next attempt may spend; the money is promised."""
        self._wishes = Wishes()
        self._planner = Planner(ticket, engine)
        self._place = Workplace(ticket, engine, self._wishes)
        self._next = NextAttempt(ticket, engine, self._planner, self._place, self._wishes)
        self._move = partial(move, engine, ticket.id)
        self._hurried: set[str] = set()
        """Letters whose messages do not wait for a turn's end, until they are given to the agent."""
        self._attempt: Attempt | None = None

    @property
    def _snapshot(self) -> TicketSnapshot:
        return self._engine.board[self._ticket.id]

    def stop(self, wanted: Wanted, letter: str | None = None) -> None:
        """Ask the ticket to rest as soon as it safely can. Never blocks; quitting does not undo the operator's wish.

        Args:
            wanted: how it shall rest.
            letter: the operator's letter that asks for it; it is closed by the move.
        """
        self._wishes.add(wanted, letter)
        if self._attempt is not None:
            self._attempt.stop()
        else:
            self._wishes.cut_short()

    def hurry(self, letter: str) -> None:
        """Say that the operator has written what shall not wait for the turn's end, also where none has begun."""
        self._hurried.add(letter)
        if self._attempt is not None:
            self._attempt.hurry()

    async def kill(self) -> None:
        """Stop waiting for the agent's own ending."""
        if self._attempt is not None:
            await self._attempt.kill()

    async def run(self) -> None:
        """Run the ticket until it rests or is parked. Raises StoreError."""
        try:
            await self._run()
        except Stopped:
            pass
        except StoreError:
            raise
        except SupervisorError as error:
            await self._fail(str(error))
        except Exception as error:
            log.exception("ticket %s", self._ticket.id)
            await self._fail(f"internal error: {type(error).__name__}: {error}")
        await self._honour()

    async def _fail(self, detail: str) -> None:
        if is_legal(self._snapshot.state, State.FAILED):
            await self._move(State.FAILED, detail=detail)

    async def _honour(self) -> None:
        """Rest as wished, also when the wish came while the ending was being written.

        Leaves without an await once there is no wish, so that none can be missed.
        """
        while (wished := self._wishes.take()) is not None:
            wish, letters = wished
            to, detail = RESTS[wish]
            now = self._snapshot.state
            at_work = now in (State.STARTING, State.RUNNING)
            if now not in (State.DONE, to) and is_legal(now, to) and (at_work or wish is not Wanted.REST):
                await self._move(to, detail=detail, letters=letters)
            elif letters:
                says = f"{self._ticket.id} is {standing(now)} already"
                event = ev.LettersClosed(self._ticket.id, self._engine.clock(), letters, says, now is not to)
                await self._engine.journal.emit(event)

    async def _run(self) -> None:
        await self._move(State.STARTING, detail="preparing")
        if await self._wait_for_effect() or await self._wait_for_ledger():
            return
        worktree = await self._place.prepare()
        plan = await self._next.first()
        while plan is not None:
            self._wishes.check()
            result = await self._once(plan, worktree)
            plan = None if await self._wait_for_effect() else await self._next.after(result, self._may)
            if plan is not None:
                may = self._next.afford()
                if may is None:
                    await self._move(State.QUEUED, detail=NO_MONEY)
                    return
                self._may = may
                await self._wishes.stoppable(lambda: self._engine.governor.admit(self._ticket.id, self._ticket.model))

    async def _once(self, plan: Plan, worktree: Path) -> AttemptResult:
        failed = await self._planner.failed_checks()
        self._wishes.check()
        self._attempt = Attempt(self._ticket, self._engine, plan, worktree, self._place.verify, self._hurried, failed)
        try:
            return await self._attempt.run(self._may)
        finally:
            self._attempt = None

    async def _wait_for_ledger(self) -> bool:
        """Let a ticket that may ask for effects wait for the operator while none may run; return whether it has to."""
        held = self._engine.desk.ledger.held if self._ticket.effects else ""
        if held:
            await self._move(State.NEEDS_YOU, why=Why.UNRESOLVED_EFFECT, detail=held)
        return bool(held)

    async def _wait_for_effect(self) -> bool:
        """Let the ticket wait for the operator if one of its effects does; return whether it has to.

        An effect under way is waited for: nothing about the ticket is certain before it has ended.
        """
        desk, ident = self._engine.desk, self._ticket.id
        while not self._wishes.pending and (under_way := desk.under_way(ident)):
            if not any(desk.is_executing(record.key) for record in under_way):
                break  # somebody else's, whose death cannot be proved
            await self._wishes.stoppable(self._engine.effects.wait_change)
        waiting = desk.waiting_for(ident) or desk.under_way(ident)
        if waiting:
            await settling.hold(self._engine.journal, self._snapshot, waiting[0], self._engine.clock)
        return bool(waiting)
