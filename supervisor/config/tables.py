"""Which keys each table has and what each may hold. The keys come from the spec's own fields, so they cannot drift."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from supervisor.config import checks
from supervisor.config.argv import argv
from supervisor.config.checks import BadValueError, Check, integer, listed, number, show
from supervisor.core.spec import BatchSpec, EffectSpec, TicketSpec

if TYPE_CHECKING:
    from supervisor.config.faults import Faults

MAX_PROMPT_BYTES = 1_000_000
_MAX_ARGUMENT_BYTES = 100_000
"""Text that travels on a command line: Linux takes 128 KiB for one argument."""


def _words(spec: type, field: str) -> Check:
    return checks.choice(*get_args(get_type_hints(spec)[field]))


def _checks(spec: type, without: set[str], table: dict[str, Check]) -> dict[str, Check]:
    return {field.name: table[field.name] for field in dataclasses.fields(spec) if field.name not in without}


_money = number(above=0)
_seconds = number(above=0)
_texts = listed(checks.text(_MAX_ARGUMENT_BYTES, blank=False))

BATCH: Mapping[str, Check] = _checks(
    BatchSpec,
    {"path", "tickets", "effects"},
    {
        "name": checks.line,
        "repo": checks.line,
        "slots": integer(1, 1_000),
        "budget_usd": _money,
        "base": checks.name,
        "claude_home": _words(BatchSpec, "claude_home"),
        "max_retries": integer(0),
    },
)

TICKET: Mapping[str, Check] = _checks(
    TicketSpec,
    set(),
    {
        "id": checks.ticket_id,
        "title": checks.text(10_000),
        "prompt": checks.text(MAX_PROMPT_BYTES),
        "after": listed(checks.line, most=10_000),
        "priority": integer(-1_000_000_000),
        "model": checks.name,
        "fallback_model": checks.name,
        "permission_mode": _words(TicketSpec, "permission_mode"),
        "allowed_tools": _texts,
        "disallowed_tools": _texts,
        "rules": checks.text(_MAX_ARGUMENT_BYTES),
        "project_instructions": checks.flag,
        "max_turns": integer(1),
        "budget_usd": _money,
        "reserve_usd": number(least=0),
        "max_attempts": integer(1),
        "on_limit": _words(TicketSpec, "on_limit"),
        "ceiling_usd": _money,
        "budget_turns": integer(1),
        "budget_tokens": integer(1, 1_000_000_000_000),
        "base": checks.name,
        "copy": listed(checks.repo_path),
        "setup": argv,
        "setup_timeout_s": _seconds,
        "verify": argv,
        "verify_timeout_s": _seconds,
        "verify_rounds": integer(0),
        "stall_minutes": number(above=0),
        "effects": listed(checks.line),
        "rehearsal": checks.tables,
    },
) | {"prompt_file": checks.line, "vars": checks.variables}

NO_DEFAULT = ("id", "title", "prompt", "prompt_file", "after", "rehearsal")
DEFAULTS: Mapping[str, Check] = {key: check for key, check in TICKET.items() if key not in NO_DEFAULT}

EFFECT: Mapping[str, Check] = _checks(
    EffectSpec,
    {"name"},
    {
        "kind": _words(EffectSpec, "kind"),
        "description": checks.text(_MAX_ARGUMENT_BYTES, blank=False),
        "input": lambda value: value,  # a schema has places of its own
        "command": argv,
        "handler": checks.handler,
        "key": checks.line,
        "approval": _words(EffectSpec, "approval"),
        "scope": _words(EffectSpec, "scope"),
        "window_s": _seconds,
        "timeout_s": _seconds,
        "max_output_bytes": integer(1, 64_000_000),
        "probe": argv,
        "probe_handler": checks.handler,
        "env": listed(checks.env_name),
    },
)

_OTHER_WORDS = {
    "concurrency": "slots", "parallel": "slots", "workers": "slots", "name": "id", "depends_on": "after",
    "needs": "after", "requires": "after", "tools": "allowed_tools", "cwd": "repo", "system_prompt": "rules",
    "test": "verify", "timeout": "timeout_s", "schema": "input", "max_budget_usd": "budget_usd",
}  # fmt: skip
_HOMES = {"[batch]": BATCH, "[defaults] or [[ticket]]": DEFAULTS, "[[ticket]]": TICKET, "[effects.NAME]": EFFECT}


def read(raw: object, table: Mapping[str, Check], place: str, faults: Faults) -> dict[str, Any]:
    """Return the good values of a table, and note what is wrong with the others.

    Args:
        raw: What the file holds at that place; anything at all.
        table: The keys it may have and what each may hold.
        place: What to call it in a fault.
        faults: Takes what is wrong.
    """
    if not isinstance(raw, Mapping):
        faults.add(place, f"must be a table, not {show(raw)}")
        return {}
    good: dict[str, Any] = {}
    for key, value in raw.items():
        check = table.get(key)
        if check is None:
            faults.add(place, f'unknown key "{key}"', right_key(key, table, faults))
            continue
        try:
            good[key] = check(value)
        except BadValueError as bad:
            faults.add(f"{place} {key}", bad.message, bad.hint)
    return good


def right_key(key: str, table: Collection[str], faults: Faults) -> str:
    """Return a hint for a key that the table does not have: what it is called, or where it belongs."""
    other = _OTHER_WORDS.get(key)
    if other in table:
        return f'did you mean "{other}"?'
    if table is DEFAULTS and key in NO_DEFAULT:
        return "each ticket has its own"
    home = next((home for home, keys in _HOMES.items() if key in keys), None)
    return f"it belongs in {home}" if home else faults.nearest(key, table)
