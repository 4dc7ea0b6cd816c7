"""What happens to a ticket, as frozen events, and the one function that folds them into a snapshot.

``reduce`` is total: any event may meet any snapshot. A move that ``model.TRANSITIONS`` does not allow changes nothing.
Events with ``lasts = True`` are written to the store before they reach the board; the others only feed the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from supervisor.core.model import (
    ACTIVE,
    Mode,
    Outcome,
    PromptKind,
    State,
    TicketSnapshot,
    Why,
    is_legal,
)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to one ticket at one time."""

    lasts: ClassVar[bool] = False
    ticket: str
    at: float


@dataclass(frozen=True, slots=True)
class TicketAdded(Event):
    """The file names this ticket: a new one, or what the file now says of a known one."""

    lasts: ClassVar[bool] = True
    title: str
    order: int
    priority: int = 0
    after: tuple[str, ...] = ()
    budget_usd: float | None = None
    reserve_usd: float = 0.0
    model: str | None = None
    parent: str | None = None
    instructions: str = ""
    """Fingerprint of the prompt and rules, to notice that they changed."""


@dataclass(frozen=True, slots=True)
class StateChanged(Event):
    """The ticket moves to another state, or says something new about the state it is in."""

    lasts: ClassVar[bool] = True
    to: State
    why: Why | None = None
    detail: str = ""
    until: float | None = None
    live: bool = False
    by_operator: bool = False
    """The operator asked for it: failures before it are forgiven."""


@dataclass(frozen=True, slots=True)
class WorktreeReady(Event):
    """The ticket has its own working tree."""

    lasts: ClassVar[bool] = True
    path: str
    branch: str
    base_commit: str


@dataclass(frozen=True, slots=True)
class WorktreeLost(Event):
    """The working tree has to be made again; until ``WorktreeReady`` no agent may start in it."""

    lasts: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class AttemptStarted(Event):
    """An attempt's row exists, with the session id it is about to use."""

    lasts: ClassVar[bool] = True
    number: int
    mode: Mode
    session_id: str
    resumed_from: str | None = None
    model: str | None = None
    cap_usd: float | None = None


@dataclass(frozen=True, slots=True)
class AttemptConnected(Event):
    """The agent's process answered."""

    lasts: ClassVar[bool] = True
    number: int
    pid: int | None = None
    pid_start: int | None = None
    boot_id: str | None = None
    baseline_usd: float | None = None


@dataclass(frozen=True, slots=True)
class PromptStored(Event):
    """A prompt is on disk and will be sent next."""

    lasts: ClassVar[bool] = True
    number: int
    uuid: str
    kind: PromptKind
    text: str
    instructions: str = ""
    """Fingerprint of the instructions that the session knows once it has read this prompt."""


@dataclass(frozen=True, slots=True)
class SessionReplaced(Event):
    """The conversation was reset and goes on under another id, its running totals back at zero."""

    lasts: ClassVar[bool] = True
    number: int
    session_id: str


@dataclass(frozen=True, slots=True)
class TurnEnded(Event):
    """A result arrived. ``cost_usd`` is the difference this turn made, not the session's total."""

    lasts: ClassVar[bool] = True
    number: int
    prompt_uuid: str | None
    """The prompt it answers; None for a result that is not ours (a ghost)."""
    subtype: str
    terminal_reason: str | None
    is_error: bool
    num_turns: int
    cost_usd: float
    total_cost_usd: float | None = None
    api_error_status: int | None = None
    errors: tuple[str, ...] = ()
    text: str = ""
    denials: tuple[str, ...] = ()
    prices: Mapping[str, Mapping[str, float]] | None = None
    """``model_usage`` as reported: tokens and cost by model, cumulative."""


