"""One attempt: one connected run of an agent, with one or more prompts and one recorded ending.

Its row is on disk before the session id is used, each prompt before it is sent, and the row is completed on every
ending, whatever went wrong.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core import prompts
from supervisor.core.budget import lost_spend
from supervisor.core.model import Mode, Outcome, PromptKind, State
from supervisor.core.resume import Ending, classify
from supervisor.engine.agent import AgentSession, Failure, SessionFailed, SessionStart
from supervisor.engine.asking import AttemptAsker
from supervisor.engine.effect_caller import EffectCaller
from supervisor.engine.groups import task_group
from supervisor.engine.process import ProcessId

if TYPE_CHECKING:
    from pathlib import Path

    from anyio.abc import TaskGroup

    from supervisor.core.spec import TicketSpec
    from supervisor.engine.commands import Finished
    from supervisor.engine.context import Engine

RESULT_GRACE_S = 10.0
"""How long an interrupted agent may take to report its ending; it usually takes 50 ms."""


class Wanted(Enum):
    """How a ticket that is told to stop shall rest; a later wish replaces one of a lower value, never a higher one."""

    REST = 1
    """The supervisor stops: back to the queue, to go on at the next start."""
    PAUSE = 2
    CANCEL = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """How the next attempt comes to its session, and what it says first."""

    mode: Mode
    session_id: str
    prompt_uuid: str
    kind: PromptKind
    text: str
    resumed_from: str | None = None
    instructions: str = ""

    @property
    def resume(self) -> bool:
        """Whether the session is opened with ``resume=``."""
        return self.mode is Mode.RESUME


class Check(Enum):
    """What became of the ticket's check after the agent said it was done."""

    NONE = "none"
    """The ticket has none."""
    PASSED = "passed"
    FAILED = "failed"
    """Still failing after its last round."""
    PENDING = "pending"
    """Not run to its end: the ticket was told to stop before."""


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """What came of an attempt."""

    outcome: Outcome
    detail: str = ""
    api_error_status: int | None = None
    check: Check = Check.NONE
    stuck: bool = False
    """It was stopped for an effect of which nobody knew whether it had happened."""


RunCheck = Callable[[int], Awaitable["Finished | None"]]
"""Runs the ticket's check for the n-th time; None where it has none."""


