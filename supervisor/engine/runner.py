"""One ticket, from queued to a state in which it rests.

A runner never lets a fault of its ticket out: only cancellation, a broken store or a bug of ours may escape, otherwise
one ticket would take its siblings with it. It holds no slot while it rests: parked tickets come back through the pool.
"""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING, TypeVar

import anyio

from supervisor.core import events as ev
from supervisor.core import prompts
from supervisor.core.errors import StoreError, SupervisorError
from supervisor.core.model import Outcome, PromptKind, State, TicketSnapshot, Why, is_legal
from supervisor.core.resume import is_passing
from supervisor.engine import commands, settling
from supervisor.engine.attempt import Attempt, AttemptResult, Check, Plan, Wanted
from supervisor.engine.planning import Planner
from supervisor.engine.treasury import allowance

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from supervisor.core.spec import TicketSpec
    from supervisor.engine.context import Engine

T = TypeVar("T")
log = logging.getLogger("supervisor.runner")
NO_MONEY = "the batch's budget is used up"
"""What a queued ticket says that cannot go on for want of money."""
_MAX_BACKOFF_S = 300.0
RESTS = {
    Wanted.REST: (State.QUEUED, "goes on at the next start"),
    Wanted.PAUSE: (State.PAUSED, "interrupted by you"),
    Wanted.CANCEL: (State.CANCELLED, "cancelled by you"),
}
"""Where a wish puts a ticket, and what it then says."""


def backoff(rounds: int, first_s: float, chance: float) -> float:
    """Return how long to wait after ``rounds`` API failures in a row: doubled each time, at most five minutes.

    ``chance`` (0 to 1) spreads tickets that failed together over the second half of the wait.
    """
    longest = min(_MAX_BACKOFF_S, first_s * 2.0 ** min(16, max(0, rounds - 1)))
    return longest * (0.5 + chance / 2)


class _Stopped(Exception):  # noqa: N818
    """The operator or the supervisor wants this ticket to rest; raised between steps."""


