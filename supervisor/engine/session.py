"""The adapter to the Claude Agent SDK.

It owns the client, one reader that never stops and never waits for the screen or the disk, and the end of the process:
a client is closed exactly once, shielded, and its process is seen to be gone. With what a process is started, how tool
requests are answered and what the SDK's errors mean stands in ``session_options``, ``tool_requests`` and
``session_faults``.
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
from supervisor.engine import control
from supervisor.engine.agent import Connected, Failure, SessionFailed, SessionStart
from supervisor.engine.process import ProcessId, end_all, families, identify, marked, stop
from supervisor.engine.session_faults import PARSER, explain, is_of_the_parser, unread
from supervisor.engine.session_options import options
from supervisor.engine.tool_requests import ToolRequests
from supervisor.engine.translate import Translator
from supervisor.engine.untrusted import bounded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from claude_agent_sdk import ClaudeSDKClient

    from supervisor.core.events import Event
    from supervisor.core.usage import UsageMeter
    from supervisor.engine.session_options import MayUse

_STDERR_LINES = 60
_READER_S = 2.0
"""How long a failed write waits for the reader to learn why."""
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
        logging.getLogger(PARSER).setLevel(logging.DEBUG)
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
        chosen = options(self._start, self._on_stderr, self._may_use(sdk))
        client = sdk.ClaudeSDKClient(sdk.ClaudeAgentOptions(**chosen))
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

    def _may_use(self, sdk: Any) -> MayUse | None:
        if self._start.asker is None:
            return None
        return ToolRequests(sdk, self._start, self._start.asker, self._translator, self._on_stderr).may_use

    def _on_stderr(self, line: str) -> None:
        self._stderr.append(bounded(line, 2000))

    async def read(self) -> None:
        """Read until the agent's stream ends; a message that cannot be parsed is counted and skipped.

        Unless it is the result that is waited for: no other one will come, so the stream ends there with a failure.
        """
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
                    if not is_of_the_parser(error):
                        raise
                    self._translator.unknown += 1
                    self._send.send_nowait(self._translator.note(f"unreadable message: {error}", is_error=True))
                    if self._translator.is_awaited(unread(error)):
                        self._failure = Failure(bounded(f"the agent's result cannot be read: {error}", 1000))
                        return
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
        return explain(sdk, error, self._stderr[-1] if self._stderr else "")
