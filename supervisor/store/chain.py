"""The ledger's history: append-only, each row's hash covering its fields and the row before.

A row is written in the same transaction as the move it tells of. The chain shows a changed, missing or inserted row; it
cannot show that its newest rows were cut off together with the moves they tell of.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from supervisor.core.effects import LogRow
from supervisor.core.payloads import Json, canonical, fingerprint
from supervisor.store.codec import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlite_utils import Database as Connection

    from supervisor.core.effects import EffectRecord, EffectState

_COLUMNS = tuple(f.name for f in fields(LogRow))
_INSERT = f"INSERT INTO effect_log ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{c}' for c in _COLUMNS)})"
_ENCODER = json.JSONEncoder(separators=(",", ":"))
_LAST = (
    "SELECT coalesce(max(seq), 0), coalesce((SELECT hash FROM effect_log ORDER BY seq DESC LIMIT 1),"
    " (SELECT id FROM ledger)) FROM effect_log"
)


def append(
    db: Connection,
    record: EffectRecord,
    *,
    verb: str,
    before: EffectState | None,
    at: float,
    actor_kind: str = "engine",
    actor: str = "",
    reason: str = "",
    evidence: str = "",
    seen_version: int | None = None,
    decision_id: str | None = None,
    payload: str | None = None,
    outcome: Json = None,
) -> None:
    """Write what happened to an effect; ``record`` is the effect afterwards. The caller holds the transaction.

    ``payload`` is the canonical payload, where this is the first row that knows it.
    """
    last, prev_hash = head(db)
    row: dict[str, Any] = {
        "seq": last + 1,
        "scope": record.scope,
        "op": record.op,
        "verb": verb,
        "from_state": None if before is None else before.value,
        "to_state": record.state.value,
        "version": record.version,
        "actor_kind": actor_kind,
        "actor": clean(actor),
        "reason": clean(reason),
        "evidence": clean(evidence),
        "seen_version": seen_version,
        "decision_id": decision_id,
        "epoch": record.epoch,
        "fingerprint": record.fingerprint,
        "payload": payload,
        "outcome": None if outcome is None else canonical(outcome),
        "at": float(at),
        "prev_hash": prev_hash,
    }
    db.execute(_INSERT, {**row, "hash": _hash(row)})


def head(db: Connection) -> tuple[int, str]:
    """Return the number and the hash of the newest row; 0 and the ledger's id where there is none."""
    seq, last = db.execute(_LAST).fetchone()
    return int(seq), str(last)


def is_intact(row: dict[str, Any]) -> bool:
    """Return whether a row is as it was written."""
    return bool(row["hash"] == _hash(row))


def _hash(row: dict[str, Any]) -> str:
    told = [row[name] for name in _COLUMNS if name != "hash"]
    return hashlib.sha256(_ENCODER.encode(told).encode()).hexdigest()


def log(db: Connection, scope: str, op: str) -> tuple[LogRow, ...]:
    """Return the history of one effect, oldest first."""
    rows = db.query("SELECT * FROM effect_log WHERE scope = ? AND op = ? ORDER BY seq", [scope, op])
    return tuple(LogRow(**row) for row in rows)


def decision(db: Connection, decision_id: str) -> LogRow | None:
    """Return the row of a decision that was taken already."""
    rows = db.query("SELECT * FROM effect_log WHERE decision_id = ?", [decision_id])
    return next((LogRow(**row) for row in rows), None)


def verify(db: Connection) -> tuple[str, ...]:
    """Return what is wrong with the ledger, in sentences; empty when every row fits.

    Each row of the log must follow from the row before, and each effect must be as its last row in the log says.
    """
    return (*_broken_links(db), *_strangers(db))


def _broken_links(db: Connection) -> Iterator[str]:
    expected_seq, expected_hash = 1, db.execute("SELECT id FROM ledger").fetchone()[0]
    for row in db.query("SELECT * FROM effect_log ORDER BY seq"):
        if row["seq"] != expected_seq:
            yield f"log row {expected_seq} is missing"
        elif row["prev_hash"] != expected_hash:
            yield f"log row {row['seq']} does not follow from the row before"
        if not is_intact(row):
            yield f"log row {row['seq']} was changed"
        expected_seq, expected_hash = row["seq"] + 1, row["hash"]


_LATEST = """
SELECT e.scope, e.op, e.state, e.version, e.fingerprint, e.payload, e.outcome, l.to_state, l.version AS logged_version,
  l.fingerprint AS logged_fingerprint,
  (SELECT outcome FROM effect_log WHERE scope = e.scope AND op = e.op AND verb IN ('settle', 'done', 'insert')
   ORDER BY seq DESC LIMIT 1) AS logged_outcome
FROM effects e LEFT JOIN effect_log l ON l.seq =
  (SELECT max(seq) FROM effect_log WHERE scope = e.scope AND op = e.op)
ORDER BY e.scope, e.op
"""


def _strangers(db: Connection) -> Iterator[str]:
    for row in db.query(_LATEST):
        name = f"{row['scope']}:{row['op']}" if row["scope"] else row["op"]
        if (row["to_state"], row["logged_version"]) != (row["state"], row["version"]):
            yield f"{name} is {row['state']} (version {row['version']}), which the log does not say"
        elif (
            row["fingerprint"] != row["logged_fingerprint"]
            or fingerprint(json.loads(row["payload"])) != (row["fingerprint"])
        ):
            yield f"{name} has another payload than the log says"
        elif row["state"] == "done" and row["outcome"] != row["logged_outcome"]:
            yield f"{name} has another outcome than the log says"
