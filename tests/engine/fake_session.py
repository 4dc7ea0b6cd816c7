"""Scripted agents that stand in for the SDK's: no process, no network, and every moment of theirs can be acted on.

``Agents`` outlives a batch, as sessions outlive their supervisor: it keeps the sessions' files where the engine looks
for them, what each session has cost, and every prompt that was sent. It also watches for what must never happen.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio

from supervisor.core import events as ev
from supervisor.core.budget import CostMeter
from supervisor.core.rewinds import EditRewind
from supervisor.core.usage import UsageMeter
from supervisor.engine.agent import Connected, Failure, Permission, SessionFailed, SessionStart, ToolRequest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Act = Callable[["FakeSession", str], Awaitable[None]]
"""What an agent does with a prompt; runs in the session's reader. Raises ``Gone`` to end the process."""
MODEL = "sonnet"


class Gone(Exception):  # noqa: N818
    """The agent's process ends by itself."""

    def __init__(self, failure: Failure | None) -> None:
        super().__init__()
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Sent:
    """One prompt as the agent's process got it."""

    ticket: str
    session_id: str
    uuid: str
    text: str


class Agents:
    """All agents of a test: what they shall do, what was asked of them, and what went wrong."""

    def __init__(self, config_dir: Path) -> None:
        self.config_dir = config_dir
        self._files = config_dir / "projects" / "stage"
        self._files.mkdir(parents=True)
        self.acts: defaultdict[str, deque[Act]] = defaultdict(deque)
        """By ticket, what its agent does with its next prompts."""
        self.default: Act = FakeSession.finish
        """What agents do with prompts that nothing was scripted for."""
        self.starts: defaultdict[str, deque[Failure | None]] = defaultdict(deque)
        """By ticket, how its next connects fail; None for one that works."""
        self.moments: dict[str, Callable[[FakeSession], Awaitable[object] | None]] = {}
        """Called once, when an agent is next at connecting, sending, interrupting, closing or closed."""
        self.sessions: list[FakeSession] = []
        self.sent: list[Sent] = []
        self.answered: set[str] = set()
        self.faults: list[str] = []
        """What must never happen and did."""
        self.kept: dict[str, float] = {}
        """By session, its total as a process wrote it down that left in good order."""
        self.paid: defaultdict[str, float] = defaultdict(float)
        """By ticket, what its agents have really cost."""
        self.checkpoints: defaultdict[str, dict[str, dict[Path, bytes | None]]] = defaultdict(dict)
        """By session and prompt, files as they were before it; None for one that was not there."""
        self.permissions: list[Permission] = []
        """What agents were answered that asked for tools."""
        self.changed: Callable[[], None] = lambda: None
        """Called after each change, for those who wait."""

    def new_session(self, start: SessionStart, clock: Callable[[], float]) -> FakeSession:
        """Return another session; this is the engine's factory."""
        self.sessions.append(FakeSession(self, start, clock))
        return self.sessions[-1]

    def of(self, ticket: str) -> list[FakeSession]:
        """Return a ticket's sessions, oldest first."""
        return [s for s in self.sessions if s.start.ticket == ticket]

    def open(self, ticket: str | None = None) -> list[FakeSession]:
        """Return the sessions with a living process."""
        return [s for s in self.sessions if s.alive and ticket in (None, s.start.ticket)]

    def prompts(self, ticket: str) -> list[Sent]:
        """Return what was sent to a ticket's agents."""
        return [s for s in self.sent if s.ticket == ticket]

    def path(self, session_id: str) -> Path:
        """Return where a session's file is or would be."""
        return self._files / f"{session_id}.jsonl"

    def fault(self, words: str) -> None:
        """Note something that must never happen."""
        self.faults.append(words)

    async def moment(self, name: str, session: FakeSession) -> None:
        """Let the test act at a moment of a session."""
        self.changed()
        act = self.moments.pop(name, None)
        waits = act(session) if act is not None else None
        if waits is not None:
            await waits


