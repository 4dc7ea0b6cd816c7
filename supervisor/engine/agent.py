"""What a runner needs of an agent: the protocol it speaks, what a start needs, and how a start or a stream fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from supervisor.core.events import Event
    from supervisor.core.rewinds import EditRewind
    from supervisor.core.spec import EffectSpec
    from supervisor.core.usage import UsageMeter
    from supervisor.engine.effect_caller import EffectCaller
    from supervisor.engine.process import ProcessId


EXIT_PLAN_MODE = "ExitPlanMode"
"""The tool by which an agent asks for its plan to be approved."""


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call that the agent may not make by itself."""

    tool: str
    input: Mapping[str, Any]
    """As it will be called; not bounded, secrets and all."""
    tool_use_id: str = ""
    reason: str = ""
    """Why the agent's side asks, where it says so."""
    rules: tuple[str, ...] = ()
    """What it suggests to allow until the session ends."""
    agent: str | None = None
    """The subagent that calls; None for the agent itself."""
    planning: bool = False
    """The session is in plan mode, in which nothing may be written."""


@dataclass(frozen=True, slots=True)
class Permission:
    """What a tool request is answered."""

    allowed: bool
    message: str = ""
    """What the model reads where it is not allowed."""
    input: Mapping[str, Any] | None = None
    """What to call the tool with instead."""
    for_session: bool = False
    """Allow the suggested rules until the session ends."""
    stop: bool = False
    """Not allowed, and the turn ends here."""


class ToolAsker(Protocol):
    """Who answers tool requests. Called in a task of the agent's side, which is cancelled when it wants no answer."""

    async def ask(self, request: ToolRequest) -> Permission:
        """Return the answer, however long that takes."""
        ...


@dataclass(frozen=True, slots=True)
class SessionStart:
    """Everything one connect needs."""

    ticket: str
    attempt: int
    cwd: Path
    cli: Path
    """The launcher that ties the CLI's life to ours."""
    session_id: str
    resume: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    fallback_model: str | None = None
    permission_mode: str = "default"
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    rules: str | None = None
    project_instructions: bool = False
    max_turns: int | None = None
    cap_usd: float | None = None
    partial_messages: bool = False
    effects: tuple[EffectSpec, ...] = ()
    """Effects the agent may ask for."""
    caller: EffectCaller | None = None
    """Who answers when it does."""
    asker: ToolAsker | None = None
    """Who is asked before a tool is used that is not allowed; without one such calls are refused."""


@dataclass(frozen=True, slots=True)
class Connected:
    """What is known once the agent's process has answered."""

    process: ProcessId | None
    baseline_usd: float


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a connect or a stream of messages ended by itself."""

    message: str
    own_mistake: bool = False
    """The start was wrong in itself: another session would fail the same way."""
    exit_code: int | None = None
    subtype: str | None = None
    terminal_reason: str | None = None
    api_error_status: int | None = None


class SessionFailed(Exception):  # noqa: N818
    """Raised by ``connect``; carries the failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class AgentSession(Protocol):
    """What a runner needs of an agent. One prompt is outstanding at a time."""

    @property
    def agent_started(self) -> bool:
        """Whether a real assistant message has arrived since connect."""
        ...

    @property
    def failure(self) -> Failure | None:
        """Why the stream of messages ended, once it has."""
        ...

    @property
    def usage(self) -> UsageMeter:
        """Token usage that no result has accounted for."""
        ...

    @property
    def total_usd(self) -> float:
        """The session's total cost as of the last result, or as it was found."""
        ...

    @property
    def answered(self) -> bool:
        """Whether the last prompt sent has had its result."""
        ...

    @property
    def unknown(self) -> int:
        """How many messages were of kinds we do not know."""
        ...

    async def connect(self) -> Connected:
        """Start the agent and wait until it answers. Raises SessionFailed."""
        ...

    async def read(self) -> None:
        """Read until the agent's stream ends. Runs in a task of its own from connect to close."""
        ...

    async def send(self, uuid: str, text: str) -> None:
        """Send a prompt under an id that is already on disk. Raises SessionFailed."""
        ...

    async def next_event(self) -> Event | None:
        """Return the next event; None when the stream has ended."""
        ...

    def drain(self) -> list[Event]:
        """Return the events that came in and were not asked for. Called once, after ``close``."""
        ...

    async def interrupt(self) -> bool:
        """Stop the turn; return whether the prompt had not been begun and was dropped.

        Its result follows on the stream, unless it was dropped.
        """
        ...

    async def rewind_files(self, prompt: str, *, dry_run: bool) -> EditRewind:
        """Take back what the session's own edits changed since before a prompt of it, or only say what that would do.

        Needs no prompt and costs nothing. Never raises: what went wrong is in the answer.
        """
        ...

    async def close(self) -> bool:
        """End the process; return whether it is gone. Never raises, never cut short."""
        ...

    async def kill(self) -> None:
        """End the process at once, by pid; the stream then ends by itself."""
        ...

    def stderr_tail(self) -> str:
        """Return the last lines the process wrote to standard error: some causes are told only there."""
        ...