class Runner:
    """Runs one ticket."""

    def __init__(self, ticket: TicketSpec, engine: Engine, cap_usd: float | None) -> None:
        self._ticket = ticket
        self._engine = engine
        self._cap = cap_usd
        self._planner = Planner(ticket, engine)
        self._wanted: Wanted | None = None
        self._step: anyio.CancelScope | None = None
        self._attempt: Attempt | None = None

    @property
    def _snapshot(self) -> TicketSnapshot:
        return self._engine.board[self._ticket.id]

    def stop(self, wanted: Wanted) -> None:
        """Ask the ticket to rest as soon as it safely can. Never blocks; quitting does not undo the operator's wish."""
        if self._wanted is not None and wanted.value < self._wanted.value:
            wanted = self._wanted
        self._wanted = wanted
        if self._attempt is not None:
            self._attempt.stop(wanted)
        elif self._step is not None:
            self._step.cancel()

    async def kill(self) -> None:
        """Stop waiting for the agent's own ending."""
        if self._attempt is not None:
            await self._attempt.kill()

    async def run(self) -> None:
        """Run the ticket until it rests or is parked. Raises StoreError."""
        try:
            await self._run()
        except _Stopped:
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
        while self._wanted is not None:
            wish, self._wanted = self._wanted, None
            to, detail = RESTS[wish]
            now = self._snapshot.state
            if now is not State.DONE and now is not to and is_legal(now, to):
                if wish is Wanted.REST and now not in (State.STARTING, State.RUNNING):
                    continue
                await self._move(to, detail=detail)

    async def _run(self) -> None:
        await self._move(State.STARTING, detail="preparing the worktree")
        if await self._wait_for_effect():
            return
        worktree = await self._prepare()
        plan = await self._first_plan()
        while plan is not None:
            self._check()
            result = await self._once(plan, worktree)
            plan = await self._after(result, plan)
            if plan is not None and not self._afford():
                await self._move(State.QUEUED, detail=NO_MONEY)
                return

    async def _first_plan(self) -> Plan | None:
        """Return how to begin; None when the work was finished before and only had to be checked and recorded."""
        if not await self._planner.is_finished():
            return await self._planner.plan()
        failed = await self._planner.failed_checks()
        done = await self._stoppable(lambda: self._verify(failed + 1))
        if done is None or done.exit_code == 0:
            await self._done(Check.NONE if done is None else Check.PASSED)
            return None
        if failed + 1 > self._ticket.verify_rounds:
            await self._done(Check.FAILED)
            return None
        words = prompts.verify_failed(" ".join(self._ticket.verify or ()), done.exit_code, done.output)
        return self._planner.say(PromptKind.VERIFY, words)

    async def _once(self, plan: Plan, worktree: Path) -> AttemptResult:
        failed = await self._planner.failed_checks()
        self._check()
        self._attempt = Attempt(self._ticket, self._engine, plan, worktree, self._verify, failed)
        try:
            return await self._attempt.run(self._cap)
        finally:
            self._attempt = None

    def _afford(self) -> bool:
        """Take out a new promise for another attempt of the same run; return whether there was money for it."""
        may = allowance(self._engine, self._ticket, self._snapshot, sharers=1)
        if not may.nothing:
            self._cap = may.cap_usd
            self._engine.purse.promise(self._ticket.id, may.cap_usd)
        return not may.nothing

    async def _prepare(self) -> Path:
        """Make or find the worktree; its setup runs until it has succeeded once."""
        known = self._snapshot
        base = self._ticket.base or self._engine.spec.base
        ensure = self._engine.worktrees.ensure
        tree = await self._stoppable(lambda: ensure(self._ticket.id, base, known.base_commit, self._ticket.copy))
        if tree.created and known.worktree is not None:
            await self._engine.journal.emit(ev.WorktreeLost(self._ticket.id, self._engine.clock()))
        if tree.created or known.worktree is None:
            await self._setup(tree.path)
            at = (self._ticket.id, self._engine.clock())
            await self._engine.journal.emit(ev.WorktreeReady(*at, str(tree.path), tree.branch, tree.base_commit))
        return tree.path

    async def _setup(self, worktree: Path) -> None:
        if not self._ticket.setup or not self._engine.launch.run_commands:
            return
        await self._move(State.STARTING, detail="setup")
        argv, log_file, limit = self._ticket.setup, self._log("setup"), self._ticket.setup_timeout_s
        done = await self._stoppable(lambda: commands.run(argv, worktree, log_file, limit, self._command_env()))
        if done.exit_code != 0:
            how = "ran out of time" if done.exit_code is None else f"exit {done.exit_code}"
            last = done.output.strip().rsplit("\n", 1)[-1]
            raise SupervisorError(f"setup: {how}: {last} (all of it in {self._log('setup')})")

    async def _verify(self, round_: int) -> commands.Finished | None:
        """Run the ticket's check; None where it has none."""
        if not self._ticket.verify or not self._engine.launch.run_commands:
            return None
        await self._move(self._snapshot.state, detail="verifying")
        worktree = self._engine.worktrees.path(self._ticket.id)
        done = await commands.run(
            self._ticket.verify, worktree, self._log("verify"), self._ticket.verify_timeout_s, self._command_env()
        )
        now = self._engine.clock()
        await self._engine.journal.emit(ev.Verified(self._ticket.id, now, round_, done.exit_code, done.output))
        return done

    def _log(self, name: str) -> Path:
        return self._engine.state_dir / "logs" / self._engine.worktrees.path(self._ticket.id).name / f"{name}.log"

    def _command_env(self) -> dict[str, str]:
        return {"SUPERVISOR_TICKET": self._ticket.id}

    async def _stoppable(self, step: Callable[[], Awaitable[T]]) -> T:
        """Run a step that a wish may cut short."""
        self._check()
        result: list[T] = []
        try:
            with anyio.CancelScope() as self._step:
                result.append(await step())
        finally:
            self._step = None
        self._check()
        return result[0]

    def _check(self) -> None:
        if self._wanted is not None:
            raise _Stopped

    async def _after(self, result: AttemptResult, plan: Plan) -> Plan | None:
        """Move the ticket to where the ending puts it; return the plan of the next attempt if there is one."""
        if await self._wait_for_effect():
            return None
        if result.stuck and self._wanted is None:  # settled while the agent was being stopped
            return await self._planner.plan()
        match result.outcome:
            case Outcome.FAILED_RESUME if await self._planner.may_fall_back():
                return await self._planner.fallback()
            case Outcome.CRASHED if await self._planner.crashes() < self._ticket.max_attempts:
                return await self._planner.plan()
            case Outcome.DONE if result.check is not Check.PENDING:
                await self._done(result.check)
            case Outcome.LIMIT:
                await self._limit()
            case Outcome.API_ERROR:
                await self._api_error(result)
            case Outcome.INTERRUPTED if self._wanted is None:
                await self._move(State.PAUSED, detail="the turn was aborted")
            case Outcome.DONE | Outcome.INTERRUPTED:
                pass  # the wish puts it where it rests
            case _:
                await self._move(State.FAILED, detail=result.detail or "the run failed")
        return None

    async def _wait_for_effect(self) -> bool:
        """Let the ticket wait for the operator if one of its effects does; return whether it has to.

        An effect under way is waited for: nothing about the ticket is certain before it has ended.
        """
        desk, ident = self._engine.desk, self._ticket.id
        while self._wanted is None and (under_way := desk.under_way(ident)):
            if not any(desk.is_executing(record.key) for record in under_way):
                break  # somebody else's, whose death cannot be proved
            await self._stoppable(self._engine.effects.wait_change)
        waiting = desk.waiting_for(ident) or desk.under_way(ident)
        if waiting:
            await settling.hold(self._engine.journal, self._snapshot, waiting[0], self._engine.clock)
        return bool(waiting)

    async def _done(self, check: Check) -> None:
        if check is Check.FAILED:
            await self._move(State.NEEDS_YOU, why=Why.VERIFY, detail="the check still fails")
            return
        denials = self._snapshot.denials
        words = ["verified"] if check is Check.PASSED else []
        words += [f"{denials} tool calls refused"] if denials else []
        await self._move(State.DONE, detail=", ".join(words))

    async def _limit(self) -> None:
        money = self._snapshot.subtype == "error_max_budget_usd"
        await self._move(State.NEEDS_YOU, why=Why.LIMIT, detail="budget reached" if money else "max turns reached")

    async def _api_error(self, result: AttemptResult) -> None:
        status = result.api_error_status
        cause = f"API {status}" if status else "API unreachable"
        if status in (401, 403):
            await self._move(State.NEEDS_YOU, why=Why.AUTH, detail=f"{cause}: the key or login was refused")
        elif is_passing(status):
            wait = backoff(await self._planner.api_failures(), self._engine.backoff_s, random.random())
            await self._move(State.PARKED, detail=cause, until=self._engine.clock() + wait)
        else:
            await self._move(State.FAILED, detail=f"{cause}: {result.detail}")

    async def _move(self, to: State, *, why: Why | None = None, detail: str = "", until: float | None = None) -> None:
        now = self._engine.clock()
        await self._engine.journal.emit(ev.StateChanged(self._ticket.id, now, to, why, detail, until))
