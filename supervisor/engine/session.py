"""The adapter to the Claude Agent SDK.

The adapter is the whole safe recipe in one place. It owns the client, one reader that never stops and never waits for
the screen or the disk, and the end of the process: a client is closed exactly once, shielded, and its process is seen
to be gone.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections import deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import anyio

from supervisor.core.rewinds import EditRewind
from supervisor.engine import control, tool_rules
from supervisor.engine.agent import EXIT_PLAN_MODE, Connected, Failure, SessionFailed, SessionStart, ToolRequest
from supervisor.engine.process import MARK, ProcessId, end_all, families, identify, marked, stop
from supervisor.engine.translate import Translator
from supervisor.engine.untrusted import bounded, status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient

    from supervisor.core.events import Event
    from supervisor.core.usage import UsageMeter

MAX_LINE_BYTES = 64 << 20
"""Longest line read from the CLI. The SDK's default of 1 MiB kills the client on a large edit or result."""
_STDERR_LINES = 60
_READER_S = 2.0
"""How long a failed write waits for the reader to learn why."""
_BEYOND_THE_TICKET = (
    "ListAgents", "SendMessage", "EnterWorktree", "ExitWorktree", "CronCreate", "CronDelete", "CronList",
    "ScheduleWakeup", "Workflow",
)  # fmt: skip
"""Tools that reach past the ticket: other sessions, other worktrees, later times."""
_SETTINGS = '{"cleanupPeriodDays": 3650, "useAutoModeDuringPlan": false}'
"""Transcripts are swept after 30 days by default; ours are what a resume needs. In plan mode the CLI would rather pay a
model to judge commands than ask us."""


_PARSER = "claude_agent_sdk._internal.message_parser"
_reading: ContextVar[Translator | None] = ContextVar("_reading", default=None)


class _SdkLog(logging.Handler):
    """Keeps the SDK's log off the terminal, and learns from it of message kinds that the SDK itself skipped."""

    def emit(self, record: logging.LogRecord) -> None:
        translator = _reading.get()
        if translator is not None and "unknown message type" in str(record.msg):
            translator.unknown += 1


def load_sdk() -> Any:
    """Import the SDK (most of a second; call it in a thread) and tame its logger. Returns the module."""
    import claude_agent_sdk

    # Tools that are allowed as a whole are meant to pass without asking.
    warnings.filterwarnings("ignore", category=claude_agent_sdk.CanUseToolShadowedWarning)
    log = logging.getLogger("claude_agent_sdk")
    if not any(isinstance(h, _SdkLog) for h in log.handlers):
        log.addHandler(_SdkLog())
        log.propagate = False
        logging.getLogger(_PARSER).setLevel(logging.DEBUG)
    return claude_agent_sdk


