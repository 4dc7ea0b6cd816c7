"""The operator's own keys: ``keys.toml`` -> a key for each command's name. All faults are told at once.

Knows no terminal library: which commands there are, where they hold and which keys are taken is handed in.
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from supervisor.config.faults import Faults
from supervisor.config.reader import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MODIFIERS = re.compile(r"((?:ctrl|alt|shift|super)\+)*(?=.)")
_NAMED = re.compile(
    r"f(?:[1-9]|1\d|2[0-4])|space|tab|enter|escape|backspace|delete|insert|home|end|pageup|pagedown|up|down|left|right"
)
_RENAMED = {
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "low_line": "underscore",
    "plus_sign": "plus",
    "reverse_solidus": "backslash",
    "solidus": "slash",
}
"""Names of signs that differ from what Unicode calls them."""


@dataclass(frozen=True, slots=True)
class Place:
    """A screen, with what can be done there."""

    name: str
    """Such as ``the board``."""
    keys: Mapping[str, Sequence[str]]
    """By name of a command its keys, the first of which can be replaced."""


def keys_path(environ: Mapping[str, str]) -> Path:
    """Return where the file is looked for."""
    home = environ.get("XDG_CONFIG_HOME", "")
    return (Path(home) if home else Path(environ.get("HOME", "")) / ".config") / "supervise" / "keys.toml"


def load_keys(path: Path, places: Sequence[Place], kept: Mapping[str, str]) -> dict[str, str]:
    """Return the operator's keys by the names of commands, as they are written in the file; none without a file.

    Args:
        path: The file.
        places: Where commands hold: on one screen no key may stand for two of them.
        kept: Keys that cannot be given away, and what each of them is for.

    Raises ConfigError, with everything that is wrong.
    """
    if not os.path.lexists(path):
        return {}
    faults = Faults(str(path))
    raw = read(path, faults)
    given = raw.pop("keys", {})
    for name in raw:
        faults.unknown(name, "table", name, ["keys"])
    if not isinstance(given, dict):
        faults.add("keys", "must be a table", 'write [keys] and below it lines such as interrupt = "f8"')
        given = {}
    found = dict(_sound(given, places, kept, faults))
    _refuse_doubles(found, places, faults)
    faults.stop()
    return found


def _sound(
    given: Mapping[str, Any], places: Sequence[Place], kept: Mapping[str, str], faults: Faults
) -> Iterator[tuple[str, str]]:
    known = list(dict.fromkeys(name for place in places for name in place.keys))
    for name, key in given.items():
        where = f"keys.{name}"
        if name not in known:
            faults.unknown(where, "command", name, known)
        elif not isinstance(key, str):
            faults.add(where, "must be a text", 'such as "f8", "ctrl+e" or "!"')
        elif not is_key(key):
            faults.add(where, f'"{key}" is no key', 'write one as in "i", "!", "ctrl+e", "f8", "space"')
        elif canonical(key) in kept:
            faults.add(where, f'"{key}" cannot be given away: {kept[canonical(key)]}', "choose another key")
        else:
            yield name, key


def _refuse_doubles(found: Mapping[str, str], places: Sequence[Place], faults: Faults) -> None:
    told: set[tuple[str, str]] = set()
    for place in places:
        takers: dict[str, str] = {}
        for name, defaults in place.keys.items():
            own = [found[name]] if name in found else list(defaults[:1])
            for key in map(canonical, [*own, *defaults[1:]]):
                other = takers.setdefault(key, name)
                pair = (min(name, other), max(name, other))
                if other != name and pair not in told and (name in found or other in found):
                    told.add(pair)
                    mine = name if name in found else other
                    words = f'"{found[mine]}" stands for {pair[0]} and for {pair[1]} on {place.name}'
                    faults.add(f"keys.{mine}", words, "give one of them another key")


def is_key(key: str) -> bool:
    """Return whether a text spells one key, with modifiers or without."""
    modifiers = _MODIFIERS.match(key)
    last = key[modifiers.end() :] if modifiers else ""
    if len(last) == 1:
        return last.isprintable() and not last.isspace()
    return bool(_NAMED.fullmatch(last)) or (last in _sign_names() and not last.isupper())


def canonical(key: str) -> str:
    """Return the one spelling of a key that signs have names in, such as ``exclamation_mark``."""
    modifiers = _MODIFIERS.match(key)
    start = modifiers.end() if modifiers else 0
    last = key[start:]
    if len(last) == 1 and not last.isalnum():
        name = unicodedata.name(last, last).lower().replace("-", "_").replace(" ", "_")
        last = _RENAMED.get(name, name)
    return key[:start] + last


def _sign_names() -> frozenset[str]:
    return frozenset(canonical(chr(code)) for code in range(0x21, 0x7F) if not chr(code).isalnum())
