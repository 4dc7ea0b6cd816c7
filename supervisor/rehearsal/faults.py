"""Checks the raw tables of ``[[ticket.rehearsal]]`` and reports every fault in one pass. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from supervisor.rehearsal.steps import FOR_EVER

MAX_SIZE = 32_000_000
"""Most characters a step may be padded to; the supervisor itself reads lines of up to 64 MiB."""

EFFECT_ENDINGS = ("done", "refused", "unresolved")
"""How a recorded effect may end."""

Check = Callable[[object], str | None]
"""Returns what is wrong with a value, or None."""


@dataclass(frozen=True, slots=True)
class ScriptFault:
    """One thing wrong with a script."""

    index: int
    """Position of the step, from 0."""
    key: str
    """Dotted place inside the step, such as ``usage.input``; empty when the step as a whole is meant."""
    message: str


def faults(raw: object) -> list[ScriptFault]:
    """Return everything that is wrong with a ticket's raw steps, in the order of the file.

    Args:
        raw: what the TOML file holds under ``rehearsal``; anything at all.
    """
    if isinstance(raw, str) or not isinstance(raw, Sequence):
        return [ScriptFault(0, "", "rehearsal must be an array of tables, one per step")]
    found = [fault for index, step in enumerate(raw) for fault in _step_faults(index, step)]
    found += _repeats([step for step in raw if isinstance(step, Mapping)]) if not found else []
    return found


def _step_faults(index: int, step: object) -> Iterator[ScriptFault]:
    if not isinstance(step, Mapping):
        yield ScriptFault(index, "", "a step must be a table")
        return
    wrong = list(_table_faults("", step, KEYS)) or list(_rule_faults(step))
    yield from (ScriptFault(index, key, message) for key, message in wrong)


def _table_faults(prefix: str, table: Mapping[Any, Any], keys: Mapping[str, Check]) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        check = keys.get(key)
        message = _unknown(key, keys) if check is None else check(value)
        if message:
            yield f"{prefix}{key}", message
        elif key in NESTED:
            yield from NESTED[key](value)


def _unknown(key: object, known: Mapping[str, Check]) -> str:
    near = get_close_matches(str(key), known, n=1)
    hint = f'did you mean "{near[0]}"?' if near else "known keys are " + ", ".join(known)
    return f"unknown key; {hint}"


def _rule_faults(step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with keys that are each right but do not go together."""
    ends = [key for key in ("status", "drop", "endless") if step.get(key)]
    if not any(step.get(key) for key in ("text", "tool", "tools", "size", "status", "drop", "endless")):
        yield "", "a step needs text, a tool, or an outage (status, drop, endless)"
    for key, needs in NEEDS.items():
        if key in step and not any(step.get(need) for need in needs):
            yield key, "means nothing without " + " or ".join(needs)
    for first, others in EXCLUDES.items():
        for other in others:
            if step.get(first) and step.get(other):
                yield other, f"cannot stand beside {first}"
    if len(ends) > 1:
        yield ends[1], f"cannot stand beside {ends[0]}"


def _repeats(steps: Sequence[Mapping[str, Any]]) -> Iterator[ScriptFault]:
    """Yield the steps whose words would hide another step: a step without tools is found again by its exact text."""
    said: dict[tuple[str, int], int] = {}
    marks: set[tuple[str, int]] = set()
    for index, step in enumerate(steps):
        words = (str(step.get("text", "")).strip(), int(step.get("size", 0)))
        if step.get("status") or not any(words):
            continue
        is_mark = not any(step.get(key) for key in ("tool", "tools", "drop", "endless"))
        if words in said and (is_mark or words in marks):
            yield ScriptFault(index, "text", f"is the same as in step {said[words] + 1}; {UNIQUE}")
        said.setdefault(words, index)
        if is_mark:
            marks.add(words)


def _text(value: object) -> str | None:
    return None if isinstance(value, str) and value.strip() else "must be text that is not blank"


def _flag(value: object) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _table(value: object) -> str | None:
    return None if isinstance(value, Mapping) else "must be a table"


def _json(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return "must be a table"
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return "must hold only what JSON knows: text, finite numbers, true, false, arrays and tables"
    return None


def _tables(value: object) -> str | None:
    listed = isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(v, Mapping) for v in value)
    return None if listed and value else "must be an array of tables like { name = ..., input = { ... } }"


def _seconds(value: object) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return None if is_number and math.isfinite(value) and value >= 0 else "must be a number of seconds, 0 or more"  # type: ignore[arg-type, operator]


def _whole(least: int, most: int) -> Check:
    def check(value: object) -> str | None:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return None if is_whole and least <= value <= most else f"must be a whole number, {least} to {most}"  # type: ignore[operator]

    return check


def _times(value: object) -> str | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return None if is_whole and (value == FOR_EVER or value >= 1) else "must be 1 or more, or -1 for ever"  # type: ignore[operator]


def _ending(value: object) -> str | None:
    return None if value in EFFECT_ENDINGS else f"must be one of {', '.join(EFFECT_ENDINGS)}"


def _call_faults(calls: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for place, call in enumerate(calls):
        yield from _table_faults(f"tools[{place}].", call, {"name": _text, "input": _json})
        if "name" not in call:
            yield f"tools[{place}].name", "is missing"


def _header_faults(headers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in headers.items():
        # Anything else would split the response or crash the server's encoder.
        if not (isinstance(value, str) and value.isascii() and value.isprintable()):
            yield f"headers.{name}", "must be one line of ASCII text"
        elif not (name.isascii() and name.replace("-", "").isalnum()):
            yield f"headers.{name}", "is not a header name"


TOKENS = {name: _whole(0, 100_000_000) for name in ("input", "output", "cache_read", "cache_write")}

KEYS: Mapping[str, Check] = {
    "thinking": _text,
    "text": _text,
    "tool": _text,
    "input": _json,
    "tools": _tables,
    "usage": _table,
    "delay_s": _seconds,
    "chunk_s": _seconds,
    "size": _whole(1, MAX_SIZE),
    "status": _whole(400, 599),
    "retry_after": _seconds,
    "times": _times,
    "error_type": _text,
    "drop": _flag,
    "endless": _flag,
    "headers": _table,
    "effect": _ending,
    "outcome": _text,
}
"""Every key of a step, with its check."""

NESTED: Mapping[str, Callable[[Any], Iterator[tuple[str, str]]]] = {
    "usage": lambda table: _table_faults("usage.", table, TOKENS),
    "tools": _call_faults,
    "headers": _header_faults,
}

NEEDS: Mapping[str, tuple[str, ...]] = {
    "input": ("tool",),
    "effect": ("tool",),
    "outcome": ("tool",),
    "times": ("status", "drop", "endless"),
    "retry_after": ("status",),
    "error_type": ("status",),
}

EXCLUDES: Mapping[str, tuple[str, ...]] = {
    "tool": ("tools",),
    "status": ("tool", "tools", "thinking", "size", "usage"),
    "drop": ("tool", "tools"),
    "endless": ("tool", "tools", "size"),
}

UNIQUE = "a step without tools is found again by its text, so the text must be its own"
