"""States of a ticket, the whole table of legal moves, and the frozen records that cross module boundaries.

Owns no behaviour beyond small derived properties. Times are seconds since the epoch, money is USD.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from supervisor.core.diffs import Diff
from supervisor.core.limits import Window
from supervisor.core.spec import DEFAULT_RESERVE_USD

LIVE: Mapping[str, bool] = MappingProxyType({"live": True})
"""Metadata of a field that is known only while the supervisor lives, and is not stored."""


class State(StrEnum):
    """Where a ticket is in its life. The value is the word the operator reads."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    NEEDS_YOU = "needs_you"
    PARKED = "parked"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Why(StrEnum):
    """Why a ticket needs the operator."""

    APPROVE_TOOL = "approve_tool"
    APPROVE_EFFECT = "approve_effect"
    UNRESOLVED_EFFECT = "unresolved_effect"
    QUESTION = "question"
    LIMIT = "limit"
    VERIFY = "verify"
    CONFLICT = "conflict"
    AUTH = "auth"
    STALLED = "stalled"
    LEDGER = "ledger"
    """An effect was not run because the ledger could not be written."""


class Mode(StrEnum):
    """How an attempt came to its session."""

    FRESH = "fresh"
    RESUME = "resume"
    FORK = "fork"
    FALLBACK = "fallback"


class Outcome(StrEnum):
    """What an attempt came to, decided by ``core.resume``; ``LOST`` is given to rows a crash left open."""

    DONE = "done"
    LIMIT = "limit"
    API_ERROR = "api_error"
    INTERRUPTED = "interrupted"
    FAILED_RESUME = "failed_resume"
    FAILED_RUN = "failed_run"
    CRASHED = "crashed"
    LOST = "lost"


class PromptKind(StrEnum):
    """Why a prompt of ours was sent."""

    TASK = "task"
    CONTINUE = "continue"
    VERIFY = "verify"
    MESSAGE = "message"


_Q, _S, _R, _N = State.QUEUED, State.STARTING, State.RUNNING, State.NEEDS_YOU
_K, _P, _D, _F, _C = State.PARKED, State.PAUSED, State.DONE, State.FAILED, State.CANCELLED

TRANSITIONS: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        _Q: frozenset({_S, _N, _P, _C}),
        _S: frozenset({_R, _D, _Q, _K, _N, _P, _F, _C}),
        _R: frozenset({_D, _F, _N, _P, _K, _Q, _C}),
        _N: frozenset({_R, _Q, _P, _F, _C}),
        _K: frozenset({_Q, _P, _C}),
        _P: frozenset({_Q, _C}),
        _D: frozenset({_Q}),
        _F: frozenset({_Q, _C}),
        _C: frozenset({_Q}),
    }
)
"""Every legal move.

A ticket whose supervisor stopped or died goes from starting or running back to queued. One whose work was finished
then goes from starting straight to done, without an agent.
"""

RESTING = frozenset({State.DONE, State.FAILED, State.PAUSED, State.CANCELLED, State.NEEDS_YOU})
"""States without an agent (``NEEDS_YOU`` only when it is not live)."""

ACTIVE = frozenset({State.STARTING, State.RUNNING})
"""States that hold a slot."""


def is_legal(old: State, new: State) -> bool:
    """Return whether a ticket may move from ``old`` to ``new``."""
    return new in TRANSITIONS[old]


