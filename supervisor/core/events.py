"""What happens to a ticket, as frozen events; ``core.fold`` says what each does to a snapshot.

Lasting events come first: the ticket and its place, its attempts and turns, what the operator changes, what agents ask.
Those that only feed the screen follow. One flat list, since readers look an event up by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from supervisor.core.asks import AnswerKind, AskKind
from supervisor.core.diffs import Diff
from supervisor.core.forks import Fork
from supervisor.core.limits import Window
from supervisor.core.model import Mode, Outcome, PromptKind, State, Why

ELSEWHERE: Mapping[str, bool] = MappingProxyType({"elsewhere": True})
"""Marks a field that the events table leaves out, since a row of its own keeps it."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to one ticket at one time."""

    lasts: ClassVar[bool] = False
    ticket: str
    at: float


@dataclass(frozen=True, slots=True)
class Lasting(Event):
    """An event that is written to the store before it reaches the board."""

    lasts: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class TicketAdded(Lasting):
    """The file names this ticket: a new one, or what the file now says of a known one."""

    title: str
    order: int
    priority: int = 0
    after: tuple[str, ...] = ()
    budget_usd: float | None = None
    reserve_usd: float = 0.0
    max_turns: int | None = None
    model: str | None = None
    parent: str | None = None
    instructions: str = ""
    """Fingerprint of the prompt and rules, to notice that they changed."""
    budget_turns: int | None = None
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class StateChanged(Lasting):
    """The ticket moves to another state, or says something new about the state it is in."""

    to: State
    why: Why | None = None
    detail: str = ""
    until: float | None = None
    live: bool = False
    by_operator: bool = False
    """The operator asked for it: failures before it are forgiven."""
    letters: tuple[str, ...] = ()
    """The operator's letters that this carries out: they are closed in the same transaction."""


@dataclass(frozen=True, slots=True)
class WorktreeReady(Lasting):
    """The ticket has its own working tree."""

    path: str
    branch: str
    base_commit: str
    found: bool = False
    """It, or its branch, stood there already: this event does not tell who has worked on it."""


@dataclass(frozen=True, slots=True)
class WorktreeLost(Lasting):
    """The working tree has to be made again; until ``WorktreeReady`` no agent may start in it."""


@dataclass(frozen=True, slots=True)
class AttemptStarted(Lasting):
    """An attempt's row exists, with the session id it is about to use."""

    number: int
    mode: Mode
    session_id: str
    resumed_from: str | None = None
    model: str | None = None
    cap_usd: float | None = None
    reserve_usd: float | None = None
    """What is kept free below the cap: the largest call seen by then, where the file does not say it."""


@dataclass(frozen=True, slots=True)
class AttemptConnected(Lasting):
    """The agent's process answered."""

    number: int
    pid: int | None = None
    pid_start: int | None = None
    boot_id: str | None = None
    baseline_usd: float | None = None


@dataclass(frozen=True, slots=True)
class PromptStored(Lasting):
    """A prompt is on disk and will be sent next."""

    number: int
    uuid: str
    kind: PromptKind
    text: str
    instructions: str = ""
    """Fingerprint of the instructions that the session knows once it has read this prompt."""
    snapshot: str = ""
    """Commit that holds the files as they were when it was sent; empty where none could be taken."""
    letters: tuple[str, ...] = ()
    """The operator's messages that this delivers."""


@dataclass(frozen=True, slots=True)
class SessionReplaced(Lasting):
    """The conversation was reset and goes on under another id, its running totals back at zero."""

    number: int
    session_id: str


@dataclass(frozen=True, slots=True)
class TurnEnded(Lasting):
    """A result arrived. ``cost_usd`` is the difference this turn made, not the session's total."""

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
    tokens: int = 0
    """Tokens that this turn added: input, output and what was written to the cache."""
    largest_call_usd: float = 0.0
    """The largest part of the turn's cost that one API call had."""


@dataclass(frozen=True, slots=True)
class AttemptEnded(Lasting):
    """An attempt's row is complete."""

    number: int
    outcome: Outcome
    detail: str = ""
    exit_code: int | None = None
    stderr_tail: str = ""
    estimated_usd: float = 0.0
    """Spend of a turn that never reported one, estimated from its messages."""
    snapshot: str = ""
    """Commit that holds the files as the agent left them; empty where none could be taken."""
    settled_usd: float = 0.0
    """Spend of a turn that never reported one, as the process itself wrote it down before it left."""
    tokens: int = 0
    """Tokens of such a turn."""
    lost: str = ""
    """Which effect was not run because the ledger could not be written, in words; empty where none was."""


@dataclass(frozen=True, slots=True)
class CostCorrected(Lasting):
    """What an earlier attempt spent and never reported is known now: its session says so when it is opened again."""

    number: int
    """That attempt."""
    by_usd: float
    """What is added to its cost; negative where too much was booked."""
    estimated_usd: float
    """The estimate that this replaces."""
    baseline_usd: float
    """The session's total that told it."""


@dataclass(frozen=True, slots=True)
class Verified(Lasting):
    """The ticket's verify command ran."""

    round: int
    exit_code: int | None
    """None when it ran out of time."""
    output: str = ""


