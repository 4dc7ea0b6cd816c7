"""Claim, run, settle: the road every effect takes. Each function is one whole unit of work inside a transaction.

The caller holds the transaction (BEGIN IMMEDIATE) and commits it before it runs the effect; only a claim that is on the
disk may have consequences elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.core import rulings
from supervisor.core.effects import Answer, Claim, EffectRecord, EffectRequest, EffectState, Owner, askers
from supervisor.core.errors import LateSettle
from supervisor.core.payloads import Json, canonical, hash_of, remote_key
from supervisor.store import chain, effect_rows
from supervisor.store.effect_rows import text, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlite_utils import Database as Connection


def open_epoch(db: Connection, owner: Owner, at: float) -> int:
    """Write down who claims from now on, and return the number that fences it off from every other start."""
    sql = (
        "INSERT INTO epochs (host, pid, pid_start, boot_id, pid_namespace, started_at) VALUES (?, ?, ?, ?, ?, ?)"
        " RETURNING n"
    )
    values = [owner.host, owner.pid, owner.start, owner.boot_id, owner.namespace, float(at)]
    return int(next(iter(db.query(sql, values)))["n"])


def claim(db: Connection, request: EffectRequest, epoch: int, at: float) -> Claim:
    """Claim an effect: the answer says whether the caller, and only the caller, may run it now."""
    row = _first(db, request, epoch, at)
    if effect_rows.insert(db, row):
        record = effect_rows.get(db, request.scope, request.op)
        chain.append(db, record, before=None, at=at, payload=row["payload"], **_asked(request))
        return Claim(Answer(_MINE_OR_WAIT[record.state]), record)
    held = effect_rows.get(db, request.scope, request.op)
    answer, to = rulings.judge(held, request, at)
    record = held if to is None else _again(db, held, request, to, epoch, at)
    if to is None and held.state in _OPEN and request.ticket != held.ticket:
        _note_asker(db, held, request, at)
    return Claim(answer, record, held.state, rulings.compare(held, request))


def _note_asker(db: Connection, held: EffectRecord, request: EffectRequest, at: float) -> None:
    """Write down, once, that another ticket waits for how an effect goes on."""
    if request.ticket not in askers(chain.log(db, held.scope, held.op)):
        chain.append(db, held, before=held.state, at=at, **{**_asked(request), "verb": "ask"})


_OPEN = frozenset({EffectState.REQUESTED, EffectState.CLAIMED, EffectState.UNRESOLVED, EffectState.GRANTED})
"""States in which it matters to whoever asks how the effect goes on."""
_MINE_OR_WAIT = {EffectState.CLAIMED: Answer.MINE, EffectState.REQUESTED: Answer.REQUESTED}


def _asked(request: EffectRequest) -> dict[str, Any]:
    return {"verb": "claim", "actor_kind": "agent", "actor": request.ticket}


def _first(db: Connection, request: EffectRequest, epoch: int, at: float) -> dict[str, Any]:
    """Return the row of an effect that nobody asked for before."""
    state = EffectState.REQUESTED if request.approval else EffectState.CLAIMED
    fixed = {"scope": request.scope, "op": request.op, "state": state.value, "version": 1, "error": ""}
    return {**fixed, "attempt": 0, **_facts(request), **_remote(db, request, 1), **_times(state, epoch, at, 0)}


def _facts(request: EffectRequest) -> dict[str, Any]:
    """Return the columns that every new request replaces."""
    payload = canonical(request.payload)
    return {
        "kind": request.kind,
        "effect": request.effect or request.op,
        "ticket": request.ticket,
        "fingerprint": hash_of(payload),
        "payload": payload,
        "window_s": request.window_s,
        "timeout_s": request.timeout_s,
        "session_id": request.session_id,
        "tool_use_id": request.tool_use_id,
        "turn": request.turn,
        "said": text(request.said),
    }


def _remote(db: Connection, request: EffectRequest, generation: int) -> dict[str, Any]:
    ledger = db.execute("SELECT id FROM ledger").fetchone()[0]
    key = remote_key(ledger, request.scope, request.op, generation)
    return {"generation": generation, "remote_key": key, "first_claimed_at": None}


def _times(state: EffectState, epoch: int, at: float, attempt: int) -> dict[str, Any]:
    if state is EffectState.REQUESTED:
        return {"requested_at": float(at)}
    return {"epoch": epoch, "claimed_at": float(at), "attempt": attempt + 1, "first_claimed_at": float(at)}


def _again(
    db: Connection, held: EffectRecord, request: EffectRequest, to: EffectState, epoch: int, at: float
) -> EffectRecord:
    """Move a known effect on to its next claim or request."""
    changes = {**_facts(request), **_times(to, epoch, at, held.attempt), "granted_to": None, "settled_at": None}
    changes |= {"outcome": None, "error": "", "command_pid": None, "command_start": None}
    if held.state is EffectState.REFUSED:
        # Proved not applied, and a remote may replay that answer to the same key: this is a new call.
        first = changes.pop("first_claimed_at", None)
        changes |= {**_remote(db, request, held.generation + 1), "first_claimed_at": first}
    elif held.first_claimed_at is not None:
        changes["first_claimed_at"] = held.first_claimed_at
    record = effect_rows.move(db, held, to, **changes)
    assert record is not None, "it was read in this very transaction"
    payload = changes["payload"] if record.fingerprint != held.fingerprint else None
    chain.append(db, record, before=held.state, at=at, payload=payload, **_asked(request))
    return record


def record_command(db: Connection, held: EffectRecord, pid: int, start: int | None) -> EffectRecord:
    """Write down the process group that runs the effect, before it is let go. Raises LateSettle."""
    sql = (
        "UPDATE effects SET command_pid = ?, command_start = ?"
        " WHERE scope = ? AND op = ? AND version = ? AND epoch = ? AND state = 'claimed'"
    )
    if db.execute(sql, [pid, start, held.scope, held.op, held.version, held.epoch]).rowcount != 1:
        raise _late(db, held)
    return effect_rows.get(db, held.scope, held.op)


def settle(
    db: Connection,
    held: EffectRecord,
    state: EffectState,
    at: float,
    *,
    outcome: Json = None,
    error: str = "",
    reason: str = "",
) -> EffectRecord:
    """End a claim as done, refused or unresolved. ``held`` is the record the claim returned.

    Raises LateSettle when the claim is no longer held by that epoch in that version: somebody proved its owner dead,
    or took it away. Nothing is changed then; ``note_late`` keeps what was to be said.
    """
    changes = {"outcome": to_json(outcome), "error": text(error), "settled_at": float(at)}
    record = effect_rows.move(db, held, state, **changes) if held.state is EffectState.CLAIMED else None
    if record is None:
        raise _late(db, held)
    said: dict[str, Any] = {"reason": reason, "evidence": error, "outcome": outcome}
    chain.append(db, record, verb="settle", before=held.state, at=at, actor=f"epoch {held.epoch}", **said)
    return record


def _late(db: Connection, held: EffectRecord) -> LateSettle:
    return LateSettle(held.key, effect_rows.get(db, held.scope, held.op).state)


def note_late(
    db: Connection, held: EffectRecord, state: EffectState, at: float, *, outcome: Json = None, error: str = ""
) -> None:
    """Keep in the log what an owner reported too late: it is the best evidence for whoever settles the effect."""
    now = effect_rows.get(db, held.scope, held.op)
    reason = f"reported {state.value} for attempt {held.attempt}, after its claim was taken away"
    told: dict[str, Any] = {"reason": reason, "evidence": error, "outcome": outcome}
    chain.append(db, now, verb="late", before=now.state, at=at, actor=f"epoch {held.epoch}", **told)


def insert_done(db: Connection, request: EffectRequest, outcome: Json, epoch: int, at: float) -> EffectRecord:
    """Write the outcome of an effect that was run without a claim, or nothing where its key is known.

    Returns what the ledger says of the key now, whoever wrote it. Only ``idempotent`` effects may be run this way.
    """
    row = _first(db, request, epoch, at)
    row |= {"state": EffectState.DONE.value, "outcome": to_json(outcome), "settled_at": float(at)}
    written = effect_rows.insert(db, row)
    record = effect_rows.get(db, request.scope, request.op)
    if written:
        asked = {**_asked(request), "verb": "insert"}
        chain.append(db, record, before=None, at=at, payload=row["payload"], outcome=outcome, **asked)
    return record


def orphaned_claims(db: Connection, is_dead: Callable[[Owner], bool], at: float) -> tuple[EffectRecord, ...]:
    """Move every claim whose owner is proved dead to unresolved, and return those.

    ``is_dead`` must answer True only on proof. A claim whose command still runs is left alone: what it will have
    done is not decided yet.
    """
    moved = []
    for held in effect_rows.select(db, "WHERE e.state = 'claimed'"):
        if held.owner is None or not is_dead(held.owner) or (held.command and not is_dead(held.command)):
            continue
        record = effect_rows.move(db, held, EffectState.UNRESOLVED, settled_at=float(at), error="its owner died")
        assert record is not None, "it was read in this very transaction"
        evidence = f"{held.owner.host}: process {held.owner.pid}, started {held.owner.start}, is gone"
        chain.append(db, record, verb="orphan", before=held.state, at=at, reason="its owner died", evidence=evidence)
        moved.append(record)
    return tuple(moved)