@dataclass(frozen=True, slots=True)
class TicketSnapshot:
    """Everything the board shows of one ticket. Replaced, never changed; identity tells whether to redraw."""

    id: str
    title: str = ""
    order: int = 0
    """Place in the file; with ``priority`` it fixes the row's place."""
    priority: int = 0
    parent: str | None = None
    after: tuple[str, ...] = ()
    state: State = State.QUEUED
    why: Why | None = None
    detail: str = ""
    """What it waits for or does right now, in a few words. Untrusted text: made safe by whoever draws it."""
    live: bool = False
    """An agent's process is attached."""
    until: float | None = None
    """When a parked ticket goes on, or when the API is asked again."""
    attempts: int = 0
    mode: Mode | None = None
    """Mode of the latest attempt."""
    subtype: str | None = None
    terminal_reason: str | None = None
    turns: int = 0
    """The SDK's ``num_turns``, summed over the prompts of all attempts."""
    spent_usd: float = 0.0
    estimated_usd: float = 0.0
    """The part of ``spent_usd`` that is an estimate for attempts which died without a result."""
    turn_usd: float = field(default=0.0, metadata=LIVE)
    """What the turn under way has cost so far by its messages: an estimate beside ``spent_usd``."""
    tools: tuple[tuple[str, str], ...] = field(default=(), metadata=LIVE)
    """The tools that are at work for the agent: the call's id, and what is shown of it."""
    held_by: str = field(default="", metadata=LIVE)
    """What keeps an agent from going on and has to be done first, in words that follow the ticket's id: an effect of
    its own or of its lineage that waits or is under way. Safe to draw; empty for none."""
    budget_usd: float | None = None
    reserve_usd: float = 0.0
    """Kept free below the budget: what the file says, or the largest API call of its model so far."""
    tokens: int = 0
    """Input, output and what was written to the cache, over all attempts."""
    budget_turns: int | None = None
    """Most turns over all attempts."""
    budget_tokens: int | None = None
    session_id: str | None = None
    worktree: str | None = None
    branch: str | None = None
    base_commit: str | None = None
    model: str | None = None
    denials: int = 0
    """Tool calls the agent was refused, shown even on success."""
    instructions: str = ""
    """Fingerprint of what the file tells the agent now."""
    session_instructions: str | None = None
    """Fingerprint of what the session was told; None before its first prompt."""
    pending: str | None = None
    """A verb the operator gave that has not been carried out yet; it survives a restart."""
    messages: int = 0
    """Messages of the operator's that the agent has not been given yet."""
    asks: int = 0
    """Asks of the agent's that wait for the operator."""
    max_turns: int | None = None
    file_budget_usd: float | None = None
    """What the file said last; the operator's own limits and priority hold until the file says something new."""
    file_max_turns: int | None = None
    file_budget_turns: int | None = None
    file_budget_tokens: int | None = None
    file_priority: int = 0
    operator_at: float | None = None
    """When the operator last took the ticket up again: failures before that are forgiven."""
    created: float = 0.0
    started: float | None = None
    ended: float | None = None
    last_activity: float | None = None

    @property
    def headroom_usd(self) -> float | None:
        """What the ticket may still spend; None without a budget, negative after an overshoot."""
        return None if self.budget_usd is None else self.budget_usd - self.spent_usd

    @property
    def so_far_usd(self) -> float:
        """What the ticket has cost, the turn under way included; see ``is_estimate``."""
        return self.spent_usd + self.turn_usd

    @property
    def is_estimate(self) -> bool:
        """Whether some of ``so_far_usd`` was not reported by a result."""
        return self.estimated_usd > 0 or self.turn_usd > 0

    @property
    def left_usd(self) -> float | None:
        """What is left of the budget right now, the turn under way included; None without a budget."""
        return None if self.headroom_usd is None else self.headroom_usd - self.turn_usd

    @property
    def is_short(self) -> bool:
        """Whether the headroom is less than the reserve, so that no further attempt can begin."""
        left = self.headroom_usd
        return left is not None and left < (self.reserve_usd or DEFAULT_RESERVE_USD)

    @property
    def turns_left(self) -> int | None:
        """How many turns it may still take over all attempts; None without such a budget."""
        return None if self.budget_turns is None else max(0, self.budget_turns - self.turns)

    @property
    def tokens_left(self) -> int | None:
        """How many tokens it may still use; None without such a budget."""
        return None if self.budget_tokens is None else max(0, self.budget_tokens - self.tokens)

    @property
    def stale_instructions(self) -> bool:
        """Whether the session still runs on instructions that the file has since changed."""
        return self.session_instructions is not None and self.session_instructions != self.instructions

    @property
    def holds_slot(self) -> bool:
        """Whether the ticket occupies one of the batch's slots."""
        return self.state in ACTIVE or self.live


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One connected run of the agent on a ticket: a row of the attempts table."""

    ticket: str
    number: int
    mode: Mode
    session_id: str
    started: float
    resumed_from: str | None = None
    model: str | None = None
    pid: int | None = None
    pid_start: int | None = None
    """Start time of the process in clock ticks since boot: with the boot id it names the process for good."""
    boot_id: str | None = None
    cap_usd: float | None = None
    baseline_usd: float | None = None
    """The session's ``total_cost_usd`` right after connect (a resumed session carries its past)."""
    ended: float | None = None
    outcome: Outcome | None = None
    subtype: str | None = None
    terminal_reason: str | None = None
    is_error: bool | None = None
    api_error_status: int | None = None
    num_turns: int = 0
    cost_usd: float = 0.0
    estimated: bool = False
    errors: tuple[str, ...] = ()
    exit_code: int | None = None
    stderr_tail: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """One message of ours: stored before it is sent, so that it is never sent twice and never lost."""

    uuid: str
    ticket: str
    attempt: int
    kind: PromptKind
    text: str
    at: float
    answered: bool = False
    snapshot: str = ""
    """Commit that holds the files as they were when it was sent; empty where none could be taken."""


