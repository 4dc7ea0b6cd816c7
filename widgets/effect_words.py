"""How effects are written: their states, times, and payloads as flat fields. Pure functions; every word is made safe.

A payload may hold anything in any size, so both the number of fields and the length of each are bounded here.
"""

from __future__ import annotations

import time
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from supervisor.core.effects import EffectState
from supervisor.core.payloads import as_text
from widgets.cells import Piece, Tone, drawable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from supervisor.core.effects import EffectRecord, EffectView, LogRow, Owner
    from supervisor.core.payloads import Json

MAX_FIELDS = 200
"""Most fields shown of a payload."""
MAX_DEPTH = 6
"""Objects nested deeper than this are shown as JSON."""
FIELD_CHARS = 8_000
"""Most characters shown of a field."""
SUMMARY_FIELDS = 3
"""Fields that stand for a whole payload where there is one line only."""
_SUMMARY_CHARS = 60
_DAY_S = 86_400

_SIGNS: Mapping[EffectState, tuple[str, Tone]] = MappingProxyType(
    {
        EffectState.REQUESTED: ("!", Tone.WARM),
        EffectState.UNRESOLVED: ("!", Tone.WARM),
        EffectState.CLAIMED: ("●", Tone.ACCENT),
        EffectState.GRANTED: ("◌", Tone.PLAIN),
        EffectState.DONE: ("✓", Tone.PLAIN),
    }
)


def effect_state(state: EffectState) -> Piece:
    """Return glyph and word, such as ``! unresolved``, in the tone of the state."""
    glyph, tone = _SIGNS.get(state, ("–", Tone.MUTED))
    return f"{glyph} {state.value.replace('_', ' ')}", tone


def stamp(at: float, now: float) -> str:
    """Return the local time with seconds, and the day where that is not today: ``14:02:11``, ``03-30 14:02:11``."""
    then, today = time.localtime(at), time.localtime(now)
    same_day = abs(now - at) < _DAY_S and then.tm_yday == today.tm_yday
    return time.strftime("%H:%M:%S" if same_day else "%m-%d %H:%M:%S", then)


def span(seconds: float) -> str:
    """Return how long something took, such as ``2.1 s``, ``48 s`` or ``3 min``."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def fields(payload: Json) -> tuple[list[tuple[str, str]], bool]:
    """Return a payload as names and texts, not yet safe, nested ones named ``a.b``; and whether there are more."""
    found = list(islice(all_fields(payload), MAX_FIELDS + 1))
    return [(name, _cut(text)) for name, text in found[:MAX_FIELDS]], len(found) > MAX_FIELDS


def all_fields(payload: Json) -> Iterator[tuple[str, str]]:
    """Yield a payload as `fields` does, but all of it."""
    return _fields(payload, "", 0)


def _fields(value: Json, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value and depth < MAX_DEPTH:
        for name, entry in value.items():
            yield from _fields(entry, f"{path}.{name}" if path else name, depth + 1)
    elif isinstance(value, list) and depth < MAX_DEPTH and any(isinstance(entry, dict | list) for entry in value):
        for place, entry in enumerate(value):
            yield from _fields(entry, f"{path}[{place}]", depth + 1)
    else:
        yield path, as_text(value)


def _cut(text: str) -> str:
    left = len(text) - FIELD_CHARS
    return text if left <= 0 else f"{text[:FIELD_CHARS]}\n… {left} more characters"


def payload_summary(payload: Json) -> str:
    """Return the first fields of a payload on one safe line, such as ``environment staging, build 418``."""
    shown = islice(all_fields(payload), SUMMARY_FIELDS)
    words = ", ".join(f"{name} {_cut(text)}".strip() for name, text in shown if payload not in (None, {}))
    line = drawable(words)
    return line if len(line) <= _SUMMARY_CHARS else f"{line[: _SUMMARY_CHARS - 1].rstrip()}…"


def waits_for(view: EffectView) -> str:
    """Return in a few safe words why an effect waits, or what became of it."""
    record = view.record
    if record.state is EffectState.REQUESTED:
        return f"wants your approval: {payload_summary(record.payload)}".rstrip(": ")
    if record.state is EffectState.UNRESOLVED:
        return f"unresolved: {drawable(record.error) or 'nobody knows whether it happened'}"
    return effect_state(record.state)[0]


def owner_words(view: EffectView, is_ours: bool) -> str:
    """Return who claimed an effect last, and what is known of their life."""
    owner = view.record.owner
    if owner is None:
        return "nobody"
    if is_ours:
        return f"this supervisor (pid {owner.pid})"
    life = "proved dead" if view.owner_dead else _doubt(view.record, owner)
    return f"an earlier run (pid {owner.pid} on {drawable(owner.host)}, {life})"


def _doubt(record: EffectRecord, owner: Owner) -> str:
    command = record.command
    if command is None or command.pid == owner.pid:
        return "not proved dead"
    return f"not proved dead; its command is pid {command.pid}"


def ran_until(view: EffectView) -> str:
    """Return when and after how long the last run ended, as far as somebody saw it end; else an empty text."""
    record = view.record
    if record.claimed_at is None:
        return ""
    ending = next((row for row in reversed(view.log) if row.verb in ("settle", "orphan")), None)
    if ending is None or ending.at < record.claimed_at:
        return ""
    if ending.verb == "orphan":
        return "its run left no outcome"
    return f"{ending.to_state.replace('_', ' ')} after {span(ending.at - record.claimed_at)}"


def log_words(row: LogRow) -> str:
    """Return what a line of the log did and who did it, on one safe line."""
    before = (row.from_state or "absent").replace("_", " ")
    after = row.to_state.replace("_", " ")
    move = after if before == after else f"{before} → {after}"
    actor = row.actor if row.actor.startswith(row.actor_kind) else f"{row.actor_kind} {row.actor}"
    return drawable(f"{row.verb.replace('_', ' '):<9} {move}  by {actor}".rstrip())
