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
from supervisor.core.errors import SupervisorError
from supervisor.core.model import Mode, Outcome, PromptKind, State
from supervisor.core.resume import Ending, classify
from supervisor.core.verbs import MESSAGE
from supervisor.engine.account import Account
from supervisor.engine.agent import AgentSession, Failure, SessionFailed, SessionStart
from supervisor.engine.approvals import Approvals
from supervisor.engine.asking import AttemptAsker
from supervisor.engine.effect_caller import EffectCaller
from supervisor.engine.governor import LONG_WAIT_S, cause
from supervisor.engine.groups import task_group
from supervisor.engine.process import ProcessId
from supervisor.engine.watchdog import Watchdog

if TYPE_CHECKING:
    from pathlib import Path

    from anyio.abc import TaskGroup

    from supervisor.core.letters import Letter
    from supervisor.core.spec import TicketSpec
    from supervisor.engine.ask_desk import Standing
    from supervisor.engine.commands import Finished
    from supervisor.engine.context import Engine
    from supervisor.engine.treasury import Allowance

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
    letters: tuple[str, ...] = ()
    """The operator's messages that the first prompt delivers."""

    @property
    def resume(self) -> bool:
        """Whether the session is opened with ``resume=``; a fork's is on the disk before its first attempt."""
        return self.mode in (Mode.RESUME, Mode.FORK)


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
    stalled: bool = False
    """It was stopped because it had fallen silent."""


@dataclass(frozen=True, slots=True)
class Halt:
    """Why we stopped an agent by ourselves: the attempt ends as if the agent had said so."""

    outcome: Outcome
    detail: str
    api_error_status: int | None = None