@dataclass(frozen=True, slots=True)
class LimitsChanged(Lasting):
    """The operator (or ``on_limit``) set other limits. They hold until the file says something new."""

    budget_usd: float | None
    max_turns: int | None
    letters: tuple[str, ...] = ()
    budget_turns: int | None = None
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class PriorityChanged(Lasting):
    """The operator put the ticket forward or back in the queue."""

    priority: int
    letters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LetterPosted(Lasting):
    """A verb of the operator's is on disk and will be carried out, also by the next supervisor.

    A message to a resting ticket takes it up again in the same step.
    """

    id: str
    verb: str
    args: Mapping[str, Any]
    """Absolute values, so that a repeat is harmless."""
    actor: str = ""
    wakes: bool = False
    """The ticket goes back to the queue with it."""


@dataclass(frozen=True, slots=True)
class LettersClosed(Lasting):
    """What came of verbs that changed no state, or could not be carried out."""

    letters: tuple[str, ...]
    says: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class FilesRewound(Lasting):
    """The ticket's files were taken back; the agent is told so with its next prompt."""

    to: str
    """What the files are as of now, in words."""
    snapshot: str
    """The commit that holds the files as they were before."""
    files: tuple[str, ...] = ()
    """Which files changed by it; bounded."""
    letters: tuple[str, ...] = ()
    more: int = 0
    """How many files changed besides those."""
    left: str = ""
    """The commit that holds the files as they are now."""
    work: str | None = None
    """What a ticket that is done says of its work from now on; None leaves that as it is."""


@dataclass(frozen=True, slots=True)
class StartedOver(Lasting):
    """The operator began the ticket again: another session, files as at the base; its effects keep their keys."""

    snapshot: str
    """The commit that holds the files as they were before."""
    letters: tuple[str, ...] = ()
    session_id: str | None = None
    """A fork's other copy of its parent's conversation; None where the conversation begins with nothing."""


@dataclass(frozen=True, slots=True)
class Forked(Lasting):
    """The ticket goes on from another one: it has a copy of that one's conversation, and will begin with its files."""

    fork: Fork
    base_commit: str | None
    """The commit that the lineage's work is compared with."""


@dataclass(frozen=True, slots=True)
class AskOpened(Lasting):
    """The agent wants something of the operator, and waits."""

    id: str
    number: int
    """The attempt it comes from."""
    kind: AskKind
    tool: str
    fingerprint: str
    summary: str = ""
    input: Mapping[str, Any] = field(default_factory=dict, metadata=ELSEWHERE)
    """Bounded, secrets taken out; the ask's own row keeps it."""
    tool_use_id: str = ""
    reason: str = ""
    rules: tuple[str, ...] = ()
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class AskRested(Lasting):
    """The agent is let rest; what it asked stays, and the ticket goes on once that is answered."""

    id: str


@dataclass(frozen=True, slots=True)
class AskAnswered(Lasting):
    """The operator answered an ask."""

    id: str
    kind: AnswerKind
    detail: str
    """What was asked, in one line."""
    message: str = ""
    answers: Mapping[str, str | list[str]] = field(default_factory=dict)
    actor: str = ""
    rested: bool = False
    """Nobody waited any more: the agent hears of it with its next prompt, and what was allowed is granted once."""
    letter: str = ""
    """The letter that asks for the ticket's interrupt, posted in the same step; empty where nothing has to stop."""


@dataclass(frozen=True, slots=True)
class AskWithdrawn(Lasting):
    """The agent does not want it any more."""

    id: str


@dataclass(frozen=True, slots=True)
class GrantUsed(Lasting):
    """A call was let through that the operator had allowed while nobody waited."""

    id: str
    """The ask that was allowed."""
    detail: str
    """What was called, in one line."""
    tool_use_id: str = ""


@dataclass(frozen=True, slots=True)
class VerbPending(Event):
    """The operator pressed a key whose effect is under way; None clears the mark."""

    verb: str | None


@dataclass(frozen=True, slots=True)
class TurnCost(Event):
    """What the turn under way has cost so far, USD, by the token usage of its messages: its result will tell."""

    usd: float


@dataclass(frozen=True, slots=True)
class ReserveSeen(Event):
    """What is kept free below the ticket's budget from now on, USD: the largest call has become larger."""

    usd: float


@dataclass(frozen=True, slots=True)
class TurnBegan(Event):
    """The agent has taken our prompt in: an interrupt from now on ends its turn, and does not drop it."""

    prompt_uuid: str


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
    diff: Diff | None = None
    """What an edit of a file asks for."""


@dataclass(frozen=True, slots=True)
class ToolReturned(Event):
    """A tool's result came back."""

    tool_use_id: str
    text: str
    is_error: bool = False
    nested: bool = False
    diff: Diff | None = None
    """How it changed a file."""


@dataclass(frozen=True, slots=True)
class Retrying(Event):
    """The CLI waits before it asks the API again."""

    attempt: int
    max_retries: int
    delay_s: float
    status: int | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class LimitsSeen(Event):
    """The API said how much of a subscription's windows is used up."""

    status: str
    """``allowed``, ``allowed_warning`` or ``rejected``, as the SDK reports it."""
    kind: str
    """The window that the status is about, such as ``five_hour``; empty where it names none."""
    resets_at: float | None = None
    windows: tuple[Window, ...] = ()
    overage: bool = False
    """What is used now is paid for beyond the subscription."""


@dataclass(frozen=True, slots=True)
class LoginSeen(Event):
    """The agent said where its key comes from, as the CLI names it; ``none`` is a login without a key."""

    source: str


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
