"""Effects in words, for a shell. All text of agents and other systems is made safe here."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from supervisor.core.effects import EffectState
from supervisor.core.text import safe_line, safe_text
from supervisor.report import iso
from supervisor.store.owner import is_proved_dead

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from supervisor.core.effects import EffectRecord, LogRow, Owner

_WAITING = (EffectState.UNRESOLVED, EffectState.REQUESTED)
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def waiting_first(records: Iterable[EffectRecord]) -> list[EffectRecord]:
    """Return effects as they are listed: the longest waiting for the operator first, then the others by key."""
    return sorted(records, key=lambda r: (r.state not in _WAITING, _since(r) if r.state in _WAITING else 0.0, r.key))


def _since(record: EffectRecord) -> float:
    return record.settled_at or record.claimed_at or record.requested_at or 0.0


def age(seconds: float) -> str:
    """Return how long ago something was, in its largest whole unit."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return "now"


def table(records: Sequence[EffectRecord], now: float | None = None) -> str:
    """Return a line for each effect under a heading; one sentence where there are none."""
    if not records:
        return "no ticket has asked for an effect yet"
    at = time.time() if now is None else now
    rows = [("STATE", "KEY", "TICKET", "AGE", "ATTEMPTS")]
    rows += [
        (r.state.value, safe_line(r.key), safe_line(r.ticket), age(at - _since(r)), str(r.attempt)) for r in records
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def as_data(record: EffectRecord, log: Sequence[LogRow]) -> dict[str, Any]:
    """Return all that is known of an effect as plain data."""
    return {"key": record.key, **asdict(record), "owner_dead": owner_is_dead(record), "log": [asdict(r) for r in log]}


def owner_is_dead(record: EffectRecord) -> bool:
    """Whether the process that claimed an effect last, and the one that ran it, are proved dead."""
    return all(owner is None or is_proved_dead(owner) for owner in (record.owner, record.command))


def card(record: EffectRecord, log: Sequence[LogRow]) -> str:
    """Return all that is known of an effect in words."""
    lines = [f"{safe_line(record.key)} is {record.state.value} (version {record.version})", ""]
    lines += [f"  {name:<10} {safe_line(value)}" for name, value in _facts(record) if value]
    lines += ["", "payload", _indented(json.dumps(record.payload, ensure_ascii=False, indent=2, sort_keys=True))]
    if record.said:
        lines += ["", "the model said just before", _indented(record.said)]
    return "\n".join([*lines, "", "log", *(_log_line(row) for row in log)])


def _indented(words: str) -> str:
    return "\n".join(f"  {line}" for line in safe_text(words).split("\n"))


def _facts(r: EffectRecord) -> Iterator[tuple[str, str]]:
    yield "ticket", r.ticket
    yield "effect", f"{r.effect} ({r.kind})"
    yield "attempts", str(r.attempt)
    yield "requested", iso(r.requested_at) or ""
    yield "claimed", iso(r.claimed_at) or ""
    yield "settled", iso(r.settled_at) or ""
    yield "owner", _process(r.owner)
    yield "command", _process(r.command)
    yield "remote key", r.remote_key
    left = r.window_left_s(time.time())
    yield "window", "" if left is None else f"{left:.0f} s until the other system may have forgotten the key"
    yield "granted to", r.granted_to or ""
    yield "outcome", r.outcome_text
    yield "error", r.error


def _process(owner: Owner | None) -> str:
    if owner is None:
        return ""
    what = "process group" if owner.group else "process"
    return f"{what} {owner.pid} on {owner.host}, {'gone' if is_proved_dead(owner) else 'not proved dead'}"


def _log_line(row: LogRow) -> str:
    who = " ".join(x for x in (row.actor_kind, row.actor) if x)
    told = [t for t in (row.reason, row.evidence and f"evidence: {row.evidence}", row.outcome) if t]
    words = f"{row.verb} → {row.to_state} (version {row.version}), {who}{': ' if told else ''}{'; '.join(told)}"
    return f"  {iso(row.at)}  {safe_line(words)}"
