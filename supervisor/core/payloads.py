"""What an effect is asked to do, as data: one canonical form, its fingerprint, its key, and where two of them differ.

Also the removal of secrets by value, since whatever is written here stays readable on the disk.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

MAX_BUSINESS_ID = 120
"""Longest business id kept in a key as it is; the rest becomes a hash."""
MAX_DIFFERENCES = 50
MIN_SECRET = 6
"""Shorter values are left alone: replacing them would shred ordinary text and hide nothing that can be hidden."""

_EXACT_INT = 2.0**53
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_Name = TypeVar("_Name", int, str)


class KeyFault(ValueError):  # noqa: N818
    """A business id cannot be built from this payload."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One field in which two payloads differ."""

    path: str
    """Such as ``comment.body`` or ``labels[2]``; empty for the payload itself."""
    old: str | None
    """The stored value as text; None where the field is missing."""
    new: str | None


def canonical(value: Json) -> str:
    """Return the one spelling of a JSON value: sorted names, no spaces, ASCII, and 1.0 written as 1.

    Raises ValueError or TypeError for what JSON cannot hold, such as NaN.
    """
    return _ENCODER.encode(_normal(value))


def _normal(value: Json) -> Json:
    # A model that repeats a call may write 1 as 1.0; JSON knows one number.
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_INT:
        return int(value)
    if isinstance(value, Mapping):
        return {str(name): _normal(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(entry) for entry in value]
    return value


def fingerprint(value: Json) -> str:
    """Return the SHA-256 of the canonical form, in hex."""
    return hash_of(canonical(value))


def hash_of(text: str) -> str:
    """Return the SHA-256 of a canonical form, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def build_op(effect: str, template: str | None = None, payload: Mapping[str, Json] | None = None) -> str:
    """Return the part of a key after its scope: the effect's name, and the business id where a template is given.

    The template names fields of the payload, such as ``{repo}-{pr}``. Raises KeyFault when one of them is missing or
    is not text, a number or a truth value.
    """
    if not template:
        return effect
    fields = payload or {}
    business = re.sub(r"\{([\w-]+)\}", lambda found: _business_part(found[1], fields), template)
    if len(business) > MAX_BUSINESS_ID:
        business = f"{business[:MAX_BUSINESS_ID]}~{_digest(business)}"
    return f"{effect}:{business}"


def _business_part(name: str, payload: Mapping[str, Json]) -> str:
    value = payload.get(name)
    if value is None or value == "":
        raise KeyFault(f'the key needs the field "{name}", which is missing or empty')
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return canonical(value)
    raise KeyFault(f'the key needs the field "{name}" as text or a number, not a list or an object')


def remote_key(ledger: str, scope: str, op: str, generation: int) -> str:
    """Return the key that the other system is given: short, printable ASCII, and different for every ledger.

    A hash makes it unique; the words before it are for people. It stays the same over retries of one effect and
    changes (``generation``) only after a run that was proved not to be applied: a service that replays the refusal
    of a key it knows would refuse for ever.
    """
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{scope}-{op}").strip("-")[:80]
    return f"{words}-{_digest(json.dumps([ledger, scope, op, generation]))}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def differences(old: Json, new: Json) -> tuple[Difference, ...]:
    """Return the fields in which two payloads differ, in the order of their names; at most MAX_DIFFERENCES."""
    found = []
    for difference in _differences(_normal(old), _normal(new), ""):
        found.append(difference)
        if len(found) == MAX_DIFFERENCES:
            break
    return tuple(found)


def _differences(old: Json, new: Json, path: str) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        prefix = f"{path}." if path else ""
        for name in sorted(old.keys() | new.keys()):
            yield from _field(old, new, name, f"{prefix}{name}")
    elif isinstance(old, list) and isinstance(new, list):
        olds, news = dict(enumerate(old)), dict(enumerate(new))
        for place in range(max(len(old), len(new))):
            yield from _field(olds, news, place, f"{path}[{place}]")
    elif canonical(old) != canonical(new):
        yield Difference(path, as_text(old), as_text(new))


def _field(old: Mapping[_Name, Json], new: Mapping[_Name, Json], name: _Name, path: str) -> Iterator[Difference]:
    if name in old and name in new:
        yield from _differences(old[name], new[name], path)
    else:
        yield Difference(path, as_text(old[name]) if name in old else None, as_text(new[name]) if name in new else None)


def as_text(value: Json) -> str:
    """Return a value for people: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH|DSN)(_|$|S$)", re.IGNORECASE)


def secrets_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables whose names say that they hold a secret; a number of tokens (``MAX_TOKENS``) is none."""
    named = {name: value for name, value in environment.items() if _SECRET_NAME.search(name)}
    return {name: value for name, value in named.items() if not (name.upper().endswith("S") and value.isdigit())}


def spellings(secrets: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return how each secret may be spelled in a text and what then stands for it, such as ``[GITHUB_TOKEN]``.

    Longer values go first, so that one that holds another is replaced whole. Values as they look in a URL or in a
    JSON string are found too; what was encoded in another way is not.
    """
    long = sorted((item for item in secrets.items() if len(item[1]) >= MIN_SECRET), key=lambda item: -len(item[1]))
    return tuple((spelled, f"[{name}]") for name, value in long for spelled in sorted(_spelled(value), key=len)[::-1])


def _spelled(value: str) -> set[str]:
    return {value, quote(value, safe="", errors="replace"), json.dumps(value)[1:-1]}


def redact(text: str, secrets: Mapping[str, str]) -> str:
    """Return the text with the value of every secret replaced by its name, as ``spellings`` has them."""
    for spelled, name in spellings(secrets):
        text = text.replace(spelled, name)
    return text


def redact_value(value: Json, secrets: Mapping[str, str]) -> Json:
    """Return a JSON value with ``redact`` applied to all its text, names of fields included."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, dict):
        return {redact(name, secrets): redact_value(entry, secrets) for name, entry in value.items()}
    if isinstance(value, list):
        return [redact_value(entry, secrets) for entry in value]
    return value