@dataclass(frozen=True, slots=True)
class AttemptEnded(Event):
    """An attempt's row is complete."""

    lasts: ClassVar[bool] = True
    number: int
    outcome: Outcome
    detail: str = ""
    exit_code: int | None = None
    stderr_tail: str = ""
    estimated_usd: float = 0.0
    """Spend of a turn that never reported one, estimated from its messages."""


@dataclass(frozen=True, slots=True)
class Verified(Event):
    """The ticket's verify command ran."""

    lasts: ClassVar[bool] = True
    round: int
    exit_code: int | None
    """None when it ran out of time."""
    output: str = ""


@dataclass(frozen=True, slots=True)
class BudgetChanged(Event):
    """The operator (or ``on_limit``) set another limit."""

    lasts: ClassVar[bool] = True
    budget_usd: float | None


@dataclass(frozen=True, slots=True)
class Wished(Event):
    """The operator's verb is on disk and will be carried out, also by the next supervisor; None takes it back."""

    lasts: ClassVar[bool] = True
    verb: str | None


@dataclass(frozen=True, slots=True)
class VerbPending(Event):
    """The operator pressed a key whose effect is under way; None clears the mark."""

    verb: str | None


@dataclass(frozen=True, slots=True)
class AgentSpoke(Event):
    """Text of the agent."""

    text: str
    nested: bool = False
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class ToolCalled(Event):
    """The agent uses a tool."""

    tool_use_id: str
    name: str
    summary: str
    """The one thing worth showing of the input, such as a path or a command."""
    detail: str = ""
    nested: bool = False


@dataclass(frozen=True, slots=True)
class ToolReturned(Event):
    """A tool's result came back."""

    tool_use_id: str
    text: str
    is_error: bool = False
    nested: bool = False


