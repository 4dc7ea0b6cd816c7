"""After a database was damaged: every effect whose state cannot be proved any more becomes unresolved.

What proves a state is the log, whose rows carry their own hashes. An effect that could still run by itself is not
trusted at all: whatever the file says of it may be older than the truth.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from supervisor.core.effects import EffectRecord, EffectState
from supervisor.core.payloads import canonical, hash_of, remote_key
from supervisor.store import chain, effect_rows

if TYPE_CHECKING:
    from sqlite_utils import Database as Connection

REASON = "the database was damaged: nobody can prove how far this had come"
_AT_REST = frozenset({EffectState.DONE, EffectState.DENIED, EffectState.ABANDONED, EffectState.UNRESOLVED})
"""States in which an effect never runs without a decision of the operator."""
_AT_REST_IF_NEWEST = frozenset({EffectState.REFUSED, EffectState.NOT_DONE})
"""States in which it may be claimed again: to be trusted only if no later row of the log can be missing."""
_TELL_OUTCOMES = ("settle", "done", "insert")


@dataclass
class _Told:
    """What the intact rows of the log say of one effect."""

    last: dict[str, Any]
    payload: str | None = None
    fingerprint: str | None = None
    """The last payload that is spelled out, and its fingerprint."""
    outcome: str | None = None
    ticket: str = ""
    refusals: int = 0


def unsettle(db: Connection, at: float, *, whole: bool) -> tuple[EffectRecord, ...]:
    """Move every doubtful effect to unresolved, with a row in the log; return those moved.

    The triggers of the ledger must be off, and the caller holds the transaction.

    Args:
        db: the rebuilt database.
        at: seconds since the epoch.
        whole: all rows of the ledger were read, and the newest one that anybody knows of is among them.
    """
    told = _told(db)
    _put_back(db, told)
    moved = []
    for held in effect_rows.select(db):
        said = told.get((held.scope, held.op))
        trusted = _AT_REST | _AT_REST_IF_NEWEST if whole else _AT_REST
        if held.state in trusted and said is not None and _agree(held, said):
            continue
        moved.append(_move(db, held, said, at))
    return tuple(moved)


def _told(db: Connection) -> dict[tuple[str, str], _Told]:
    told: dict[tuple[str, str], _Told] = {}
    for row in db.query("SELECT * FROM effect_log ORDER BY seq"):
        if not chain.is_intact(row):
            continue
        known = told.setdefault((row["scope"], row["op"]), _Told(row))
        known.last = row
        if row["payload"] is not None:
            known.payload, known.fingerprint = row["payload"], row["fingerprint"]
        if row["verb"] in _TELL_OUTCOMES:
            known.outcome = row["outcome"]
        if row["verb"] == "claim":
            known.ticket = row["actor"]
        known.refusals += row["to_state"] == EffectState.REFUSED.value
    return told


def _put_back(db: Connection, told: dict[tuple[str, str], _Told]) -> None:
    """Make rows again for effects that only the log knows of, as far as it tells."""
    known = {(r["scope"], r["op"]) for r in db.query("SELECT scope, op FROM effects")}
    ledger = db.execute("SELECT id FROM ledger").fetchone()[0]
    for (scope, op), said in told.items():
        if (scope, op) in known:
            continue
        payload = said.payload if said.fingerprint == said.last["fingerprint"] and said.payload else "null"
        generation = said.refusals + 1
        effect_rows.insert(
            db,
            {
                "scope": scope,
                "op": op,
                "kind": "once",  # the log does not tell; this is the kind that never runs again by itself
                "effect": op.partition(":")[0],
                "ticket": said.ticket or scope,
                "state": said.last["to_state"] if said.last["to_state"] != "claimed" else "unresolved",
                "version": said.last["version"],
                "attempt": 1,
                "generation": generation,
                "fingerprint": hash_of(payload),
                "payload": payload,
                "remote_key": remote_key(ledger, scope, op, generation),
                "said": "",
                "outcome": said.outcome if said.last["to_state"] == "done" else None,
                "error": "",
            },
        )


def _agree(held: EffectRecord, said: _Told) -> bool:
    """Return whether the last row of the log that tells of an effect tells of it as it is."""
    row = said.last
    if (row["to_state"], row["version"]) != (held.state.value, held.version):
        return False
    if row["fingerprint"] != held.fingerprint or hash_of(canonical(held.payload)) != held.fingerprint:
        return False
    logged = None if said.outcome is None else json.loads(said.outcome)
    return held.state is not EffectState.DONE or held.outcome == logged


def _move(db: Connection, held: EffectRecord, said: _Told | None, at: float) -> EffectRecord:
    payload = canonical(held.payload)
    changes = {
        "state": EffectState.UNRESOLVED.value,
        "version": max(held.version, said.last["version"] if said else 0) + 1,
        "fingerprint": hash_of(payload),
        "payload": payload,
        "outcome": None,
        "error": REASON,
        "granted_to": None,
        "settled_at": float(at),
        "scope": held.scope,
        "op": held.op,
    }
    sets = ", ".join(f"{name} = :{name}" for name in changes if name not in ("scope", "op"))
    db.execute(f"UPDATE effects SET {sets} WHERE scope = :scope AND op = :op", changes)
    record = effect_rows.get(db, held.scope, held.op)
    read = f"the file says: {held.state.value} (version {held.version})"
    if held.outcome is not None:
        read += f", outcome {held.outcome_text}"
    if said is not None:
        read += f"; its log says: {said.last['to_state']} (version {said.last['version']})"
    is_new = said is None or said.last["fingerprint"] != record.fingerprint
    told: dict[str, Any] = {"reason": REASON, "evidence": read, "payload": payload if is_new else None}
    chain.append(db, record, verb="repair", before=held.state, at=at, **told)
    return record
