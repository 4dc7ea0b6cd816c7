"""Effects: operations in other systems that must not happen twice. States, legal moves and records.

Owns the whole table of moves; the triggers of the ledger in ``store`` hold it once more. What a claim is answered and
what a person may decide is in ``rulings``. Times are seconds since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from supervisor.core.payloads import Difference, Json, as_text
from supervisor.core.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from supervisor.core.spec import EffectKind


class Refused(Exception):  # noqa: N818 - raised by effects, as a word of their language
    """Raised by an effect that was certainly not applied. Any other exception leaves that open."""


class EffectState(StrEnum):
    """Where an effect is in its life. The value is the word the operator reads."""

    REQUESTED = "requested"
    """Waits for the operator's approval; nothing ran."""
    CLAIMED = "claimed"
    """Its owner is running it, or died while doing so."""
    DONE = "done"
    REFUSED = "refused"
    """Proved not applied; may be claimed again."""
    UNRESOLVED = "unresolved"
    """It may or may not have been applied. Waits for a probe or a person, never for a clock."""
    NOT_DONE = "not_done"
    """A probe or a person found that it was not applied."""
    GRANTED = "granted"
    """The next claim with the same payload by one ticket may run it, once."""
    DENIED = "denied"
    ABANDONED = "abandoned"
    """Will never run."""


class Answer(StrEnum):
    """What a claim is told. Only ``MINE`` may run the effect."""

    MINE = "mine"
    REQUESTED = "requested"
    DONE = "done"
    IN_PROGRESS = "in_progress"
    """Somebody else runs it, or holds the grant to run it."""
    UNRESOLVED = "unresolved"
    NOT_DONE = "not_done"
    DENIED = "denied"
    ABANDONED = "abandoned"
    CONFLICT = "conflict"
    """The key is known with another payload. Nothing runs."""


_Q, _C, _D, _R = EffectState.REQUESTED, EffectState.CLAIMED, EffectState.DONE, EffectState.REFUSED
_U, _N, _G = EffectState.UNRESOLVED, EffectState.NOT_DONE, EffectState.GRANTED
_X, _A = EffectState.DENIED, EffectState.ABANDONED

MOVES: Mapping[EffectState | None, frozenset[EffectState]] = MappingProxyType(
    {
        None: frozenset({_Q, _C, _D}),
        _Q: frozenset({_G, _X, _D, _A}),
        _C: frozenset({_D, _R, _U}),
        _D: frozenset(),
        _R: frozenset({_C, _Q, _A}),
        _U: frozenset({_D, _N, _A, _C, _G}),
        _N: frozenset({_G, _D, _A, _C}),
        _G: frozenset({_C, _D, _A}),
        _X: frozenset({_G, _Q, _A}),
        _A: frozenset({_D}),
    }
)
"""Every legal move; None is an effect nobody asked for yet. It begins as done only when it is ``idempotent``, and goes
from unresolved or not done straight to claimed only when it is ``idempotent`` or ``keyed``. ``done`` is final."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, named so that its death can be proved: by whoever shares its host."""

    host: str
    pid: int
    start: int | None = None
    """Start time in clock ticks since boot; None where the system has none."""
    boot_id: str | None = None
    namespace: int | None = None
    """Inode of its pid namespace; the same pid in another one is another process."""
    group: bool = False
    """Stands for the whole process group that ``pid`` leads."""


@dataclass(frozen=True, slots=True)
class EffectRequest:
    """What a ticket wants done, and everything a card will say about it. Secrets are already taken out."""

    scope: str
    """Root of the ticket's lineage, or the ticket itself."""
    op: str
    """The effect's name, with its business id: see ``payloads.build_op``."""
    kind: EffectKind = "once"
    effect: str = ""
    ticket: str = ""
    payload: Json = None
    approval: bool = False
    """The operator must approve before it runs."""
    window_s: float | None = None
    timeout_s: float | None = None
    session_id: str | None = None
    tool_use_id: str | None = None
    turn: int | None = None
    said: str = ""
    """What the model said just before."""