class EntryKind(StrEnum):
    """Kinds of lines in a transcript."""

    PROMPT = "prompt"
    TEXT = "text"
    THINKING = "thinking"
    TOOL = "tool"
    RESULT = "result"
    NOTE = "note"
    ENDING = "ending"
    PENDING = "pending"
    """A message that the agent has not been given: only screens put it after what a transcript holds."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ticket's transcript. ``text`` and ``detail`` are untrusted and bounded, not yet made safe."""

    seq: int
    """Grows by one for each entry of the ticket; never reused."""
    at: float
    kind: EntryKind
    text: str
    """What stands on the line: the words, or for a tool its name."""
    detail: str = ""
    """For a tool its input, for a result the output, for a prompt what the supervisor added; may hold many lines."""
    tool_use_id: str | None = None
    is_error: bool = False
    nested: bool = False
    """Said by a subagent."""
    prompt: PromptKind | None = None
    """Why a prompt was sent; None where that is not known."""
    diff: Diff | None = None
    """For an edit of a file: what was asked for, and with its result what came of it."""


@dataclass(frozen=True, slots=True)
class BatchTotals:
    """The summary bar's figures."""

    name: str = ""
    slots: int = 1
    counts: Mapping[State, int] = field(default_factory=dict)
    needs_you: int = 0
    """How many things wait for the operator, as ``core.waiting`` counts them: failed tickets are among them."""
    spent_usd: float = 0.0
    estimated_usd: float = 0.0
    """The part of ``spent_usd`` that is an estimate."""
    turn_usd: float = 0.0
    """What the turns under way have cost so far, an estimate beside ``spent_usd``."""
    budget_usd: float | None = None
    starting_paused: bool = False
    held: str = ""
    """Why no further ticket is started for now, in words for the operator; empty while they are."""
    notice: str = ""
    """One line about the whole batch (rate limits, authentication, recovery, stopping)."""
    rehearsal: bool = False
    stopping: bool = False
    waits_until: float | None = None
    """When the next ticket may start, while the API or a limit holds all of them back."""
    windows: tuple[Window, ...] = ()
    """What is used up of a subscription's windows."""
    notional: bool = False
    """The agents work on a subscription: what the SDK calls cost is not paid, so turns and tokens tell more."""
    tokens: int = 0
    forecast: str = ""
    """What the batch will have cost and when it will have ended, in one line; empty while nobody can tell."""

    def count(self, *states: State) -> int:
        """Return how many tickets are in any of ``states``."""
        return sum(self.counts.get(state, 0) for state in states)
