"""Who may run an effect, and what a person may decide about it: the rules of the ledger, without its tables.

Time moves nothing here. The clock is asked only whether a remote still knows our key, and in doubt it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from supervisor.core.effects import Answer, EffectRecord, EffectRequest, EffectState
from supervisor.core.payloads import Difference, Json, differences, fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

WINDOW_MARGIN_S = 60.0
"""How long before the end of a remote's window a key is no longer trusted to be remembered."""

_Q, _C, _D, _R = EffectState.REQUESTED, EffectState.CLAIMED, EffectState.DONE, EffectState.REFUSED
_U, _N, _G = EffectState.UNRESOLVED, EffectState.NOT_DONE, EffectState.GRANTED
_X, _A = EffectState.DENIED, EffectState.ABANDONED


class DecisionVerb(StrEnum):
    """What a person, or a probe, may decide about an effect."""

    APPROVE = "approve"
    DENY = "deny"
    DONE = "done"
    NOT_DONE = "not_done"
    GRANT = "grant"
    """Let it run once more, whatever has become of it: a decision, and no finding."""
    ABANDON = "abandon"
    FENCE = "fence"
    """Take a claim from an owner whose death cannot be proved; what it reports later is refused."""
    NOTE = "note"


DECISIONS: Mapping[DecisionVerb, tuple[frozenset[EffectState], EffectState | None]] = MappingProxyType(
    {
        DecisionVerb.APPROVE: (frozenset({_Q}), _G),
        DecisionVerb.DENY: (frozenset({_Q}), _X),
        DecisionVerb.DONE: (frozenset({_Q, _U, _N, _G, _A}), _D),
        DecisionVerb.NOT_DONE: (frozenset({_U}), _N),
        DecisionVerb.GRANT: (frozenset({_U, _N, _X}), _G),
        DecisionVerb.ABANDON: (frozenset({_Q, _U, _N, _G, _R, _X}), _A),
        DecisionVerb.FENCE: (frozenset({_C}), _U),
        DecisionVerb.NOTE: (frozenset(EffectState), None),
    }
)
"""For each verb the states it applies to, and the state it leads to; a note changes none."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision about one effect."""

    verb: DecisionVerb
    decision_id: str
    """Minted by who decides. The same id again changes nothing."""
    actor: str
    seen_version: int
    """The version that was on the screen; another one by now makes the decision stale. A note is never stale."""
    why: str = ""
    evidence: str = ""
    outcome: Json = None
    """With ``done``: what came of it."""
    ticket: str | None = None
    """With ``grant``: the one ticket that may run it; None means the one that asked last."""
    actor_kind: str = "operator"


def judge(held: EffectRecord, request: EffectRequest, at: float) -> tuple[Answer, EffectState | None]:
    """Return the answer to a claim on a known effect, and the state it moves to; None leaves it as it is."""
    same = held.fingerprint == fingerprint(request.payload)
    if held.state is _R:
        return (Answer.REQUESTED, _Q) if request.approval else (Answer.MINE, _C)
    if held.state is _X:
        return (Answer.REQUESTED, _Q) if request.approval and not same else (Answer.DENIED, None)
    if held.state in (_U, _N) and same and may_repeat(held, request, at):
        return Answer.MINE, _C
    if held.state is _A or held.state is _U:
        # Whatever the payload says now: it never runs, or nobody may know more before the stuck one is settled.
        return Answer(held.state.value), None
    if not same:
        return Answer.CONFLICT, None
    if held.state is _G and held.granted_to in (None, request.ticket):
        return Answer.MINE, _C
    return _PLAIN[held.state], None


_PLAIN = {
    _Q: Answer.REQUESTED,
    _C: Answer.IN_PROGRESS,
    _D: Answer.DONE,
    _N: Answer.NOT_DONE,
    _G: Answer.IN_PROGRESS,
}


def may_repeat(held: EffectRecord, request: EffectRequest, at: float) -> bool:
    """Return whether an effect that may have been applied can run again without a person.

    ``idempotent`` may. ``keyed`` may while the remote surely still knows our key; a clock that was set back makes
    that doubtful. Both the kind it was claimed as and the one asked for now must allow it.
    """
    kinds = {held.kind, request.kind}
    if "once" in kinds:
        return False
    if "keyed" not in kinds:
        return True
    windows = [w for w in (held.window_s, request.window_s) if w is not None]
    if not windows or held.first_claimed_at is None or held.claimed_at is None or at < held.claimed_at:
        return False
    return at - held.first_claimed_at <= min(windows) - WINDOW_MARGIN_S


def compare(held: EffectRecord, request: EffectRequest) -> tuple[Difference, ...]:
    """Return where the stored payload and the one asked for differ."""
    if held.fingerprint == fingerprint(request.payload):
        return ()
    return differences(held.payload, request.payload)
