"""One ticket, from queued to a state in which it rests.

A runner never lets a fault of its ticket out: only cancellation or a bug of ours may escape, otherwise one ticket would
take its siblings with it. It holds no slot while it rests: parked tickets come back through the pool.
"""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING, TypeVar

import anyio

from supervisor.core import events as ev
from supervisor.core.errors import SupervisorError
from supervisor.core.model import Mode, Outcome, State, TicketSnapshot, Why
from supervisor.core.resume import is_passing
from supervisor.engine import commands
from supervisor.engine.attempt import Attempt, AttemptResult, Plan, Wanted
from supervisor.engine.planning import Planner

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from supervisor.core.spec import TicketSpec
    from supervisor.engine.context import Engine

T = TypeVar("T")
log = logging.getLogger("supervisor.runner")
NO_MONEY = "the batch's budget is used up"
"""What a queued ticket says that cannot start for want of money."""
_MAX_BACKOFF_S = 300.0


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

    def __init__(self, ticket: TicketSpec, engine: Engine) -> None:
        self._ticket = ticket
        self._engine = engine
        self._planner = Planner(ticket, engine)
        self._wanted: Wanted | None = None
        self._step: anyio.CancelScope | None = None
        self._attempt: Attempt | None = None

    @property
    def _snapshot(self) -> TicketSnapshot:
        return self._engine.board[self._ticket.id]

    def stop(self, wanted: Wanted) -> None:
        """Ask the ticket to rest as soon as it safely can. Never blocks; a later wish replaces an earlier one."""
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
        """Run the ticket until it rests or is parked."""
        try:
            await self._run()
        except _Stopped:
            await self._rest()
        except SupervisorError as error:
            await self._move(State.FAILED, detail=str(error))
        except Exception as error:
            log.exception("ticket %s", self._ticket.id)
            await self._move(State.FAILED, detail=f"internal error: {type(error).__name__}: {error}")
        finally:
            self._engine.purse.release(self._ticket.id)

    async def _run(self) -> None:
        await self._move(State.STARTING, detail="preparing the worktree")
        worktree = await self._prepare()
        plan: Plan | None = await self._planner.plan()
        while plan is not None:
            self._check()
            cap = self._planner.cap()
            if cap is not None and cap <= 0:
                await self._no_money()
                return
            self._engine.purse.promise(self._ticket.id, cap)
            result = await self._once(plan, worktree, cap)
            self._engine.purse.release(self._ticket.id)
            plan = await self._after(result, plan)

    async def _once(self, plan: Plan, worktree: Path, cap_usd: float | None) -> AttemptResult:
        self._attempt = Attempt(self._ticket, self._engine, plan, worktree, self._verify)
        try:
            return await self._attempt.run(cap_usd)
        finally:
            self._attempt = None

    async def _prepare(self) -> Path:
        """Make or find the worktree; its setup runs until it has succeeded once."""
        before = self._snapshot
        base = self._ticket.base or self._engine.spec.base
        tree = await self._engine.worktrees.ensure(self._ticket.id, base, before.base_commit, self._ticket.copy)
        if tree.created or before.worktree is None:
            await self._setup(tree.path)
            await self._engine.journal.emit(
                ev.WorktreeReady(self._ticket.id, self._engine.clock(), str(tree.path), tree.branch, tree.base_commit)
            )
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
        await self._move(State.RUNNING, detail="verifying")
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
        """Run a step that the operator may cut short."""
        self._check()
        result: list[T] = []
        with anyio.CancelScope() as self._step:
            result.append(await step())
        self._step = None
        self._check()
        return result[0]

    def _check(self) -> None:
        if self._wanted is not None:
            raise _Stopped

    async def _no_money(self) -> None:
        headroom = self._snapshot.headroom_usd
        if headroom is not None and headroom <= self._planner.reserve():
            await self._move(State.NEEDS_YOU, why=Why.LIMIT, detail=f"${headroom:.2f} left, less than the reserve")
        else:
            await self._move(State.QUEUED, detail=NO_MONEY)

    async def _after(self, result: AttemptResult, plan: Plan) -> Plan | None:
        """Move the ticket to where the ending puts it; return the plan of the next attempt if there is one."""
        match result.outcome:
            case Outcome.FAILED_RESUME if plan.mode is not Mode.FALLBACK:
                return await self._planner.fallback()
            case Outcome.CRASHED if await self._planner.streak(Outcome.CRASHED) < self._ticket.max_attempts:
                return await self._planner.plan()
            case Outcome.DONE:
                await self._done(result)
            case Outcome.LIMIT:
                await self._limit()
            case Outcome.API_ERROR:
                await self._api_error(result)
            case Outcome.INTERRUPTED:
                await self._rest()
            case _:
                await self._move(State.FAILED, detail=result.detail or "the run failed")
        return None

    async def _done(self, result: AttemptResult) -> None:
        if result.check_failed:
            await self._move(State.NEEDS_YOU, why=Why.VERIFY, detail="the check still fails")
            return
        denials = self._snapshot.denials
        words = ["verified"] if self._ticket.verify and self._engine.launch.run_commands else []
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
            wait = backoff(await self._planner.streak(Outcome.API_ERROR), self._engine.backoff_s, random.random())
            await self._move(State.PARKED, detail=cause, until=self._engine.clock() + wait)
        else:
            await self._move(State.FAILED, detail=f"{cause}: {result.detail}")

    async def _rest(self) -> None:
        wanted = self._wanted or Wanted.PAUSE
        if wanted is Wanted.CANCEL:
            await self._move(State.CANCELLED, detail="cancelled by you")
        elif wanted is Wanted.REST:
            await self._move(State.QUEUED, detail="goes on at the next start")
        else:
            await self._move(State.PAUSED, detail="interrupted by you" if self._wanted else "the turn was aborted")

    async def _move(self, to: State, *, why: Why | None = None, detail: str = "", until: float | None = None) -> None:
        now = self._engine.clock()
        await self._engine.journal.emit(ev.StateChanged(self._ticket.id, now, to, why, detail, until))
