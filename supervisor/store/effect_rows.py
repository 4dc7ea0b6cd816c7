"""Rows of the effects table to records, and the one statement that moves an effect from a state to the next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from supervisor.core.effects import EffectRecord, EffectState, Owner
from supervisor.core.errors import UnknownEffect
from supervisor.core.payloads import Json, canonical
from supervisor.store.codec import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlite_utils import Database as Connection

_SELECT = (
    "SELECT e.*, p.host, p.pid, p.pid_start, p.boot_id, p.pid_namespace"
    " FROM effects e LEFT JOIN epochs p ON p.n = e.epoch"
)
_ELSEWHERE = frozenset(
    {"host", "pid", "pid_start", "boot_id", "pid_namespace", "command_pid", "command_start", "state"}
    | {"payload", "outcome"}
)


def find(db: Connection, scope: str, op: str) -> EffectRecord | None:
    """Return one effect, or None where nobody asked for it yet."""
    return next(iter(select(db, "WHERE e.scope = ? AND e.op = ?", [scope, op])), None)


def get(db: Connection, scope: str, op: str) -> EffectRecord:
    """Return one effect. Raises UnknownEffect."""
    record = find(db, scope, op)
    if record is None:
        raise UnknownEffect(f"{scope}:{op}" if scope else op)
    return record


def select(db: Connection, where: str = "", values: Sequence[Any] = ()) -> tuple[EffectRecord, ...]:
    """Return the effects that fit a condition of ours over ``e`` (effects) and ``p`` (epochs), by key."""
    cursor = db.execute(f"{_SELECT} {where} ORDER BY e.scope, e.op", list(values))
    names = [column[0] for column in cursor.description]
    return tuple(_record(dict(zip(names, row, strict=True))) for row in cursor.fetchall())


def _record(row: dict[str, Any]) -> EffectRecord:
    owner = command = None
    if row["host"] is not None:
        owner = Owner(row["host"], row["pid"], row["pid_start"], row["boot_id"], row["pid_namespace"])
    if owner and row["command_pid"] is not None:
        command = Owner(
            owner.host, row["command_pid"], row["command_start"], owner.boot_id, owner.namespace, group=True
        )
    return EffectRecord(
        **{name: value for name, value in row.items() if name not in _ELSEWHERE},
        state=EffectState(row["state"]),
        payload=json.loads(row["payload"]),
        outcome=None if row["outcome"] is None else json.loads(row["outcome"]),
        owner=owner,
        command=command,
    )


def insert(db: Connection, row: dict[str, Any]) -> bool:
    """Write a new effect, or nothing where its key is known; return whether it was written."""
    names = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    sql = f"INSERT INTO effects ({names}) VALUES ({values}) ON CONFLICT (scope, op) DO NOTHING"
    return db.execute(sql, row).rowcount == 1


def move(db: Connection, held: EffectRecord, state: EffectState, **changes: Any) -> EffectRecord | None:
    """Move an effect on from exactly the version, state and epoch in ``held``; return it as it is then.

    Returns None where it is no longer that: then nothing was changed.
    """
    sets = "".join(f", {name} = :{name}" for name in changes)
    sql = (
        f"UPDATE effects SET state = :_to, version = version + 1{sets}"
        " WHERE scope = :_scope AND op = :_op AND version = :_version AND state = :_from AND epoch IS :_epoch"
    )
    where: dict[str, Any] = {"_to": state.value, "_from": held.state.value, "_scope": held.scope, "_op": held.op}
    where |= {"_version": held.version, "_epoch": held.epoch}
    if db.execute(sql, {**where, **changes}).rowcount != 1:
        return None
    return get(db, held.scope, held.op)


def to_json(value: Json) -> str | None:
    """Return an outcome as its column holds it."""
    return None if value is None else canonical(value)


def text(value: str | None) -> str | None:
    """Return text that SQLite can hold."""
    return None if value is None else clean(value)
