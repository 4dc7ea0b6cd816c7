"""One attempt: one connected run of an agent, with one or more prompts and one recorded ending.

Its row is on disk before the session id is used, each prompt before it is sent, and the row is completed on every
ending, whatever went wrong.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core import prompts
from supervisor.core.model import Mode, Outcome, PromptKind, State
from supervisor.core.resume import Ending, classify
from supervisor.engine.session import AgentSession, Failure, SessionFailed, SessionStart

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.core.spec import TicketSpec
    from supervisor.engine.commands import Finished
    from supervisor.engine.context import Engine

RESULT_GRACE_S = 10.0
"""How long an interrupted agent may take to report its ending; it usually takes 50 ms."""


class Wanted(Enum):
    """How a ticket that is told to stop shall rest."""

    PAUSE = "pause"
    CANCEL = "cancel"
    REST = "rest"
    """The supervisor stops: back to the queue, to go on at the next start."""


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


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """What came of an attempt."""

    outcome: Outcome
    detail: str = ""
    api_error_status: int | None = None
    check_failed: bool = False
    """The agent is done but the ticket's check still fails after its last round."""


Check = Callable[[int], Awaitable["Finished | None"]]


class Attempt:
    """Runs one attempt. ``stop`` and ``kill`` may be called at any time from another task."""

    def __init__(self, ticket: TicketSpec, engine: Engine, plan: Plan, worktree: Path, check: Check) -> None:
        self._ticket = ticket
        self._engine = engine
        self._plan = plan
        self._worktree = worktree
        self._check = check
        self._wanted: Wanted | None = None
        self._number = engine.board[ticket.id].attempts + 1
        self._session: AgentSession | None = None
        self._group: anyio.abc.TaskGroup | None = None
        self._waiting = anyio.CancelScope()
        """Around everything that is not the agent's turn: connecting, checking."""
        self._turn: anyio.CancelScope | None = None
        self._check_failed = False

    async def run(self, cap_usd: float | None) -> AttemptResult:
        """Connect, converse, close, record. Raises StoreError only."""
        plan, ident = self._plan, self._ticket.id
        await self._emit(
            ev.AttemptStarted(
                ident,
                self._now(),
                self._number,
                plan.mode,
                plan.session_id,
                plan.resumed_from,
                self._ticket.model,
                cap_usd,
            )
        )
        self._session = self._engine.new_session(self._start(cap_usd), self._engine.clock)
        turn: ev.TurnEnded | None = None
        failure: Failure | None = None
        try:
            async with anyio.create_task_group() as self._group:
                try:
                    with self._waiting:
                        turn = await self._converse(self._session)
                except SessionFailed as failed:
                    failure = failed.failure
                finally:
                    await self._session.close()
                    self._group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                result = await self._record(turn, failure or self._session.failure)
        return result

    def stop(self, wanted: Wanted) -> None:
        """End the attempt: a turn is interrupted and reports its result, anything else is left at once."""
        self._wanted = wanted
        if self._turn is None:
            self._waiting.cancel()
        elif self._group is not None and self._session is not None:
            self._turn.deadline = min(self._turn.deadline, anyio.current_time() + RESULT_GRACE_S)
            self._group.start_soon(self._session.interrupt)

    async def kill(self) -> None:
        """End the agent's process at once."""
        if self._session is not None:
            await self._session.kill()

    def _start(self, cap_usd: float | None) -> SessionStart:
        t, launch = self._ticket, self._engine.launch
        return SessionStart(
            ticket=t.id,
            attempt=self._number,
            cwd=self._worktree,
            cli=launch.cli,
            session_id=self._plan.session_id,
            resume=self._plan.resume,
            env={
                "CLAUDE_CONFIG_DIR": str(launch.config_dir),
                "CLAUDE_CODE_MAX_RETRIES": str(self._engine.spec.max_retries),
                **launch.env(t.id),
            },
            model=t.model,
            fallback_model=t.fallback_model,
            permission_mode=t.permission_mode,
            allowed_tools=t.allowed_tools,
            disallowed_tools=t.disallowed_tools,
            rules=t.rules,
            project_instructions=t.project_instructions,
            max_turns=t.max_turns,
            cap_usd=cap_usd,
        )

    async def _converse(self, session: AgentSession) -> ev.TurnEnded | None:
        """Hold the conversation; return its last result, None when the agent went away without one."""
        async with self._engine.starts:
            connected = await session.connect()
        assert self._group is not None
        self._group.start_soon(session.read)
        p = connected.process
        await self._emit(
            ev.AttemptConnected(
                self._ticket.id,
                self._now(),
                self._number,
                p.pid if p else None,
                p.start if p else None,
                p.boot_id if p else None,
                connected.baseline_usd,
            )
        )
        await self._emit(ev.StateChanged(self._ticket.id, self._now(), State.RUNNING, detail="waiting for the agent"))
        turn = await self._ask(session, self._plan.prompt_uuid, self._plan.kind, self._plan.text)
        for round_ in range(1, self._ticket.verify_rounds + 2):
            if turn is None or turn.is_error or turn.terminal_reason != "completed" or self._wanted:
                return turn
            checked = await self._check(round_)
            self._check_failed = checked is not None and checked.exit_code != 0
            if checked is None or checked.exit_code == 0 or round_ > self._ticket.verify_rounds:
                return turn
            words = prompts.verify_failed(" ".join(self._ticket.verify or ()), checked.exit_code, checked.output)
            turn = await self._ask(session, str(uuid.uuid4()), PromptKind.VERIFY, words)
        return turn

    async def _ask(self, session: AgentSession, ident: str, kind: PromptKind, text: str) -> ev.TurnEnded | None:
        """Store a prompt, send it, and fold the agent's messages into the board until its result arrives."""
        told = self._plan.instructions
        await self._emit(ev.PromptStored(self._ticket.id, self._now(), self._number, ident, kind, text, told))
        with anyio.CancelScope() as self._turn:
            if self._wanted is not None:
                return None
            await session.send(ident, text)
            while (event := await session.next_event()) is not None:
                await self._emit(event)
                if isinstance(event, ev.TurnEnded):
                    self._account(event)
                    if event.prompt_uuid == ident:
                        self._turn = None
                        return event
        self._turn = None
        return None

    def _account(self, turn: ev.TurnEnded) -> None:
        self._engine.prices.learn(turn.prices)
        self._engine.purse.spent(self._ticket.id, turn.cost_usd)

    async def _record(self, turn: ev.TurnEnded | None, failure: Failure | None) -> AttemptResult:
        """Decide what the ending means and complete the attempt's row."""
        assert self._session is not None
        outcome = classify(self._ending(turn, failure))
        estimate = self._session.usage.estimate(self._engine.prices)
        detail = self._detail(outcome, turn, failure)
        self._engine.board.unknown += self._session.unknown
        await self._emit(
            ev.AttemptEnded(
                self._ticket.id,
                self._now(),
                self._number,
                outcome,
                detail,
                failure.exit_code if failure else None,
                self._session.stderr_tail(),
                estimate or 0.0,
            )
        )
        status = turn.api_error_status if turn else failure.api_error_status if failure else None
        return AttemptResult(outcome, detail, status, outcome is Outcome.DONE and self._check_failed)

    def _ending(self, turn: ev.TurnEnded | None, failure: Failure | None) -> Ending:
        assert self._session is not None
        told = turn or failure
        return Ending(
            resumed=self._plan.resume,
            agent_started=self._session.agent_started,
            interrupted=self._wanted is not None,
            own_mistake=turn is None and failure is not None and failure.own_mistake,
            has_result=turn is not None,
            subtype=told.subtype if told else None,
            terminal_reason=told.terminal_reason if told else None,
            is_error=turn.is_error if turn else True,
            api_error_status=told.api_error_status if told else None,
            exit_code=failure.exit_code if failure else None,
        )

    def _detail(self, outcome: Outcome, turn: ev.TurnEnded | None, failure: Failure | None) -> str:
        """Return why it ended in a few words; nothing where it ended as it should."""
        if outcome in (Outcome.DONE, Outcome.INTERRUPTED):
            return ""
        if turn is not None:
            first_line = turn.text.strip().split("\n", 1)[0]
            return "; ".join(turn.errors) or first_line or turn.terminal_reason or turn.subtype
        if failure is not None:
            return failure.message
        return "the agent's process ended without a result"

    async def _emit(self, event: ev.Event) -> None:
        await self._engine.journal.emit(event)

    def _now(self) -> float:
        return self._engine.clock()