@dataclass(frozen=True, slots=True)
class Retrying(Event):
    """The CLI waits before it asks the API again."""

    attempt: int
    max_retries: int
    delay_s: float
    status: int | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Noted(Event):
    """A system note for the transcript (compaction, rate limits, unknown messages, recovery)."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class UsageSeen(Event):
    """Token usage of one assistant message. Repeated on each of its blocks; count it once for each message id."""

    message_id: str
    model: str
    usage: Mapping[str, int]


def _added(s: TicketSnapshot, e: TicketAdded) -> TicketSnapshot:
    return replace(
        s,
        title=e.title,
        order=e.order,
        priority=e.priority,
        after=e.after,
        budget_usd=e.budget_usd,
        reserve_usd=e.reserve_usd,
        model=e.model,
        parent=e.parent,
        instructions=e.instructions,
        created=s.created or e.at,
    )


def _moved(s: TicketSnapshot, e: StateChanged) -> TicketSnapshot:
    if e.to is not s.state and not is_legal(s.state, e.to):
        return s
    ended = s.ended if e.to is s.state else (e.at if e.to in (State.DONE, State.FAILED, State.CANCELLED) else None)
    return replace(
        s,
        state=e.to,
        why=e.why if e.to is State.NEEDS_YOU else None,
        detail=e.detail,
        until=e.until,
        live=e.live or e.to in ACTIVE,
        pending=s.pending if e.to in ACTIVE or e.to is s.state else None,
        operator_at=e.at if e.by_operator else s.operator_at,
        started=e.at if s.started is None and e.to is State.STARTING else s.started,
        ended=ended,
        last_activity=e.at,
    )


def _worktree(s: TicketSnapshot, e: WorktreeReady) -> TicketSnapshot:
    return replace(s, worktree=e.path, branch=e.branch, base_commit=e.base_commit)


def _lost(s: TicketSnapshot, e: WorktreeLost) -> TicketSnapshot:
    return replace(s, worktree=None)


def _started(s: TicketSnapshot, e: AttemptStarted) -> TicketSnapshot:
    return replace(
        s,
        attempts=max(s.attempts, e.number),
        mode=e.mode,
        session_id=e.session_id,
        model=e.model or s.model,
        subtype=None,
        terminal_reason=None,
        last_activity=e.at,
    )


def _prompted(s: TicketSnapshot, e: PromptStored) -> TicketSnapshot:
    return replace(s, session_instructions=e.instructions or s.session_instructions, last_activity=e.at)


def _replaced(s: TicketSnapshot, e: SessionReplaced) -> TicketSnapshot:
    return replace(s, session_id=e.session_id, last_activity=e.at)


def _turn(s: TicketSnapshot, e: TurnEnded) -> TicketSnapshot:
    spent = s.spent_usd + max(0.0, e.cost_usd)
    if e.prompt_uuid is None:
        return replace(s, spent_usd=spent, last_activity=e.at)
    return replace(
        s,
        subtype=e.subtype,
        terminal_reason=e.terminal_reason,
        turns=s.turns + max(0, e.num_turns),
        spent_usd=spent,
        denials=s.denials + len(e.denials),
        last_activity=e.at,
    )


def _ended(s: TicketSnapshot, e: AttemptEnded) -> TicketSnapshot:
    extra = max(0.0, e.estimated_usd)
    return replace(
        s,
        spent_usd=s.spent_usd + extra,
        estimated_usd=s.estimated_usd + extra,
        live=False,
        last_activity=e.at,
    )


def _budget(s: TicketSnapshot, e: BudgetChanged) -> TicketSnapshot:
    return replace(s, budget_usd=e.budget_usd, pending=None)


def _pending(s: TicketSnapshot, e: VerbPending | Wished) -> TicketSnapshot:
    return replace(s, pending=e.verb)


def _spoke(s: TicketSnapshot, e: AgentSpoke) -> TicketSnapshot:
    return _busy(s, e.at, "thinking" if e.thinking else e.text)


def _tool(s: TicketSnapshot, e: ToolCalled) -> TicketSnapshot:
    return _busy(s, e.at, f"{e.name} {e.summary}".rstrip())


def _returned(s: TicketSnapshot, e: ToolReturned) -> TicketSnapshot:
    return replace(s, last_activity=e.at)


def _retrying(s: TicketSnapshot, e: Retrying) -> TicketSnapshot:
    if s.state is not State.RUNNING:
        return s
    cause = f"API {e.status}" if e.status else "API unreachable"
    return replace(
        s,
        detail=f"{cause}, retry {e.attempt}/{e.max_retries}",
        until=e.at + max(0.0, e.delay_s),
        last_activity=e.at,
    )


def _verified(s: TicketSnapshot, e: Verified) -> TicketSnapshot:
    return replace(s, last_activity=e.at)


_DETAIL_CHARS = 200


def _busy(s: TicketSnapshot, at: float, words: str) -> TicketSnapshot:
    if s.state is not State.RUNNING:
        return s
    return replace(s, detail=words[:_DETAIL_CHARS], until=None, last_activity=at)


def _same(s: TicketSnapshot, _: Event) -> TicketSnapshot:
    return s


_REDUCERS: dict[type[Event], Callable[..., TicketSnapshot]] = {
    TicketAdded: _added,
    StateChanged: _moved,
    WorktreeReady: _worktree,
    WorktreeLost: _lost,
    Wished: _pending,
    AttemptStarted: _started,
    AttemptConnected: _same,
    PromptStored: _prompted,
    SessionReplaced: _replaced,
    TurnEnded: _turn,
    AttemptEnded: _ended,
    Verified: _verified,
    BudgetChanged: _budget,
    VerbPending: _pending,
    AgentSpoke: _spoke,
    ToolCalled: _tool,
    ToolReturned: _returned,
    Retrying: _retrying,
    Noted: _same,
    UsageSeen: _same,
}


def reduce(snapshot: TicketSnapshot, event: Event) -> TicketSnapshot:
    """Fold one event into a ticket's snapshot. Total: never raises, returns the same object if nothing changed."""
    return _REDUCERS.get(type(event), _same)(snapshot, event)
