"""One ticket, from queued to a state in which it rests.

A runner never lets a fault of its ticket out: only cancellation, a broken store or a bug of ours may escape, otherwise
one ticket would take its siblings with it. It holds no slot while it rests: parked tickets come back through the pool.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar

import anyio

from supervisor.core import events as ev
from supervisor.core import prompts
from supervisor.core.errors import StoreError, SupervisorError
from supervisor.core.model import Outcome, PromptKind, State, TicketSnapshot, Why, is_legal
from supervisor.core.resume import is_passing
from supervisor.core.rewinds import last_files
from supervisor.engine import commands, settling
from supervisor.engine.attempt import Attempt, AttemptResult, Check, Plan, Wanted
from supervisor.engine.governor import REFUSED, cause
from supervisor.engine.planning import Planner
from supervisor.engine.treasury import allowance, raise_limits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from supervisor.core.spec import TicketSpec
    from supervisor.engine.context import Engine
    from supervisor.engine.treasury import Allowance

T = TypeVar("T")
log = logging.getLogger("supervisor.runner")
_MADE_AGAIN = {
    True: "the worktree was gone: made again, with the files as they were last kept; what git ignores is lost",
    False: "the worktree was gone: made again from its branch; what was not committed is lost",
}
"""What is noted, by whether the files were kept."""
NO_MONEY = "the batch's budget is used up"
"""What a queued ticket says that cannot go on for want of money."""
_MOST_STALLS = 2
"""An agent that has fallen silent is resumed; when that has happened so often, the operator has to see to it."""
RESTS = {
    Wanted.REST: (State.QUEUED, "goes on at the next start"),
    Wanted.PAUSE: (State.PAUSED, "interrupted by you"),
    Wanted.CANCEL: (State.CANCELLED, "cancelled by you"),
}
"""Where a wish puts a ticket, and what it then says."""


def _is_more(limit: int | None, before: int | None) -> bool:
    return before is not None and (limit is None or limit > before)


def _has_messages(ticket: TicketSnapshot) -> bool:
    return ticket.messages > 0


class _Stopped(Exception):  # noqa: N818
    """The operator or the supervisor wants this ticket to rest; raised between steps."""


class Runner:
    """Runs one ticket."""

    def __init__(self, ticket: TicketSpec, engine: Engine, may: Allowance) -> None:
        self._ticket = ticket
        self._engine = engine
        self._may = may
        self._spent_at_limit = -1.0
        self._planner = Planner(ticket, engine)
        self._wanted: Wanted | None = None
        self._letters: list[str] = []
        """The operator's letters that a stop carries out."""
        self._hurried: set[str] = set()
        """Letters whose messages do not wait for a turn's end, until they are given to the agent."""
        self._step: anyio.CancelScope | None = None
        self._attempt: Attempt | None = None
        self._stalls = 0
        """How often an agent of this run has fallen silent."""

    @property
    def _snapshot(self) -> TicketSnapshot:
        return self._engine.board[self._ticket.id]

    def stop(self, wanted: Wanted, letter: str | None = None) -> None:
        """Ask the ticket to rest as soon as it safely can. Never blocks; quitting does not undo the operator's wish.

        Args:
            wanted: how it shall rest.
            letter: the operator's letter that asks for it; it is closed by the move.
        """
        if letter is not None:
            self._letters.append(letter)
        if self._wanted is not None and wanted.value < self._wanted.value:
            wanted = self._wanted
        self._wanted = wanted
        if self._attempt is not None:
            self._attempt.stop(wanted)
        elif self._step is not None:
            self._step.cancel()

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
            letters, self._letters = tuple(self._letters), []
            to, detail = RESTS[wish]
            now = self._snapshot.state
            at_work = now in (State.STARTING, State.RUNNING)
            if now not in (State.DONE, to) and is_legal(now, to) and (at_work or wish is not Wanted.REST):
                await self._move(to, detail=detail, letters=letters)
            elif letters:
                says = f"{self._ticket.id} is {now.value.replace('_', ' ')} already"
                event = ev.LettersClosed(self._ticket.id, self._engine.clock(), letters, says, now is not to)
                await self._engine.journal.emit(event)

    async def _run(self) -> None:
        await self._move(State.STARTING, detail="preparing the worktree")
        if await self._wait_for_effect() or await self._wait_for_ledger():
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
            if plan is not None:
                await self._stoppable(lambda: self._engine.governor.admit(self._ticket.id, self._ticket.model))

    async def _wait_for_ledger(self) -> bool:
        """Let a ticket that may ask for effects wait for the operator while none may run; return whether it has to."""
        held = self._engine.desk.ledger.held if self._ticket.effects else ""
        if held:
            await self._move(State.NEEDS_YOU, why=Why.UNRESOLVED_EFFECT, detail=held)
        return bool(held)

    async def _first_plan(self) -> Plan | None:
        """Return how to begin; None when the work was finished before and only had to be checked and recorded."""
        if not await self._planner.is_finished():
            return await self._planner.plan()
        failed = await self._planner.failed_checks()
        done = await self._stoppable(lambda: self._verify(failed + 1))
        passed, last_round = done is None or done.exit_code == 0, failed + 1 > self._ticket.verify_rounds
        if passed or last_round:
            check = Check.FAILED if not passed else Check.NONE if done is None else Check.PASSED
            return None if await self._done(check) else await self._planner.plan()
        assert done is not None
        words = prompts.verify_failed(" ".join(self._ticket.verify or ()), done.exit_code, done.output)
        return self._planner.say(PromptKind.VERIFY, words)

    async def _once(self, plan: Plan, worktree: Path) -> AttemptResult:
        failed = await self._planner.failed_checks()
        self._check()
        self._attempt = Attempt(self._ticket, self._engine, plan, worktree, self._verify, self._hurried, failed)
        try:
            return await self._attempt.run(self._may)
        finally:
            self._attempt = None

    def _afford(self) -> bool:
        """Take out a new promise for another attempt of the same run; return whether there was money for it."""
        may = allowance(self._engine, self._ticket, self._snapshot, self._engine.sharers())
        if not may.nothing:
            self._may = may
            self._engine.purse.promise(self._ticket.id, may.promise_usd)
        return not may.nothing

    async def _prepare(self) -> Path:
        """Make or find the worktree; its setup runs until it has succeeded once."""
        known, ident = self._snapshot, self._ticket.id
        if known.worktree is not None and not await anyio.Path(known.worktree).exists():
            await self._engine.journal.emit(ev.WorktreeLost(ident, self._engine.clock()))
        base, copy = self._ticket.base or self._engine.spec.base, self._ticket.copy
        ensure, laid = self._engine.worktrees.ensure, list[str]()
        files, onto = await self._files()

        async def lay(worktree: Path) -> None:
            await self._engine.snapshots.seed(worktree, files)
            laid.append(files)

        seed = lay if files else None
        tree = await self._stoppable(lambda: ensure(ident, base, known.base_commit, copy, seed, onto))
        if tree.created and known.worktree is not None:
            await self._engine.journal.emit(ev.Noted(ident, self._engine.clock(), _MADE_AGAIN[bool(laid)]))
        if tree.created or self._snapshot.worktree is None:
            await self._setup(tree.path)
            at = (ident, self._engine.clock())
            await self._engine.journal.emit(ev.WorktreeReady(*at, str(tree.path), tree.branch, tree.base_commit))
        return tree.path

    async def _files(self) -> tuple[str, str | None]:
        """Return the commit with the files that a new worktree gets, and where its branch must be for that.

        Those that the ticket's own work has left, if its worktree has gone; else those that a fork begins with.
        """
        if await anyio.Path(self._engine.worktrees.path(self._ticket.id)).exists():
            return "", None
        fork = self._engine.forks.get(self._ticket.id)
        files = last_files(await self._engine.journal.store.events(self._ticket.id))
        if files and await self._engine.snapshots.exists(files):
            return files, f"{files}^"
        return (fork.files, None) if fork is not None else ("", None)

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
                if not await self._done(result.check):
                    return await self._planner.plan()
            case Outcome.LIMIT:
                return await self._planner.plan() if await self._limit() else None
            case Outcome.API_ERROR:
                await self._api_error(result)
            case Outcome.INTERRUPTED if result.stalled and self._wanted is None:
                self._stalls += 1
                if self._stalls < _MOST_STALLS:
                    return await self._planner.plan()
                await self._move(State.NEEDS_YOU, why=Why.STALLED, detail=result.detail)
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

    async def _limit(self) -> bool:
        """Decide about a ticket at a limit; return whether it goes on by itself.

        It does when the limit was raised while it ran, when it had only used up its share of the batch's money, and
        when it may raise the limit by itself.
        """
        now, turns = self._snapshot, self._snapshot.subtype == "error_max_turns"
        may = allowance(self._engine, self._ticket, now, self._engine.sharers())
        altogether = may.own_limit if may.own_limit and not may.is_money else ""
        detail = altogether or ("max turns reached" if turns else "budget reached")
        if may.own_limit:
            goes_on = may.is_money and await raise_limits(self._engine, self._ticket)
        elif turns:
            more = _is_more(may.max_turns, self._may.max_turns)
            goes_on = more or await raise_limits(self._engine, self._ticket, turns=True)
        else:  # one that stopped without a cap of ours, or without having spent anything, would do so again
            goes_on = self._may.cap_usd is not None and now.spent_usd > self._spent_at_limit
        self._spent_at_limit = now.spent_usd
        if not goes_on:
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
            await self._move(State.FAILED, detail=f"{cause(status)}: {result.detail}")

    async def _move(
        self,
        to: State,
        *,
        why: Why | None = None,
        detail: str = "",
        until: float | None = None,
        letters: tuple[str, ...] = (),
        unless: Callable[[TicketSnapshot], bool] | None = None,
    ) -> bool:
        event = ev.StateChanged(self._ticket.id, self._engine.clock(), to, why, detail, until, letters=letters)
        return await self._engine.journal.emit(event, unless=unless)
