"""One attempt: one connected run of an agent, with one or more prompts and one recorded ending.

Its row is on disk before the session id is used, each prompt before it is sent, and the row is completed on every
ending, whatever went wrong. What is said meanwhile is the dialogue's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.errors import SupervisorError
from supervisor.core.model import Outcome, State
from supervisor.engine.account import Account
from supervisor.engine.agent import AgentSession, Failure, SessionFailed, SessionStart
from supervisor.engine.approvals import Approvals
from supervisor.engine.asking import AttemptAsker
from supervisor.engine.dialogue import Check, Dialogue, RunCheck
from supervisor.engine.effect_caller import EffectCaller
from supervisor.engine.ending import Course, meaning, more_telling
from supervisor.engine.groups import task_group
from supervisor.engine.process import ProcessId
from supervisor.engine.turns import Turns

if TYPE_CHECKING:
    from pathlib import Path

    from anyio.abc import TaskGroup

    from supervisor.core.spec import TicketSpec
    from supervisor.engine.ask_desk import Standing
    from supervisor.engine.context import Engine
    from supervisor.engine.plan import Plan
    from supervisor.engine.treasury import Allowance


NOT_GONE = "the agent, or a command of its, does not end even when killed: see that it has gone before you resume"
"""What a ticket says whose agent outlived its attempt."""


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """What came of an attempt."""

    outcome: Outcome
    detail: str = ""
    api_error_status: int | None = None
    check: Check = Check.NONE
    stuck: bool = False
    """It was stopped for an effect of which nobody knew whether it had happened."""
    lost: str = ""
    """It was stopped for an effect that was not run because the ledger could not be written: which, in words."""
    stalled: bool = False
    """It was stopped because it had fallen silent."""


class Attempt:
    """Runs one attempt. ``stop`` and ``kill`` may be called at any time from another task."""

    def __init__(
        self,
        ticket: TicketSpec,
        engine: Engine,
        plan: Plan,
        worktree: Path,
        check: RunCheck,
        hurried: set[str],
        failed_checks: int = 0,
    ) -> None:
        """Make an attempt; ``hurried`` holds the letters that a turn is interrupted for, and loses those delivered."""
        self._ticket = ticket
        self._engine = engine
        self._plan = plan
        self._worktree = worktree
        self._number = number = engine.board[ticket.id].attempts + 1
        self._asker = asker = AttemptAsker(engine, ticket.id)
        self._caller = EffectCaller(engine.effects, asker) if ticket.effects else None
        self._approvals = Approvals(engine, ticket.id, number)
        self._turns = Turns(ticket, engine, number, worktree, self._approvals, asker, self._caller, hurried)
        self._dialogue = Dialogue(ticket, engine, plan, self._turns, check, failed_checks)
        self._session: AgentSession | None = None
        self._waiting = anyio.CancelScope()
        """Around everything that is not the agent's turn: connecting, checking."""
        self._cut = False
        """Ended by an error or the end of our own, which tells nothing of the agent."""

    async def run(self, may: Allowance) -> AttemptResult:
        """Connect, converse, close, record. Raises StoreError, and SupervisorError when the agent cannot be ended."""
        account = Account(self._engine, self._ticket, may)
        standing = await self._engine.asks.standing(self._ticket.id)
        await self._open(may)
        session = self._session = self._engine.new_session(self._start(may, standing), self._engine.clock)
        failure: Failure | None = None
        gone = True
        try:
            async with task_group() as group:
                self._approvals.begin(group)
                self._turns.begin(group, session, account)
                try:
                    with self._waiting:
                        await self._connect(session, account, group)
                        await self._dialogue.hold()
                except SessionFailed as failed:
                    failure = failed.failure
                except BaseException:
                    self._cut = True
                    raise
                finally:
                    self._approvals.shut()
                    gone = await session.close()
                    self._engine.memory.ends(self._ticket.id)
                    group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                result = await self._record(session, account, failure)
        if not gone:  # another agent beside it would work in the same session and the same files
            raise SupervisorError(NOT_GONE)
        return result

    def stop(self) -> None:
        """End the attempt: a turn is interrupted and reports its result, anything else is left at once."""
        self._approvals.leave()
        if not self._turns.stop():
            self._waiting.cancel()

    def hurry(self) -> None:
        """Say that the operator has written what shall not wait: the turn is interrupted once it has begun."""
        self._turns.hurry()

    async def kill(self) -> None:
        """End the agent's process at once."""
        if self._session is not None:
            await self._session.kill()

    async def _open(self, may: Allowance) -> None:
        """Put the attempt's row on the disk."""
        plan = self._plan
        row = ev.AttemptStarted(
            *self._at(),
            self._number,
            plan.mode,
            plan.session_id,
            plan.resumed_from,
            self._ticket.model,
            cap_usd=may.cap_usd,
            reserve_usd=may.reserve_usd,
        )
        await self._emit(row)

    def _start(self, may: Allowance, standing: Standing) -> SessionStart:
        t, launch = self._ticket, self._engine.launch
        planning = t.permission_mode == "plan"
        return SessionStart(
            ticket=t.id,
            attempt=self._number,
            cwd=self._worktree,
            cli=launch.cli,
            session_id=self._plan.session_id,
            resume=self._plan.resume,
            env={"CLAUDE_CODE_MAX_RETRIES": str(self._engine.spec.max_retries), **launch.env(t.id)},
            model=t.model,
            fallback_model=t.fallback_model,
            permission_mode=standing.after_plan if planning and standing.after_plan else t.permission_mode,
            allowed_tools=(*t.allowed_tools, *standing.rules),
            disallowed_tools=t.disallowed_tools,
            rules=t.rules,
            project_instructions=t.project_instructions,
            max_turns=may.max_turns,
            cap_usd=may.cap_usd,
            effects=tuple(self._engine.spec.effects[name] for name in t.effects),
            caller=self._caller,
            asker=self._approvals,
        )

    async def _connect(self, session: AgentSession, account: Account, group: TaskGroup) -> None:
        async with self._engine.starts:
            await self._engine.memory.room()
            connected = await session.connect()
        if connected.process is not None:
            self._engine.memory.begins(self._ticket.id, connected.process)
        group.start_soon(session.read)
        p = connected.process or ProcessId(0, None, None)
        at, baseline = self._at(), connected.baseline_usd
        found = await account.opened(self._plan.session_id, baseline)
        began = ev.AttemptConnected(*at, self._number, p.pid or None, p.start, p.boot_id, baseline_usd=baseline)
        await self._engine.journal.emit_all(*([found] if found is not None else []), began)
        await self._emit(ev.StateChanged(*self._at(), State.RUNNING, detail="asked the agent"))

    async def _record(self, session: AgentSession, account: Account, failure: Failure | None) -> AttemptResult:
        """Decide what the ending means and complete the attempt's row."""
        turns = self._turns
        for event in session.drain():
            if event.lasts:
                await turns.take(event)
        await self._approvals.end(cut=self._cut)
        failure = more_telling(failure, session.failure)
        came_to = meaning(self._course(session, failure))
        self._engine.board.unknown += session.unknown
        lost = await account.close(session, self._engine.board[self._ticket.id].session_id or "")
        files = await turns.keep_files("after the agent's work") if session.agent_started else turns.files
        ended = ev.AttemptEnded(
            *self._at(),
            self._number,
            came_to.outcome,
            came_to.detail,
            exit_code=failure.exit_code if failure else None,
            stderr_tail=session.stderr_tail(),
            estimated_usd=lost.estimated_usd,
            snapshot=files,
            settled_usd=lost.settled_usd,
            tokens=lost.tokens,
            lost=self._asker.lost,
        )
        await self._emit(ended)
        return AttemptResult(
            came_to.outcome,
            came_to.detail,
            came_to.api_error_status,
            self._dialogue.check,
            self._asker.stuck is not None,
            self._asker.lost,
            turns.stalled,
        )

    def _course(self, session: AgentSession, failure: Failure | None) -> Course:
        turns = self._turns
        return Course(
            resumed=self._plan.resume,
            agent_started=session.agent_started,
            turn=turns.last if session.answered else None,
            failure=failure,
            stopped=turns.stopped,
            cut=self._cut,
            halt=turns.halt,
            stuck=self._asker.has_to_stop,
            silent_minutes=self._ticket.stall_minutes if turns.stalled else None,
        )

    async def _emit(self, event: ev.Event) -> None:
        await self._engine.journal.emit(event)

    def _at(self) -> tuple[str, float]:
        return self._ticket.id, self._engine.clock()