RunCheck = Callable[[int], Awaitable["Finished | None"]]
"""Runs the ticket's check for the n-th time; None where it has none."""


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
        self._run_check = check
        self._failed_checks = failed_checks
        self._unchecked = Check.PENDING if ticket.verify and engine.launch.run_commands else Check.NONE
        self._check = self._unchecked
        self._wanted: Wanted | None = None
        self._number = engine.board[ticket.id].attempts + 1
        self._account: Account
        self._halt: Halt | None = None
        self._session: AgentSession | None = None
        self._group: TaskGroup | None = None
        self._waiting = anyio.CancelScope()
        """Around everything that is not the agent's turn: connecting, checking."""
        self._turn: anyio.CancelScope | None = None
        self._asker = AttemptAsker(engine, ticket.id)
        self._caller = EffectCaller(engine.effects, self._asker) if ticket.effects else None
        self._approvals = Approvals(engine, ticket.id, self._number)
        self._last: ev.TurnEnded | None = None
        self._watchdog = Watchdog(ticket.stall_minutes * 60, engine.running)
        self._stalled = False
        """The agent has fallen silent in this turn, and was interrupted for it."""
        self._sending = anyio.Lock()
        """An interrupt is answered before the next prompt is sent, or it would meet that one."""
        self._hurried = hurried
        self._begun = False
        """The agent has taken the prompt in and answers it; one that it has not begun would be dropped."""
        self._kept = ""
        """Commit that holds the files as they were before the last prompt."""
        self._cut = False
        """Ended by an error or the end of our own, which tells nothing of the agent."""

    async def run(self, may: Allowance) -> AttemptResult:
        """Connect, converse, close, record. Raises StoreError only."""
        plan, self._account = self._plan, Account(self._engine, self._ticket, may)
        standing = await self._engine.asks.standing(self._ticket.id)
        await self._emit(
            ev.AttemptStarted(
                self._ticket.id,
                self._now(),
                self._number,
                plan.mode,
                plan.session_id,
                plan.resumed_from,
                self._ticket.model,
                cap_usd=may.cap_usd,
                reserve_usd=may.reserve_usd,
            )
        )
        session = self._session = self._engine.new_session(self._start(may, standing), self._engine.clock)
        failure: Failure | None = None
        try:
            async with task_group() as self._group:
                self._approvals.begin(self._group)
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
                    self._approvals.shut()
                    await session.close()
                    self._engine.memory.ends(self._ticket.id)
                    group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                result = await self._record(session, failure)
        return result

    def stop(self, wanted: Wanted) -> None:
        """End the attempt: a turn is interrupted and reports its result, anything else is left at once."""
        self._wanted = wanted
        self._approvals.leave()
        if self._group is None or self._session is None or self._turn is None:
            self._waiting.cancel()
        else:
            self._interrupt_soon()

    def _interrupt_soon(self) -> None:
        if self._turn is not None and self._group is not None and self._session is not None:
            self._turn.deadline = min(self._turn.deadline, anyio.current_time() + RESULT_GRACE_S)
            self._group.start_soon(self._interrupt, self._session)

    def hurry(self) -> None:
        """Say that the operator has written what shall not wait: the turn is interrupted once it has begun."""
        if self._begun:
            self._interrupt_soon()

    async def kill(self) -> None:
        """End the agent's process at once."""
        if self._session is not None:
            await self._session.kill()

    async def _interrupt(self, session: AgentSession) -> None:
        """Interrupt the turn. A prompt that the agent had not begun is dropped by it, and no result will follow."""
        async with self._sending:
            await self._approvals.let_go()
            if await session.interrupt() and self._turn is not None:
                self._turn.cancel()

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

    async def _converse(self, session: AgentSession) -> None:
        """Hold the conversation: the plan's prompt, what the operator writes, the ticket's check and its output."""
        await self._connect(session)
        if self._is_over(session):
            return
        plan = self._plan
        turn = await self._ask(session, plan.prompt_uuid, plan.kind, plan.text, plan.letters)
        while turn is not None and self._wanted is None and (is_success(turn) or self._hurried):
            letter = await self._next_message()
            if letter is not None:
                if self._is_over(session):
                    return
                self._check = self._unchecked
                turn = await self._ask(session, letter.id, PromptKind.MESSAGE, letter.args["text"], (letter.id,))
            elif is_success(turn) and self._check is Check.PENDING:
                checked = await self._run_check(self._failed_checks + 1)
                if checked is None or checked.exit_code == 0:
                    self._check = Check.PASSED
                    continue
                self._failed_checks += 1
                if self._failed_checks > self._ticket.verify_rounds:
                    self._check = Check.FAILED
                    continue
                if self._is_over(session):
                    return
                words = prompts.verify_failed(" ".join(self._ticket.verify or ()), checked.exit_code, checked.output)
                turn = await self._ask(session, str(uuid.uuid4()), PromptKind.VERIFY, words)
            else:
                return

    def _is_over(self, session: AgentSession) -> bool:
        """Whether a limit of the ticket's stops it here: nothing more is asked of the agent then."""
        words = self._account.limit(session.usage)
        if words and self._halt is None:
            self._halt = Halt(Outcome.LIMIT, words)
        return bool(words)

    async def _next_message(self) -> Letter | None:
        """Return the oldest message of the operator's that the agent has not been given."""
        if not self._engine.board[self._ticket.id].messages:
            self._hurried.clear()
            return None
        letters = await self._engine.journal.store.open_letters(self._ticket.id)
        return next((letter for letter in letters if letter.verb == MESSAGE.name), None)

    async def _connect(self, session: AgentSession) -> None:
        async with self._engine.starts:
            await self._engine.memory.room()
            connected = await session.connect()
        if connected.process is not None:
            self._engine.memory.begins(self._ticket.id, connected.process)
        assert self._group is not None
        self._group.start_soon(session.read)
        p = connected.process or ProcessId(0, None, None)
        about, baseline = (self._ticket.id, self._now(), self._number), connected.baseline_usd
        found = await self._account.opened(self._plan.session_id, baseline)
        began = ev.AttemptConnected(*about, p.pid or None, p.start, p.boot_id, baseline_usd=baseline)
        await self._engine.journal.emit_all(*([found] if found is not None else []), began)
        await self._emit(ev.StateChanged(self._ticket.id, self._now(), State.RUNNING, detail="waiting for the agent"))

    async def _ask(
        self, session: AgentSession, ident: str, kind: PromptKind, text: str, letters: tuple[str, ...] = ()
    ) -> ev.TurnEnded | None:
        """Store a prompt, send it, and fold the agent's messages into the board until its result arrives."""
        self._kept = await self._snapshot("before a prompt")
        about = (kind, text, self._plan.instructions, self._kept, letters)
        await self._emit(ev.PromptStored(self._ticket.id, self._now(), self._number, ident, *about))
        self._hurried.difference_update(letters)
        self._begun = self._stalled = False
        try:
            with anyio.CancelScope() as turn:
                self._turn = turn
                if self._wanted is None:
                    async with self._sending:
                        await session.send(ident, text)
                    self._watchdog.heard()
                    return await self._listen(session, ident)
        finally:
            self._turn = None
        if anyio.current_time() >= turn.deadline:
            await session.kill()  # it was interrupted and does not hear: nothing is gained by asking it to leave
        return None

    async def _snapshot(self, when: str) -> str:
        """Keep the files as they are; where that fails, say so and go on without."""
        ticket = self._ticket.id
        try:
            return (await self._engine.snapshots.take(ticket, self._worktree, when)).commit
        except (SupervisorError, OSError) as error:
            await self._emit(ev.Noted(ticket, self._now(), f"no snapshot {when}: {error}", is_error=True))
            return ""

    async def _listen(self, session: AgentSession, ident: str) -> ev.TurnEnded | None:
        """Return the result of the prompt; None when the agent went away without one."""
        while (event := await self._next(session)) is not None:
            await self._take(event)
            if not self._begun and isinstance(event, ev.TurnBegan | ev.AgentSpoke | ev.ToolCalled):
                self._begun = True
                if self._hurried:
                    self._interrupt_soon()
            if isinstance(event, ev.TurnEnded) and event.prompt_uuid == ident:
                self._last = event
                if is_success(event):
                    self._halt = None  # it was faster than we
                return event
            if isinstance(event, ev.ToolReturned) and (self._asker.stuck is not None or self._is_over(session)):
                self._interrupt_soon()  # the model has been told; it is not asked for its opinion
            if isinstance(event, ev.Retrying) and event.delay_s >= LONG_WAIT_S:
                self._halt = Halt(Outcome.API_ERROR, f"{cause(event.status)}: asks for patience", event.status)
                self._interrupt_soon()
        return None

    async def _next(self, session: AgentSession) -> ev.Event | None:
        """Return the next event; None when the stream has ended. An agent that falls silent is interrupted, once."""
        while True:
            with anyio.move_on_after(self._watchdog.look_s):
                event = await session.next_event()
                self._watchdog.heard()
                return event
            if self._approvals.active or (self._caller is not None and self._caller.active):
                self._watchdog.heard()
            elif self._watchdog.is_overdue() and not self._stalled:
                self._stalled = True
                self._interrupt_soon()

    async def _take(self, event: ev.Event) -> None:
        """Book an event off the stream; it will not come again, so a turn that is given up must not lose it.

        A second result of an answered prompt costs what it costs, and does not change how the prompt ended.
        """
        if isinstance(event, ev.TurnEnded) and self._last is not None and event.prompt_uuid == self._last.prompt_uuid:
            event = replace(event, prompt_uuid=None)
        if isinstance(event, ev.SessionReplaced) and self._is_anothers(event.session_id):
            words = f"the agent claims the session of another ticket, {event.session_id}: that is not taken over"
            event = ev.Noted(event.ticket, event.at, words, is_error=True)
        with anyio.CancelScope(shield=True):
            await self._emit(event)
        if isinstance(event, ev.TurnEnded):
            self._account.take(event)

    def _is_anothers(self, session_id: str) -> bool:
        board = self._engine.board
        return any(t.session_id == session_id and t.id != self._ticket.id for t in board.rows())

    async def _record(self, session: AgentSession, failure: Failure | None) -> AttemptResult:
        """Decide what the ending means and complete the attempt's row."""
        for event in session.drain():
            if event.lasts:
                await self._take(event)
        await self._approvals.end(cut=self._cut)
        failure = _more_telling(failure, session.failure)
        outcome, told = classify(self._ending(session, failure)), self._unfinished(self._last) or failure
        status = told.api_error_status if told else None
        detail = self._detail(outcome, failure)
        halted = self._wanted is None and not self._cut and outcome in (Outcome.INTERRUPTED, Outcome.DONE)
        if self._halt is not None and halted:
            outcome, detail, status = self._halt.outcome, self._halt.detail, self._halt.api_error_status
        self._engine.board.unknown += session.unknown
        code = failure.exit_code if failure else None
        lost = await self._account.close(session, self._engine.board[self._ticket.id].session_id or "")
        kept = await self._snapshot("after the agent's work") if session.agent_started else self._kept
        ids, tail = (self._ticket.id, self._now(), self._number), session.stderr_tail()
        more = (lost.settled_usd, lost.tokens)
        await self._emit(ev.AttemptEnded(*ids, outcome, detail, code, tail, lost.estimated_usd, kept, *more))
        return AttemptResult(
            outcome,
            detail,
            status,
            self._check,
            self._asker.stuck is not None,
            self._stalled,
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
            interrupted=self._wanted is not None
            or self._cut
            or self._stalled
            or self._halt is not None
            or self._asker.stuck is not None,
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
        if outcome is Outcome.INTERRUPTED and self._stalled:
            return f"no message for {self._ticket.stall_minutes:g} minutes"
        if outcome in (Outcome.DONE, Outcome.INTERRUPTED):
            return ""
        if turn is not None:
            first_line = turn.text.strip().split("\n", 1)[0]
            return "; ".join(turn.errors) or first_line or turn.terminal_reason or turn.subtype
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
