"""Whether a ticket gets another attempt, and where it rests if not: at its start, and by how each attempt has ended.

How an attempt begins is the planner's; here is decided that it does, and with what money.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from supervisor.core import prompts
from supervisor.core.model import Outcome, PromptKind, State, TicketSnapshot, Why
from supervisor.core.resume import is_passing
from supervisor.engine.dialogue import Check
from supervisor.engine.governor import REFUSED, cause, fault
from supervisor.engine.moves import move
from supervisor.engine.treasury import allowance, raise_limits, waits_for_others

if TYPE_CHECKING:
    from supervisor.core.spec import TicketSpec
    from supervisor.engine.attempt import AttemptResult
    from supervisor.engine.context import Engine
    from supervisor.engine.plan import Plan
    from supervisor.engine.planning import Planner
    from supervisor.engine.treasury import Allowance
    from supervisor.engine.wishes import Wishes
    from supervisor.engine.workplace import Workplace

_MOST_STALLS = 2
"""An agent that has fallen silent is resumed; when that has happened so often, the operator has to see to it."""


def _is_more(limit: int | None, before: int | None) -> bool:
    return before is not None and (limit is None or limit > before)


def _has_messages(ticket: TicketSnapshot) -> bool:
    return ticket.messages > 0


class NextAttempt:
    """Decides about the attempts of one run of a ticket."""

    def __init__(self, ticket: TicketSpec, engine: Engine, planner: Planner, place: Workplace, wishes: Wishes) -> None:
        self._ticket = ticket
        self._engine = engine
        self._planner = planner
        self._place = place
        self._wishes = wishes
        self._move = partial(move, engine, ticket.id)
        self._spent_at_limit = -1.0
        self._stalls = 0
        """How often an agent of this run has fallen silent."""

    @property
    def _snapshot(self) -> TicketSnapshot:
        return self._engine.board[self._ticket.id]

    async def first(self) -> Plan | None:
        """Return how to begin; None when the work was finished before and only had to be checked and recorded."""
        if not await self._planner.is_finished():
            return await self._planner.plan()
        failed = await self._planner.failed_checks()
        done = await self._wishes.stoppable(lambda: self._place.verify(failed + 1))
        passed, last_round = done is None or done.exit_code == 0, failed + 1 > self._ticket.verify_rounds
        if passed or last_round:
            check = Check.FAILED if not passed else Check.NONE if done is None else Check.PASSED
            return None if await self._done(check) else await self._planner.plan()
        assert done is not None
        words = prompts.verify_failed(self._ticket, done.exit_code, done.output)
        return self._planner.say(PromptKind.VERIFY, words)

    async def after(self, result: AttemptResult, may: Allowance) -> Plan | None:
        """Move the ticket to where the ending puts it; return the plan of the next attempt if there is one.

        Args:
            result: what came of the attempt.
            may: what it was allowed to spend.
        """
        if result.lost and not self._wishes.pending:
            await self._move(State.NEEDS_YOU, why=Why.LEDGER, detail=result.lost)
            return None
        if result.stuck and not self._wishes.pending:  # settled while the agent was being stopped
            return await self._planner.plan()
        match result.outcome:
            case Outcome.FAILED_RESUME if await self._planner.may_fall_back():
                return await self._planner.fallback()
            case Outcome.CRASHED if await self._planner.crashes() < self._ticket.max_attempts:
                return await self._planner.plan()
            case Outcome.DONE if result.check is not Check.PENDING:
                if not await self._done(result.check):
                    return await self._planner.plan()
            case Outcome.LIMIT:
                return await self._planner.plan() if await self._limit(may) else None
            case Outcome.API_ERROR:
                await self._api_error(result)
            case Outcome.INTERRUPTED if result.stalled and not self._wishes.pending:
                self._stalls += 1
                if self._stalls < _MOST_STALLS:
                    return await self._planner.plan()
                await self._move(State.NEEDS_YOU, why=Why.STALLED, detail=result.detail)
            case Outcome.INTERRUPTED if not self._wishes.pending:
                await self._move(State.PAUSED, detail="the turn was aborted")
            case Outcome.DONE | Outcome.INTERRUPTED:
                pass  # the wish puts it where it rests
            case _:
                await self._move(State.FAILED, detail=result.detail or "the run failed")
        return None

    def afford(self) -> Allowance | None:
        """Take out a new promise for another attempt of the same run; None when there is no money for it."""
        may = allowance(self._engine, self._ticket, self._snapshot, self._engine.sharers())
        if may.nothing:
            return None
        self._engine.purse.promise(self._ticket.id, may.promise_usd)
        return may

    async def _done(self, check: Check) -> bool:
        """Let the ticket rest with its work finished, unless the operator has written to it just now."""
        if check is Check.FAILED:
            return await self._move(
                State.NEEDS_YOU, why=Why.VERIFY, detail="the check still fails", unless=_has_messages
            )
        denials = self._snapshot.denials
        words = ["verified"] if check is Check.PASSED else []
        words += [f"{denials} tool calls refused"] if denials else []
        return await self._move(State.DONE, detail=", ".join(words), unless=_has_messages)

    async def _limit(self, before: Allowance) -> bool:
        """Decide about a ticket at a limit; return whether it goes on by itself.

        It does when the limit was raised while it ran, when it had only used up its share of the batch's money, and
        when it may raise the limit by itself. Where others hold the batch's money for that just now, it is queued.
        """
        now, turns = self._snapshot, self._snapshot.subtype == "error_max_turns"
        may = allowance(self._engine, self._ticket, now, self._engine.sharers())
        altogether = may.own_limit if may.own_limit and not may.is_money else ""
        detail = altogether or ("max turns reached" if turns else "budget reached")
        if may.own_limit:
            goes_on = may.is_money and await raise_limits(self._engine, self._ticket)
        elif turns:
            more = _is_more(may.max_turns, before.max_turns)
            goes_on = more or await raise_limits(self._engine, self._ticket, turns=True)
        else:  # one that stopped without a cap of ours, or without having spent anything, would do so again
            goes_on = before.cap_usd is not None and now.spent_usd > self._spent_at_limit
        self._spent_at_limit = now.spent_usd
        if not goes_on and may.is_money and waits_for_others(self._engine, self._ticket):
            await self._move(State.QUEUED, detail="waits for money of the batch that other tickets hold")
        elif not goes_on:
            await self._move(State.NEEDS_YOU, why=Why.LIMIT, detail=detail)
        return goes_on

    async def _api_error(self, result: AttemptResult) -> None:
        status, governor, ident = result.api_error_status, self._engine.governor, self._ticket.id
        if status in REFUSED:
            if governor.refused(ident, status):
                detail = f"{cause(status)}: the key or login was refused"
                await self._move(State.NEEDS_YOU, why=Why.AUTH, detail=detail)
            else:
                await self._move(State.PARKED, detail=f"{cause(status)}: waits for a key that is accepted")
        elif is_passing(status):
            until = governor.rest_until(ident, status, await self._planner.api_failures())
            await self._move(State.PARKED, detail=cause(status), until=until)
        else:
            await self._move(State.FAILED, detail=fault(status, result.detail))