class Attempt:
    """Runs one attempt. ``stop`` and ``kill`` may be called at any time from another task."""

    def __init__(
        self, ticket: TicketSpec, engine: Engine, plan: Plan, worktree: Path, check: RunCheck, failed_checks: int = 0
    ) -> None:
        self._ticket = ticket
        self._engine = engine
        self._plan = plan
        self._worktree = worktree
        self._run_check = check
        self._failed_checks = failed_checks
        self._check = Check.PENDING if ticket.verify and engine.launch.run_commands else Check.NONE
        self._wanted: Wanted | None = None
        self._number = engine.board[ticket.id].attempts + 1
        self._cap: float | None = None
        self._session: AgentSession | None = None
        self._group: TaskGroup | None = None
        self._waiting = anyio.CancelScope()
        """Around everything that is not the agent's turn: connecting, checking."""
        self._turn: anyio.CancelScope | None = None
        self._asker = AttemptAsker(engine, ticket.id)
        self._caller = EffectCaller(engine.effects, self._asker) if ticket.effects else None
        self._last: ev.TurnEnded | None = None
        self._stalled = False
        self._cut = False
        """Ended by an error or the end of our own, which tells nothing of the agent."""

    async def run(self, cap_usd: float | None) -> AttemptResult:
        """Connect, converse, close, record. Raises StoreError only."""
        plan, model, self._cap = self._plan, self._ticket.model, cap_usd
        ids = (self._ticket.id, self._now(), self._number)
        await self._emit(ev.AttemptStarted(*ids, plan.mode, plan.session_id, plan.resumed_from, model, cap_usd))
        session = self._session = self._engine.new_session(self._start(cap_usd), self._engine.clock)
        failure: Failure | None = None
        try:
            async with task_group() as self._group:
                try:
                    with self._waiting:
                        await self._converse(session)
                except SessionFailed as failed:
                    failure = failed.failure
                except BaseException:
                    self._cut = True
                    raise
                finally:
                    group, self._group = self._group, None
                    await session.close()
                    group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                result = await self._record(session, failure)
        return result

    def stop(self, wanted: Wanted) -> None:
        """End the attempt: a turn is interrupted and reports its result, anything else is left at once."""
        self._wanted = wanted
        if self._group is None or self._session is None or self._turn is None:
            self._waiting.cancel()
        else:
            self._interrupt_soon()

    def _interrupt_soon(self) -> None:
        if self._turn is not None and self._group is not None and self._session is not None:
            self._turn.deadline = min(self._turn.deadline, anyio.current_time() + RESULT_GRACE_S)
            self._group.start_soon(self._interrupt, self._session)

    async def kill(self) -> None:
        """End the agent's process at once."""
        if self._session is not None:
            await self._session.kill()

    async def _interrupt(self, session: AgentSession) -> None:
        """Interrupt the turn. A prompt that the agent had not begun is dropped by it, and no result will follow."""
        if await session.interrupt() and self._turn is not None:
            self._turn.cancel()

    def _start(self, cap_usd: float | None) -> SessionStart:
        t, launch = self._ticket, self._engine.launch
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
            permission_mode=t.permission_mode,
            allowed_tools=t.allowed_tools,
            disallowed_tools=t.disallowed_tools,
            rules=t.rules,
            project_instructions=t.project_instructions,
            max_turns=t.max_turns,
            cap_usd=cap_usd,
            effects=tuple(self._engine.spec.effects[name] for name in t.effects),
            caller=self._caller,
        )

    async def _converse(self, session: AgentSession) -> None:
        """Hold the conversation: the plan's prompt, then the ticket's check, and its output as the next prompt."""
        await self._connect(session)
        turn = await self._ask(session, self._plan.prompt_uuid, self._plan.kind, self._plan.text)
        while turn is not None and is_success(turn) and self._wanted is None and self._check is Check.PENDING:
            checked = await self._run_check(self._failed_checks + 1)
            if checked is None or checked.exit_code == 0:
                self._check = Check.PASSED
                return
            self._failed_checks += 1
            if self._failed_checks > self._ticket.verify_rounds:
                self._check = Check.FAILED
                return
            words = prompts.verify_failed(" ".join(self._ticket.verify or ()), checked.exit_code, checked.output)
            turn = await self._ask(session, str(uuid.uuid4()), PromptKind.VERIFY, words)

    async def _connect(self, session: AgentSession) -> None:
        async with self._engine.starts:
            connected = await session.connect()
        assert self._group is not None
        self._group.start_soon(session.read)
        p = connected.process or ProcessId(0, None, None)
        ids = (self._ticket.id, self._now(), self._number)
        who = (p.pid or None, p.start, p.boot_id)
        await self._emit(ev.AttemptConnected(*ids, *who, baseline_usd=connected.baseline_usd))
        await self._emit(ev.StateChanged(self._ticket.id, self._now(), State.RUNNING, detail="waiting for the agent"))

    async def _ask(self, session: AgentSession, ident: str, kind: PromptKind, text: str) -> ev.TurnEnded | None:
        """Store a prompt, send it, and fold the agent's messages into the board until its result arrives."""
        told = self._plan.instructions
        await self._emit(ev.PromptStored(self._ticket.id, self._now(), self._number, ident, kind, text, told))
        try:
            with anyio.CancelScope() as self._turn:
                if self._wanted is None:
                    await session.send(ident, text)
                    return await self._listen(session, ident)
        finally:
            self._turn = None
        return None

    async def _listen(self, session: AgentSession, ident: str) -> ev.TurnEnded | None:
        """Return the result of the prompt; None when the agent went away or fell silent without one."""
        while (event := await self._next(session)) is not None:
            await self._take(event)
            if isinstance(event, ev.TurnEnded) and event.prompt_uuid == ident:
                self._last = event
                return event
            if isinstance(event, ev.ToolReturned) and self._asker.stuck is not None:
                self._interrupt_soon()  # the model has been told; it is not asked for its opinion
        return None

    async def _next(self, session: AgentSession) -> ev.Event | None:
        while True:
            with anyio.move_on_after(self._ticket.stall_minutes * 60):
                return await session.next_event()
            if self._caller is None or not self._caller.active:
                self._stalled = True
                return None

    async def _take(self, event: ev.Event) -> None:
        """Book an event off the stream; it will not come again, so a turn that is given up must not lose it.

        A second result of an answered prompt costs what it costs, and does not change how the prompt ended.
        """
        if isinstance(event, ev.TurnEnded) and self._last is not None and event.prompt_uuid == self._last.prompt_uuid:
            event = replace(event, prompt_uuid=None)
        with anyio.CancelScope(shield=True):
            await self._emit(event)
        if isinstance(event, ev.TurnEnded):
            self._engine.prices.learn(event.prices)
            self._engine.purse.spent(self._ticket.id, event.cost_usd)

    async def _record(self, session: AgentSession, failure: Failure | None) -> AttemptResult:
        """Decide what the ending means and complete the attempt's row."""
        for event in session.drain():
            if event.lasts:
                await self._take(event)
        failure = _more_telling(failure, session.failure)
        outcome = classify(self._ending(session, failure))
        detail = self._detail(outcome, failure)
        self._engine.board.unknown += session.unknown
        code, spent = failure.exit_code if failure else None, lost_spend(session.usage, self._engine.prices, self._cap)
        ids = (self._ticket.id, self._now(), self._number)
        await self._emit(ev.AttemptEnded(*ids, outcome, detail, code, session.stderr_tail(), spent))
        told = self._unfinished(self._last) or failure
        return AttemptResult(
            outcome, detail, told.api_error_status if told else None, self._check, self._asker.stuck is not None
        )

    def _unfinished(self, turn: ev.TurnEnded | None) -> ev.TurnEnded | None:
        """The last result, unless a later prompt of ours was left without one: then it tells nothing of the ending."""
        return turn if turn is not None and self._session is not None and self._session.answered else None

    def _ending(self, session: AgentSession, failure: Failure | None) -> Ending:
        turn = self._unfinished(self._last)
        told = turn or failure
        return Ending(
            resumed=self._plan.resume,
            agent_started=session.agent_started,
            interrupted=self._wanted is not None or self._cut or self._asker.stuck is not None,
            own_mistake=turn is None and failure is not None and failure.own_mistake,
            has_result=turn is not None,
            subtype=told.subtype if told else None,
            terminal_reason=told.terminal_reason if told else None,
            is_error=turn.is_error if turn else True,
            api_error_status=told.api_error_status if told else None,
            exit_code=failure.exit_code if failure else None,
        )

    def _detail(self, outcome: Outcome, failure: Failure | None) -> str:
        """Return why it ended in a few words; nothing where it ended as it should."""
        turn = self._unfinished(self._last)
        if outcome in (Outcome.DONE, Outcome.INTERRUPTED):
            return ""
        if turn is not None:
            first_line = turn.text.strip().split("\n", 1)[0]
            return "; ".join(turn.errors) or first_line or turn.terminal_reason or turn.subtype
        if self._stalled:
            return f"no message for {self._ticket.stall_minutes:g} minutes"
        return failure.message if failure is not None else "the agent's process ended without a result"

    async def _emit(self, event: ev.Event) -> None:
        await self._engine.journal.emit(event)

    def _now(self) -> float:
        return self._engine.clock()


def is_success(turn: ev.TurnEnded) -> bool:
    """Return whether a result says that the agent finished."""
    return not turn.is_error and turn.terminal_reason == "completed"


def _more_telling(first: Failure | None, other: Failure | None) -> Failure | None:
    """Return the failure that knows the process's exit code: a write that failed only knows that it failed."""
    if first is not None and first.exit_code is None and other is not None and other.exit_code is not None:
        return other
    return first or other
