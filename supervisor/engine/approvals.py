"""An attempt's side of tool requests: what an agent may do at once, what the operator is asked, what the model reads.

A request comes in a task of the agent's side, which is cancelled whenever that side wants no answer: it only waits.
Everything is written by tasks of the attempt's own. An interrupt of ours and a request that the model gave up look the
same from there, so an ask that shall outlive its agent is marked before we interrupt; only others are withdrawn.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.asks import AnswerKind, Ask, AskKind, AskState, fingerprint_of, questions_in, reply_text
from supervisor.core.payloads import redact
from supervisor.engine.agent import EXIT_PLAN_MODE, Permission, ToolRequest
from supervisor.engine.tool_rules import EDITS
from supervisor.engine.translate import describe_input
from supervisor.engine.untrusted import bounded, kept

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyio.abc import TaskGroup

    from supervisor.engine.context import Engine

_KINDS = {"AskUserQuestion": AskKind.QUESTION, EXIT_PLAN_MODE: AskKind.PLAN}
_PLANNING = "Nothing was written: this session is in plan mode. Finish the plan and ask for it to be approved first."
_CLOSING = "Nothing was done: this session is ending."
_DENIED = {
    AskKind.PERMISSION: "The operator denied this. Go on without it.",
    AskKind.QUESTION: "The operator does not answer this. Decide for yourself.",
    AskKind.PLAN: "The operator does not approve this plan. Revise it.",
}


@dataclass(slots=True)
class _Call:
    """One request of the agent's, as long as its side waits for the answer."""

    request: ToolRequest
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    over: anyio.Event = field(default_factory=anyio.Event)
    """An answer is on the disk, or nobody wants one any more."""
    done: anyio.Event = field(default_factory=anyio.Event)
    permission: Permission = Permission(False, _CLOSING)  # noqa: RUF009 - frozen


class Approvals:
    """Answers the tool requests of one attempt; see ``ToolAsker``."""

    def __init__(self, engine: Engine, ticket: str, number: int) -> None:
        self._desk = engine.asks
        self._board = engine.board
        self._clock = engine.clock
        self._worktree = f"{engine.worktrees.path(ticket)}/"
        self._ticket = ticket
        self._number = number
        self._group: TaskGroup | None = None
        self._calls: dict[str, _Call] = {}
        self._rests = False
        """The agent is let rest: what it asks is kept, and no answer reaches it any more."""

    @property
    def active(self) -> bool:
        """Whether a request waits: then an agent that says nothing is not stalled."""
        return bool(self._calls)

    def begin(self, group: TaskGroup) -> None:
        """Take requests from now on, and answer them in tasks of this group."""
        self._group = group

    def leave(self) -> None:
        """From now on the agent is being stopped: what it asks is kept for the operator, and no answer reaches it."""
        self._rests = True
        for ident in self._calls:
            self._desk.close(ident)

    async def let_go(self) -> None:
        """The agent is about to be interrupted: keep what it asks if it is to rest, else drop it. Raises StoreError."""
        for ask in self._desk.waiting(self._ticket):
            if ask.state is AskState.OPEN:
                await self._let_go(ask)

    def shut(self) -> None:
        """Take no more requests."""
        self._group = None

    async def end(self, *, cut: bool) -> None:
        """The agent is gone. What it asked is kept if we ended it (``cut``: by an error of ours). Raises StoreError."""
        if cut:
            self.leave()
        await self.let_go()

    async def _let_go(self, ask: Ask) -> None:
        await (self._desk.rest(ask) if self._rests else self._desk.withdraw(ask))

    async def ask(self, request: ToolRequest) -> Permission:
        """Return the answer to a request, however long that takes."""
        call = _Call(request)
        if self._group is None:
            return call.permission
        self._group.start_soon(self._serve, call)
        try:
            await call.done.wait()
        finally:
            call.over.set()
        return call.permission

    async def _serve(self, call: _Call) -> None:
        self._calls[call.id] = call
        try:
            call.permission = await self._answered(call)
        finally:
            del self._calls[call.id]
            self._desk.close(call.id)
            call.done.set()

    async def _answered(self, call: _Call) -> Permission:
        request = call.request
        if request.planning and request.tool in EDITS:
            return Permission(False, _PLANNING)
        same = fingerprint_of(request.tool, request.input)
        granted = await self._desk.use_grant(self._ticket, same, request.tool_use_id)
        if granted is not None:
            return permission(granted, request)
        if call.over.is_set():
            return call.permission
        await self._desk.open(self._opened(call, same), None if self._rests else call.over)
        await call.over.wait()
        ask = self._board.ask(call.id)
        if ask is not None and ask.state is AskState.OPEN:
            await self._let_go(ask)
        return permission(ask, request) if ask is not None else call.permission

    def _opened(self, call: _Call, fingerprint: str) -> ev.AskOpened:
        request, secrets = call.request, self._desk.secrets
        kind = _KINDS.get(request.tool, AskKind.PERMISSION)
        return ev.AskOpened(
            self._ticket,
            self._clock(),
            call.id,
            self._number,
            kind,
            bounded(request.tool, 200),
            fingerprint,
            redact(_summary(kind, request.input, self._worktree), secrets)[:300],
            kept(request.input, lambda text: redact(text, secrets)),
            bounded(request.tool_use_id, 200),
            bounded(redact(request.reason, secrets), 1000),
            # a rule without the secret would allow something else
            request.rules if all(redact(rule, secrets) == rule for rule in request.rules) else (),
            bounded(request.agent, 200) or None,
        )


def _summary(kind: AskKind, given: Mapping[str, object], worktree: str) -> str:
    """Return the one thing worth showing of an input, in one line; the agent's side spells all paths in full."""
    if kind is AskKind.QUESTION:
        told = next((q.text for q in questions_in(given)), "")
    elif kind is AskKind.PLAN:
        plan = given.get("plan")
        told = plan if isinstance(plan, str) else ""
    else:
        told = describe_input(given)[0].removeprefix(worktree)
    return bounded(next((line.strip() for line in told.splitlines() if line.strip()), ""), 300)


def permission(ask: Ask, request: ToolRequest) -> Permission:
    """Return what an answered ask means for a request."""
    match ask.answer:
        case AnswerKind.ALLOW | AnswerKind.ALLOW_SESSION:
            return Permission(True, for_session=ask.answer is AnswerKind.ALLOW_SESSION)
        case AnswerKind.REPLY:
            return Permission(True, input={**request.input, "answers": _replies(ask, request)})
        case AnswerKind.DENY | AnswerKind.DENY_STOP:
            message = ask.message.strip() or _DENIED[ask.kind]
            return Permission(False, message, stop=ask.answer is AnswerKind.DENY_STOP)
        case None:
            return Permission(False, _CLOSING)


def _replies(ask: Ask, request: ToolRequest) -> dict[str, str]:
    """Return the replies under the questions as the agent put them: what is kept of those may be cut."""
    asked = zip(questions_in(ask.input), questions_in(request.input), strict=False)
    return {q.text: reply_text(ask.answers[known.text]) for known, q in asked if known.text in ask.answers}