class FakeSession:
    """One scripted agent; see ``AgentSession``."""

    def __init__(self, agents: Agents, start: SessionStart, clock: Callable[[], float]) -> None:
        self.agents, self.start, self.clock = agents, start, clock
        self.usage = UsageMeter()
        self._meter = CostMeter()
        self._total = 0.0
        """What the session has cost, as this process counts it."""
        self.agent_started = self.answered = self.alive = self.killed = False
        self.failure: Failure | None = None
        self.unknown = self.closes = 0
        self.interrupted = anyio.Event()
        self.prompt: str | None = None
        self._queued: str | None = None
        """A prompt that has come in and has not been begun."""
        self._life = anyio.CancelScope()
        self._to_agent, self._prompts = anyio.create_memory_object_stream[str](math.inf)
        self._out, self._events = anyio.create_memory_object_stream[ev.Event](math.inf)

    async def connect(self) -> Connected:
        """Start as scripted, or as the CLI would: an unknown session is refused, a used id cannot begin again."""
        self._check_start()
        self.alive = True
        await self.agents.moment("connecting", self)
        await anyio.lowlevel.checkpoint()
        starts = self.agents.starts[self.start.ticket]
        failure = starts.popleft() if starts else None
        if failure is None and self.start.resume and not self.agents.path(self.start.session_id).exists():
            failure = Failure("No conversation found", exit_code=1, subtype="error_during_execution")
        if failure is not None:
            self.alive = False
            raise SessionFailed(failure)
        self._total = self.agents.kept.get(self.start.session_id, 0.0) if self.start.resume else 0.0
        self._meter = CostMeter(self._total)
        return Connected(None, self._total)

    def _check_start(self) -> None:
        ident = self.start.session_id
        if any(s.start.session_id == ident for s in self.agents.open()):
            self.agents.fault(f"two processes in session {ident}")
        if not self.start.resume and self.agents.path(ident).exists():
            self.agents.fault(f"session {ident} is begun a second time")

    async def read(self) -> None:
        """Be the agent: act on one prompt after the other until the process ends."""
        try:
            with self._life:
                async for uuid in self._prompts:
                    if uuid == self._queued:
                        acts = self.agents.acts[self.start.ticket]
                        await (acts.popleft() if acts else self.agents.default)(self, uuid)
        except Gone as gone:
            self.failure = gone.failure
        finally:
            self.alive = False
            self._out.close()
            self.agents.changed()

    async def send(self, uuid: str, text: str) -> None:
        """Take a prompt and check that it may be sent."""
        if self.prompt is not None and not self.answered:
            self.agents.fault(f"{uuid} was sent while {self.prompt} was outstanding")
        if uuid in self.agents.answered:
            self.agents.fault(f"{uuid} was sent again after it had been answered")
        if any(s.uuid == uuid and s.session_id != self.start.session_id for s in self.agents.sent):
            self.agents.fault(f"{uuid} was sent to two sessions")
        self.prompt, self.answered = uuid, False
        await self.agents.moment("sending", self)
        await anyio.lowlevel.checkpoint()
        self.agents.sent.append(Sent(self.start.ticket, self.start.session_id, uuid, text))
        self.agents.changed()
        if self.failure is not None or not self.alive:
            raise SessionFailed(self.failure or Failure("the process is gone"))
        self._queued = uuid
        self._to_agent.send_nowait(uuid)

    async def next_event(self) -> ev.Event | None:
        """Return the next event; None when the stream has ended."""
        try:
            return await self._events.receive()
        except anyio.EndOfStream:
            return None

    def drain(self) -> list[ev.Event]:
        """Return the events that nobody asked for."""
        left = []
        try:
            while True:
                left.append(self._events.receive_nowait())
        except (anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
            for stream in (self._out, self._events, self._to_agent, self._prompts):
                stream.close()
        return left

    async def interrupt(self) -> bool:
        """Stop the turn; return whether the prompt had not been begun and was dropped."""
        await self.agents.moment("interrupting", self)
        self.interrupted.set()
        dropped, self._queued = self._queued, None
        return dropped is not None

    async def ask(self, *requests: ToolRequest) -> list[Permission] | None:
        """Ask for tools, all at the same time; None when an interrupt took the question back."""
        asker, answers = self.start.asker, dict[int, Permission]()
        assert asker is not None

        async def one(place: int, request: ToolRequest) -> None:
            answers[place] = await asker.ask(request)
            self.agents.changed()

        async def give_up() -> None:
            await self.interrupted.wait()
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(give_up)
            async with anyio.create_task_group() as calls:
                for place, request in enumerate(requests):
                    calls.start_soon(one, place, request)
            group.cancel_scope.cancel()
        self.agents.permissions += answers.values()
        return [answers[i] for i in range(len(requests))] if len(answers) == len(requests) else None

    def edit(self, name: str, text: str) -> None:
        """Write a file with a tool of the agent's own, of which the session keeps a checkpoint."""
        file = self.start.cwd / name
        was = file.read_bytes() if file.exists() else None
        for files in self.agents.checkpoints[self.start.session_id].values():
            files.setdefault(file, was)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    async def rewind_files(self, prompt: str, *, dry_run: bool) -> EditRewind:
        """Take edits back, and nothing that a command did."""
        await self.agents.moment("asking" if dry_run else "rewinding", self)
        if not self.alive:
            return EditRewind(error="the process is gone")
        files = self.agents.checkpoints[self.start.session_id].get(prompt)
        if files is None:
            return EditRewind(error="No file checkpoint found for this message.")
        differ = [f for f, was in files.items() if (f.read_bytes() if f.exists() else None) != was]
        if dry_run:
            return EditRewind(tuple(map(str, differ)))
        for file in differ:
            was = files[file]
            if was is None:
                file.unlink()
            else:
                file.write_bytes(was)
            await self.agents.moment("rewound", self)
        return EditRewind()

    async def close(self) -> bool:
        """End the process, never cut short."""
        self.closes += 1
        if self.closes > 1:
            self.agents.fault(f"{self.start.ticket}: closed twice")
        with anyio.CancelScope(shield=True):
            await self.agents.moment("closing", self)
            await anyio.lowlevel.checkpoint()
            self.leave()
            await self.agents.moment("closed", self)
        return True

    def leave(self) -> None:
        """Leave in good order: what the session has cost is written down. A process that is gone already cannot."""
        if self.alive and self.agents.path(self.start.session_id).exists():
            self.agents.kept[self.start.session_id] = self._total
        if self.alive and self._total != self._meter.total_usd:  # the real one writes it in any case
            with self.agents.path(self.start.session_id).open("a") as out:
                out.write(json.dumps({"type": "cost-state", "totalCostUSD": self._total}) + "\n")
        self.alive = False

    async def kill(self) -> None:
        """End the process at once."""
        if self.alive:
            self.killed = True
            self.failure = Failure("killed", exit_code=-9)
            self._life.cancel()

    def stderr_tail(self) -> str:
        """Return the last lines of standard error."""
        return ""

    def begin(self, uuid: str) -> None:
        """The agent takes the prompt in: it reaches the session's file."""
        self._queued = None
        self.agents.checkpoints[self.start.session_id].setdefault(uuid, {})
        self.write({"type": "user", "uuid": uuid, "message": {"content": "…"}})
        self.agents.changed()

    def write(self, line: Mapping[str, object]) -> None:
        """Add a line to the session's file, after the last one."""
        at, path = datetime.fromtimestamp(self.clock(), UTC).isoformat(), self.agents.path(self.start.session_id)
        lines = map(json.loads, reversed(path.read_text().splitlines() if path.exists() else []))
        last = next((line["uuid"] for line in lines if "uuid" in line), None)
        ids = {"uuid": str(uuid4()), "parentUuid": last, "sessionId": self.start.session_id}
        with path.open("a") as out:
            out.write(json.dumps({"timestamp": at, **ids, **line}) + "\n")

    def speak(
        self,
        text: str = "I look at it.",
        tokens: int = 0,
        message_id: str = "m1",
        *,
        usd: float = 0.0,
        ends: bool = False,
    ) -> None:
        """Say something; ``tokens`` are used for it that no result has accounted for yet; ``ends`` the turn with it.

        ``usd`` is what that costs: part of the session's total, and of the next result's.
        """
        self.agent_started = True
        self._pay(usd)
        usage = {"input_tokens": tokens}
        if tokens:
            self.usage.see(message_id, MODEL, usage)
        content = [{"type": "text", "text": text}]
        message = {"id": message_id if tokens else str(uuid4()), "model": MODEL, "usage": usage, "content": content}
        self.write({"type": "assistant", "message": {**message, "stop_reason": "end_turn" if ends else None}})
        self.put(ev.AgentSpoke(self.start.ticket, self.clock(), text=text))

    def _pay(self, usd: float) -> None:
        self._total += usd
        self.agents.paid[self.start.ticket] += usd

    @property
    def total_usd(self) -> float:
        """The session's total as of the last result."""
        return self._meter.total_usd

    @property
    def spent(self) -> float:
        """What this process has spent, which is what its cap counts."""
        return self._total - self._meter.baseline_usd

    def reset(self) -> None:
        """Begin another conversation in the same process: its totals begin again."""
        self._total = 0.0
        self._meter.reset()

    def put(self, event: ev.Event) -> None:
        """Put an event on the stream."""
        self._out.send_nowait(event)

    def result(self, uuid: str | None, subtype: str, reason: str | None, cost: float = 0.1, **more: Any) -> None:
        """Report a result, as the adapter would; ``cost`` is what the turn cost beside what was said to cost before."""
        if uuid is not None:
            self.agents.answered.add(uuid)
            self.answered = self.answered or uuid == self.prompt
        self._pay(cost)
        cost = self._meter.turn(self._total)
        figures = {"total_cost_usd": self._total, "largest_call_usd": self.usage.settle(cost)}
        fields: dict[str, Any] = {"is_error": subtype != "success", "num_turns": 1, **figures, **more}
        ids = (self.start.ticket, self.clock(), self.start.attempt)
        self.put(ev.TurnEnded(*ids, uuid, subtype, reason, cost_usd=cost, **fields))

    async def finish(self, uuid: str, cost: float = 0.1, **more: Any) -> None:
        """Do what was asked and say so."""
        self.begin(uuid)
        self.speak("All done.", ends=True)
        self.result(uuid, "success", "completed", cost, **more)