class ClaudeSession:
    """The adapter to the Claude Agent SDK."""

    def __init__(self, start: SessionStart, clock: Callable[[], float]) -> None:
        self._start = start
        self._baseline = 0.0
        self._translator = Translator(start.ticket, start.attempt, start.session_id, clock)
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self._client: ClaudeSDKClient | None = None
        self._process: ProcessId | None = None
        self._failure: Failure | None = None
        self._ended = anyio.Event()
        send: MemoryObjectSendStream[Event]
        receive: MemoryObjectReceiveStream[Event]
        send, receive = anyio.create_memory_object_stream(math.inf)
        self._send, self._receive = send, receive

    @property
    def agent_started(self) -> bool:
        """Whether a real assistant message has arrived since connect."""
        return self._translator.agent_started

    @property
    def failure(self) -> Failure | None:
        """Why the stream of messages ended, once it has."""
        return self._failure

    @property
    def usage(self) -> UsageMeter:
        """Token usage that no result has accounted for."""
        return self._translator.usage

    @property
    def total_usd(self) -> float:
        """The session's total as of the last result, or as it was found."""
        return self._translator.meter.total_usd

    @property
    def answered(self) -> bool:
        """Whether the last prompt sent has had its result."""
        return self._translator.answered

    @property
    def unknown(self) -> int:
        """How many messages were of kinds we do not know."""
        return self._translator.unknown

    def stderr_tail(self) -> str:
        """Return the last lines of standard error."""
        return "\n".join(self._stderr)

    async def connect(self) -> Connected:
        """Start the agent and wait until it answers. Raises SessionFailed."""
        sdk = await anyio.to_thread.run_sync(load_sdk)
        if not self._start.cwd.is_dir():
            raise SessionFailed(Failure(f"the working directory {self._start.cwd} is missing", own_mistake=True))
        client = sdk.ClaudeSDKClient(self._options(sdk))
        try:
            await client.connect()
            self._client = client
            pid = (await client.get_server_info() or {}).get("pid")
            self._process = identify(pid) if isinstance(pid, int) else None
            if self._start.resume:
                used = await control.session_usage(client)
                self._baseline = used.total_cost_usd
                self._translator.begin_at(used.total_cost_usd, used.model_usage)
        except Exception as error:
            raise SessionFailed(self._explain(error, sdk)) from error
        return Connected(self._process, self._baseline)

    def _options(self, sdk: Any) -> ClaudeAgentOptions:
        s = self._start
        preset = {"type": "preset", "preset": "claude_code"}
        which = {"resume": s.session_id} if s.resume else {"session_id": s.session_id}
        servers, tools = _effect_tools(s)
        options: ClaudeAgentOptions = sdk.ClaudeAgentOptions(
            **which,
            cwd=s.cwd,
            cli_path=s.cli,
            env={"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1", "DISABLE_AUTOUPDATER": "1", MARK: s.session_id, **s.env},
            settings=_SETTINGS,
            setting_sources=["project"] if s.project_instructions else [],
            strict_mcp_config=True,
            mcp_servers=servers,
            system_prompt={**preset, "append": s.rules} if s.rules else preset,
            verbatim_prompts=True,
            max_buffer_size=MAX_LINE_BYTES,
            stderr=self._on_stderr,
            enable_file_checkpointing=True,
            extra_args={"replay-user-messages": None},
            model=s.model,
            fallback_model=s.fallback_model,
            permission_mode=s.permission_mode,
            allowed_tools=[*s.allowed_tools, *tools],
            disallowed_tools=[*_BEYOND_THE_TICKET, *s.disallowed_tools],
            max_turns=s.max_turns,
            max_budget_usd=s.cap_usd,
            include_partial_messages=s.partial_messages,
            can_use_tool=self._may_use if s.asker is not None else None,
        )
        return options

    async def _may_use(self, tool: str, given: dict[str, Any], context: Any) -> Any:
        """Answer the CLI, which waits for it as long as it takes. What goes wrong here costs one call, not the turn."""
        sdk, asker = load_sdk(), self._start.asker
        assert asker is not None
        try:
            rules = tool_rules.suggested(tool, context.suggestions)
            answer = await asker.ask(self._request(tool, given, context, rules))
        except anyio.get_cancelled_exc_class():
            self._translator.given_up.add(context.tool_use_id)
            raise
        except Exception as error:
            self._on_stderr(f"tool request: {type(error).__name__}: {error}")
            return sdk.PermissionResultDeny(message="Nothing was done: the operator could not be asked.")
        if not answer.allowed:
            return sdk.PermissionResultDeny(message=answer.message, interrupt=answer.stop)
        if tool == EXIT_PLAN_MODE:
            self._translator.mode = "default"
        updates = _updates(sdk, tool, rules) if answer.for_session else None
        return sdk.PermissionResultAllow(updated_input=dict(answer.input or given), updated_permissions=updates)

    def _request(
        self, tool: str, given: dict[str, Any], context: Any, rules: tuple[tool_rules.Rule, ...]
    ) -> ToolRequest:
        return ToolRequest(
            tool=tool,
            input=given,
            tool_use_id=context.tool_use_id or "",
            reason=context.decision_reason or "",
            rules=tuple(map(str, rules)),
            agent=context.agent_id,
            planning=(self._translator.mode or self._start.permission_mode) == "plan",
        )

    def _on_stderr(self, line: str) -> None:
        self._stderr.append(bounded(line, 2000))

    async def read(self) -> None:
        """Read until the agent's stream ends; a message that cannot be parsed is counted and skipped."""
        sdk = load_sdk()
        _reading.set(self._translator)
        try:
            while self._client is not None:
                try:
                    async for message in self._client.receive_messages():
                        for event in self._translator.translate(message):
                            self._send.send_nowait(event)
                    return
                except Exception as error:
                    if not _is_of_the_parser(error):
                        raise
                    self._translator.unknown += 1
                    self._send.send_nowait(self._translator.note(f"unreadable message: {error}", is_error=True))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # closed from our side
        except Exception as error:
            self._failure = self._explain(error, sdk)
        finally:
            self._send.close()
            self._ended.set()

    async def send(self, uuid: str, text: str) -> None:
        """Send a prompt. The uuid makes it idempotent: the CLI only echoes a uuid that it has seen."""
        self._translator.expect(uuid)

        async def one() -> AsyncIterator[dict[str, Any]]:
            yield {
                "type": "user",
                "uuid": uuid,
                "message": {"role": "user", "content": text},
                "parent_tool_use_id": None,
            }

        assert self._client is not None
        try:
            await self._client.query(one())
        except Exception as error:
            with anyio.move_on_after(_READER_S):
                await self._ended.wait()  # the reader learns the exit code, a write only that it failed
            raise SessionFailed(self._failure or self._explain(error, load_sdk())) from error

    async def next_event(self) -> Event | None:
        """Return the next event; None when the stream has ended."""
        try:
            return await self._receive.receive()
        except anyio.EndOfStream:
            return None

    def drain(self) -> list[Event]:
        """Return the events that came in and were not asked for, and give the stream up."""
        left = []
        try:
            while True:
                left.append(self._receive.receive_nowait())
        except (anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
            self._send.close()
            self._receive.close()
        return left

    async def interrupt(self) -> bool:
        """Stop the turn; harmless when there is none, and when the process has just gone."""
        if self._client is None:
            return False
        try:
            return self._translator.prompt_uuid in await control.interrupt(self._client)
        except Exception as error:  # whatever is wrong with the process shows on the stream
            self._on_stderr(f"interrupt: {error}")
            return False

    async def rewind_files(self, prompt: str, *, dry_run: bool) -> EditRewind:
        """Take back what the session's edits changed since before a prompt of it, or only say what that would do."""
        if self._client is None:
            return EditRewind(error="the agent's process is gone")
        try:
            return await control.rewind_files(self._client, prompt, dry_run=dry_run)
        except Exception as error:  # a refusal of the CLI's and a process that is gone alike
            return EditRewind(error=bounded(str(error) or type(error).__name__, 1000))

    async def kill(self) -> None:
        """End the process at once, by pid; the stream then ends by itself."""
        if self._process is not None:
            await stop(self._process, grace_s=0.5)

    async def close(self) -> bool:
        """End the process; return whether it is gone.

        Shielded, because a teardown that is cancelled half-way leaves the CLI running and spending.
        """
        client, self._client = self._client, None
        with anyio.CancelScope(shield=True):
            family = await anyio.to_thread.run_sync(self._commands)
            if client is not None:
                try:
                    await client.disconnect()
                except Exception as error:
                    self._on_stderr(f"disconnect: {error}")
            gone = self._process is None or await stop(self._process)
            if self._was_cut_off():
                family += await anyio.to_thread.run_sync(marked, {self._start.session_id})
            gone = await end_all(family) and gone
        return gone

    def _commands(self) -> list[ProcessId]:
        """Return what the agent runs right now: each has a session of its own, and may not end with it."""
        return families([self._process])[self._process] if self._process is not None else []

    def _was_cut_off(self) -> bool:
        """Return whether the agent left in the middle of something, so that all it has started must not go on.

        What an agent that ends as it should has put into the background is let be.
        """
        unanswered = self._translator.prompt_uuid is not None and not self._translator.answered
        return unanswered or self._failure is not None or self._process is None

    def _explain(self, error: Exception, sdk: Any) -> Failure:
        if isinstance(error, sdk.ResultError):
            words = "; ".join(error.errors) or error.result or str(error)
            return Failure(
                bounded(words, 1000),
                exit_code=error.exit_code,
                subtype=bounded(error.subtype, 100) or None,
                terminal_reason=bounded(error.terminal_reason, 100) or None,
                api_error_status=status(error.api_error_status),
            )
        if isinstance(error, sdk.ProcessError):
            told = self._stderr[-1] if self._stderr else ""
            return Failure(
                bounded(told or f"the agent's process ended with exit code {error.exit_code}", 1000),
                own_mistake=_is_own_mistake(told),
                exit_code=error.exit_code,
            )
        causes = (error, error.__cause__)
        mistake = any(isinstance(e, sdk.CLINotFoundError | OSError) for e in causes) or "Working directory" in str(
            error
        )
        return Failure(bounded(f"{error}".split("\n", 1)[0] or type(error).__name__, 1000), own_mistake=mistake)


def _is_of_the_parser(error: Exception) -> bool:
    """Whether one message was to blame. Seen with SDK 0.2.189: only missing fields become its MessageParseError.

    A field of another type raises TypeError or AttributeError as it comes, which the place alone tells from the end
    of the stream.
    """
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and place.tb_frame.f_globals.get("__name__") == _PARSER


def _effect_tools(start: SessionStart) -> tuple[dict[str, Any], list[str]]:
    """Return the MCP servers of a session and the tools of theirs that need no permission prompt."""
    if start.caller is None or not start.effects:
        return {}, []
    from supervisor.engine import effect_tools

    server = effect_tools.server(start.effects, start.caller)
    return {effect_tools.SERVER: server}, effect_tools.tool_names(start.effects)


def _updates(sdk: Any, tool: str, rules: tuple[tool_rules.Rule, ...]) -> list[Any]:
    """Return what is allowed until the session ends: any other place would write into the worktree's settings."""
    if tool == EXIT_PLAN_MODE:
        return [sdk.PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")]
    values = [sdk.types.PermissionRuleValue(rule.tool, rule.content) for rule in rules]
    return [sdk.PermissionUpdate(type="addRules", rules=values, behavior="allow", destination="session")]


def _is_own_mistake(told: str) -> bool:
    """Some refusals at start are told only on standard error, as prose; position cannot tell them from a stale id."""
    prose = ("unknown option", "already in use", "Invalid session ID", "cannot be used with")
    return any(words in told for words in prose)
