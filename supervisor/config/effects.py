"""``[effects.NAME]`` -> EffectSpec: what goes together, beyond what each key may hold."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from supervisor.config import tables
from supervisor.config.checks import BadValueError, show
from supervisor.core.spec import EffectSpec

if TYPE_CHECKING:
    from supervisor.config.faults import Faults

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,49}")
_JSON_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_NO_INPUT: Mapping[str, Any] = {"type": "object", "properties": {}}


def read_effects(raw: object, faults: Faults) -> dict[str, EffectSpec]:
    """Return the effects of a file that are right, by name."""
    if not isinstance(raw, Mapping):
        faults.add("[effects]", f"must hold one table for each effect, not {show(raw)}", "write [effects.NAME]")
        return {}
    found = {name: _effect(name, table, faults) for name, table in raw.items()}
    return {name: effect for name, effect in found.items() if effect is not None}


def _effect(name: str, raw: object, faults: Faults) -> EffectSpec | None:
    place = f"[effects.{name}]"
    if not isinstance(raw, Mapping):
        faults.add("[effects]", f"{name} must be a table, not {show(raw)}", "write [effects.NAME]")
        return None
    if not _NAME.fullmatch(name):
        faults.add(place, f"is no name for an effect: {show(name)}", "up to 50 letters, digits, _ and -")
    good = tables.read(raw, tables.EFFECT, place, faults)
    _rules(raw, place, faults)
    schema = _schema(raw.get("input", _NO_INPUT), f"{place} input", faults)
    if schema is None or not {"kind", "description"} <= good.keys():
        return None
    _key_template(good.get("key", ""), schema["properties"], f"{place} key", faults)
    return EffectSpec(name=name, **{**good, "input": schema})


def _rules(raw: Mapping[str, Any], place: str, faults: Faults) -> None:
    """Note keys that are missing or exclude each other."""
    if "kind" not in raw:
        faults.add(place, "has no kind", 'kind = "idempotent", "keyed" or "once" says whether it may be repeated')
    if "description" not in raw:
        faults.add(place, "has no description", "the agent reads it to know what the effect does")
    if ("command" in raw) == ("handler" in raw):
        message = "has both command and handler" if "command" in raw else "has neither command nor handler"
        faults.add(place, message, "give one of them")
    if "probe" in raw and "probe_handler" in raw:
        faults.add(place, "has both probe and probe_handler", "give one of them")
    if raw.get("kind") == "keyed" and "window_s" not in raw:
        faults.add(place, "is keyed and has no window_s", "say for how many seconds the other system remembers a key")


def _schema(schema: object, place: str, faults: Faults) -> Mapping[str, Any] | None:
    """Return the schema of the payload, or None after noting that it is none of a JSON object."""
    properties = schema.get("properties", {}) if isinstance(schema, Mapping) else None
    if not isinstance(schema, Mapping) or schema.get("type") != "object" or not isinstance(properties, Mapping):
        faults.add(place, "is no JSON schema of an object", 'it needs type = "object" and a table of properties')
        return None
    for name, entry in properties.items():
        _property(entry, f"{place} {name}", faults)
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        faults.add(f"{place} required", "must be a list of names")
        required = []
    for name in required:
        if name not in properties:
            faults.unknown(f"{place} required", "property", name, properties)
    if not _is_json(schema):
        faults.add(place, "holds a date or a number that JSON does not have")
    return {**schema, "properties": properties}


def _property(entry: object, place: str, faults: Faults) -> None:
    if not isinstance(entry, Mapping):
        faults.add(place, f'must be a table such as {{ type = "string" }}, not {show(entry)}')
        return
    kinds = entry.get("type", "string")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind not in _JSON_TYPES:
            faults.unknown(place, "type", kind if isinstance(kind, str) else show(kind), _JSON_TYPES)


def _is_json(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_json, value.values()))
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, float):
        return abs(value) < float("inf")
    return isinstance(value, str | int)


def _key_template(template: str, properties: Mapping[str, Any], place: str, faults: Faults) -> None:
    try:
        fields = key_fields(template)
    except BadValueError as bad:
        faults.add(place, bad.message, bad.hint)
        return
    for field in fields:
        if field not in properties:
            faults.unknown(place, "property of the input", field, properties)


def key_fields(template: str) -> tuple[str, ...]:
    """Return the names in a key template such as ``{repo}-{pr}``. Raises BadValueError."""
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise BadValueError(f"is no template: {error}", "write the payload's fields as {name}") from None
    for _, field, spec, conversion in parts:
        if field is not None and (not re.fullmatch(r"[\w-]+", field) or spec or conversion):
            raise BadValueError(f"is no template: {show(field)} is not a plain name", "write {name}")
    return tuple(dict.fromkeys(field for _, field, _, _ in parts if field is not None))
