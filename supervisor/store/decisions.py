"""What the operator decides about an effect: checked against the version that was shown, and written down for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.core.effects import EffectRecord, EffectState
from supervisor.core.errors import DecisionRefused, StaleDecision
from supervisor.core.rulings import DECISIONS, Decision, DecisionVerb
from supervisor.store import chain, effect_rows
from supervisor.store.effect_rows import to_json

if TYPE_CHECKING:
    from sqlite_utils import Database as Connection


def decide(db: Connection, scope: str, op: str, decision: Decision, at: float) -> EffectRecord:
    """Carry out a decision and return the effect as it is then. The caller holds the transaction.

    The same decision again changes nothing. Raises UnknownEffect, StaleDecision when the effect has moved since it
    was shown, and DecisionRefused when its state does not allow the verb or the decision lacks its reason.
    """
    held = effect_rows.get(db, scope, op)
    if _taken(db, held, decision):
        return held
    _check(held, decision)
    to = DECISIONS[decision.verb][1]
    record = held if to is None else effect_rows.move(db, held, to, **_changes(held, decision, at))
    assert record is not None, "it was read in this very transaction"
    _write(db, held, record, decision, at)
    return record


def _taken(db: Connection, held: EffectRecord, decision: Decision) -> bool:
    row = chain.decision(db, decision.decision_id)
    if row is None:
        return False
    if (row.scope, row.op, row.verb) != (held.scope, held.op, decision.verb.value):
        raise DecisionRefused(held.key, decision.verb, held.state, "carries the id of another decision")
    return True


def _check(held: EffectRecord, decision: Decision) -> None:
    states, _ = DECISIONS[decision.verb]
    if decision.verb is not DecisionVerb.NOTE and decision.seen_version != held.version:
        raise StaleDecision(held.key, decision.seen_version, held.version, held.state)
    if held.state not in states:
        raise DecisionRefused(held.key, decision.verb, held.state)
    if not decision.decision_id or not decision.actor:
        raise DecisionRefused(held.key, decision.verb, held.state, "must say who decided")
    if decision.verb is not DecisionVerb.APPROVE and not decision.why.strip():
        raise DecisionRefused(held.key, decision.verb, held.state, "must say why")


def _changes(held: EffectRecord, decision: Decision, at: float) -> dict[str, Any]:
    to = DECISIONS[decision.verb][1]
    if to is EffectState.GRANTED:
        return {"granted_to": decision.ticket or held.ticket}
    if to is EffectState.DONE:
        return {"outcome": to_json(decision.outcome), "settled_at": float(at)}
    return {"settled_at": float(at)}


def _write(db: Connection, held: EffectRecord, record: EffectRecord, decision: Decision, at: float) -> None:
    reason = decision.why
    if record.granted_to and record.granted_to != held.granted_to:
        reason = f"{reason} (for {record.granted_to})".strip()
    chain.append(
        db,
        record,
        verb=decision.verb.value,
        before=held.state,
        at=at,
        actor_kind=decision.actor_kind,
        actor=decision.actor,
        reason=reason,
        evidence=decision.evidence,
        seen_version=decision.seen_version,
        decision_id=decision.decision_id,
        outcome=decision.outcome if decision.verb is DecisionVerb.DONE else None,
    )