@dataclass(frozen=True, slots=True)
class EffectRecord:
    """Everything a card shows of one effect. Replaced, never changed."""

    scope: str
    op: str
    kind: EffectKind
    effect: str
    ticket: str
    """The ticket that asked for it last."""
    state: EffectState
    version: int
    """Rises by one with every change of state. A decision names the version its maker was looking at."""
    attempt: int
    """How often it was claimed."""
    generation: int
    fingerprint: str
    payload: Json
    remote_key: str
    window_s: float | None = None
    timeout_s: float | None = None
    epoch: int | None = None
    owner: Owner | None = None
    """Who claimed it last."""
    command: Owner | None = None
    """The process group that ran it last; None where the owner ran it itself."""
    session_id: str | None = None
    tool_use_id: str | None = None
    turn: int | None = None
    said: str = ""
    requested_at: float | None = None
    first_claimed_at: float | None = None
    """First claim under this remote key: the remote's window is counted from here."""
    claimed_at: float | None = None
    settled_at: float | None = None
    outcome: Json = None
    error: str = ""
    granted_to: str | None = None

    @property
    def key(self) -> str:
        """The key as people read it."""
        return f"{self.scope}:{self.op}" if self.scope else self.op

    @property
    def outcome_text(self) -> str:
        """The outcome as text; empty where there is none."""
        return "" if self.outcome is None else as_text(self.outcome)

    def window_left_s(self, now: float) -> float | None:
        """Return how long the remote still knows our key; None where it does not apply."""
        if self.kind != "keyed" or self.window_s is None or self.first_claimed_at is None:
            return None
        return max(0.0, self.first_claimed_at + self.window_s - now)


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer to a claim, and the effect as it is now."""

    answer: Answer
    record: EffectRecord
    was: EffectState | None = None
    """The state the claim met: ``granted`` or ``refused`` before a ``mine`` say why it may run again."""
    diff: tuple[Difference, ...] = ()
    """Where the stored payload and the new one differ; filled whenever they do."""


@dataclass(frozen=True, slots=True)
class EffectView:
    """What a screen shows of one effect: the record, its history, and whether it waits for the operator."""

    record: EffectRecord
    log: tuple[LogRow, ...] = ()
    owner_dead: bool = False
    """The process that claimed it, and its command, are proved dead."""
    has_probe: bool = False
    busy: bool = False
    """A probe or a run is under way."""

    @property
    def waits(self) -> bool:
        """Whether only the operator can say how it goes on."""
        return self.record.state in (EffectState.REQUESTED, EffectState.UNRESOLVED)

    @property
    def askers(self) -> frozenset[str]:
        """The tickets that it matters to: a fork that asked for what its parent had claimed is one of them."""
        return askers(self.log) | {self.record.ticket}

    @property
    def since(self) -> float:
        """When it came to the state it is in."""
        r = self.record
        return r.settled_at or r.claimed_at or r.requested_at or 0.0


def decision(log: Sequence[LogRow]) -> LogRow | None:
    """Return the decision or the proof that brought an effect to where it is; None where neither did."""
    row = next((row for row in reversed(log) if row.from_state != row.to_state), None)
    return row if row is not None and row.actor_kind in _DECIDES else None


def holds_up(record: EffectRecord) -> str:
    """Return why no agent goes on before an effect was decided or has ended, in words that follow a ticket's id.

    Safe to draw; empty where it keeps nobody.
    """
    name = safe_line(record.key, _KEY_CHARS)
    match record.state:
        case EffectState.UNRESOLVED:
            return f"is waiting for its effect {name}: settle it first (!, or supervise effects)"
        case EffectState.REQUESTED:
            return f"is waiting for its effect {name}: approve or deny it first (!, or supervise effects)"
        case EffectState.CLAIMED:
            return f"is waiting for its effect {name}, which may still be under way: it has to end first (e)"
        case _:
            return ""


_KEY_CHARS = 120


def askers(log: Sequence[LogRow]) -> frozenset[str]:
    """Return the tickets that asked for an effect the last time, be it open or ended.

    It can be asked for anew after an end that was certain; those who heard of that wait for nothing.
    """
    found: set[str] = set()
    for row in reversed(log):
        if row.to_state in _CERTAIN and found:
            break
        if row.actor_kind == "agent":
            found.add(row.actor)
    return frozenset(found)


_DECIDES = frozenset({"operator", "probe"})
_CERTAIN = frozenset({_D, _R, _X, _A})


@dataclass(frozen=True, slots=True)
class LogRow:
    """One line of the ledger's history, as it was written. ``hash`` covers all fields and the row before."""

    seq: int
    scope: str
    op: str
    verb: str
    """``claim``, ``ask`` (by another ticket; it changes nothing), ``settle``, ``orphan``, ``late``, or a decision's."""
    from_state: str | None
    to_state: str
    version: int
    actor_kind: str
    """``agent``, ``engine``, ``probe`` or ``operator``."""
    actor: str
    reason: str
    evidence: str
    seen_version: int | None
    decision_id: str | None
    epoch: int | None
    fingerprint: str
    payload: str | None
    """Canonical JSON, where this row brought a new one."""
    outcome: str | None
    """JSON, where this row brought one."""
    at: float
    prev_hash: str
    hash: str
