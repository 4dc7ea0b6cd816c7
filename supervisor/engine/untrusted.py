"""Values of the agent's side, which may be anything that JSON can say, as what the rest of the engine expects.

No function here ever raises, and none looks at more of a value than it returns: a message may hold 64 MB.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from supervisor.core.redaction import CUT
from supervisor.store.codec import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TEXT_CHARS = 20_000
"""Most characters of one text, input or result that travel on; the session's own file has the rest."""
KEPT_CHARS = 40_000
"""Most characters that are kept of a tool's input that the operator is asked about."""
_MOST_KEPT = 200
_DEEPEST = 8
_HUGE = 1e15
_ENCODER = json.JSONEncoder(ensure_ascii=False, indent=1, default=str)


def bounded(value: object, limit: int = TEXT_CHARS) -> str:
    """Return any value as text that can be stored: cut, and without lone surrogates and NULs; None is empty."""
    if not isinstance(value, str):
        return "" if value is None else as_json(value, limit)
    return clean(value if len(value) <= limit else f"{value[:limit]}{CUT}{len(value) - limit} more characters")


def as_json(value: object, limit: int = TEXT_CHARS) -> str:
    """Return a value as indented JSON, cut. Each level adds to the text, so a deep one ends before the stack does."""
    parts: list[str] = []
    left = limit
    for part in _ENCODER.iterencode(value):
        parts.append(part)
        left -= len(part)
        if left < 0:
            return clean("".join(parts)[:limit] + f"{CUT}more")
    return clean("".join(parts))


def kept(value: Mapping[str, Any], clear: Callable[[str], str], limit: int = KEPT_CHARS) -> dict[str, Any]:
    """Return a tool's input as it can be kept: long texts cut and long lists ended, each saying so.

    Args:
        value: anything that JSON can say.
        clear: takes out of each text what must not be written down, before it is cut.
        limit: most characters of all texts together, roughly.
    """
    return _Keeper(clear, limit).table(value)


class _Keeper:
    """Walks through a value until there is no room left."""

    def __init__(self, clear: Callable[[str], str], limit: int) -> None:
        self._clear = clear
        self._left = limit

    def table(self, value: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
        items = islice(value.items(), _MOST_KEPT)
        found = {self._text(str(name), 200): self._any(entry, depth) for name, entry in items if self._left > 0}
        if len(value) > len(found):
            found["…"] = f"{len(value) - len(found)} more"
        return found

    def _any(self, value: object, depth: int) -> Any:
        self._left -= 4
        if isinstance(value, str):
            return self._text(value, TEXT_CHARS)
        if isinstance(value, bool | int | None) or number(value) is not None:
            return value
        if depth > _DEEPEST:
            return "…"
        if isinstance(value, Mapping):
            return self.table(value, depth + 1)
        if isinstance(value, list | tuple):
            return self._list(value, depth + 1)
        return self._text(str(value), 200)

    def _list(self, value: Sequence[object], depth: int) -> list[Any]:
        found = []
        for entry in islice(value, _MOST_KEPT):
            if self._left <= 0:
                break
            found.append(self._any(entry, depth))
        return found if len(found) == len(value) else [*found, f"… {len(value) - len(found)} more"]

    def _text(self, text: str, limit: int) -> str:
        text = self._clear(text)
        text = bounded(text, min(limit, max(100, self._left)))
        self._left -= len(text)
        return text


def listed(value: object, most: int) -> list[object]:
    """Return the first items of a list; a text alone is one item, and anything else is none."""
    if isinstance(value, str):
        return [value]
    return list(islice(value, most)) if isinstance(value, list | tuple) else []


def number(value: object) -> float | None:
    """Return a number; None for anything else, also for one that is not finite or beyond all sense."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_HUGE < value < _HUGE else None


def whole(value: object) -> int:
    """Return a whole number, 0 for anything that is no number."""
    return int(number(value) or 0)


def status(value: object) -> int | None:
    """Return an HTTP status, None for anything else."""
    return value if isinstance(value, int) and 100 <= value <= 999 else None
