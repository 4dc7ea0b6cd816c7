"""Spoils good messages in every way we can think of. All chance comes from one generator, so a seed repeats a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

_TEXTS = (
    "", " ", "\0", "\ud83d", "\udc00 x", "a\ud83d\ude00b", "\x1b[2J\x1b]52;c;eA==\x07", "\x9b31m", "\u202e\u2066abc",
    "Fix [/", "[@click=app.quit]hi[/]", "e" + "\u0301" * 50, "🏷️ 1️⃣ 修复", "\u200d" * 9, "\ufeff", "\uffff", "\r\n\r",
    "1", "-0", "1e999", "NaN", "null", "true", "../../etc/passwd", "--resume", "'; DROP TABLE tickets; --", "{pr}",
    "{{team}}", "%s%n", "success", "completed", "error_max_turns", "api_error", "allowed", "tool_use", "task_started",
)  # fmt: skip
_NUMBERS: tuple[float, ...] = (
    0, 1, -1, 200, 529, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 10**400, 0.1, -0.0, 1e15, 1e308, -1e308, 5e-324,
    float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
_KINDS = (
    "assistant", "user", "system", "result", "stream_event", "rate_limit_event", "conversation_reset", "text", "error",
    "thinking", "tool_use", "tool_result", "server_tool_use", "advisor_tool_result", "end", "init", "api_retry",
)  # fmt: skip
_KEYS = (
    "type", "subtype", "uuid", "session_id", "message", "content", "id", "model", "usage", "error", "errors", "input",
    "result", "num_turns", "total_cost_usd", "modelUsage", "permission_denials", "user_message_uuids", "origin", "text",
    "user_message_uuid", "api_error_status", "parent_tool_use_id", "timestamp", "name", "is_error", "terminal_reason",
)  # fmt: skip
_LONG = 200_000
"""Characters of the longest common text; one in fifty of these is ten times as long."""


class Scrambler:
    """Makes strange values, and spoils messages and lines with them."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._changes: tuple[Callable[[Any, Any], None], ...] = (
            self._replace, self._replace, self._replace, self._remove, self._add, self._wrap, self._convert,
            self._repeat, self._rename, self._retype, self._borrow,
        )  # fmt: skip

    def strange(self) -> Any:
        """Return a value that nobody expects."""
        rng = self._rng
        kind = rng.random()
        if kind < 0.35:
            return rng.choice(_TEXTS)
        if kind < 0.60:
            return rng.choice(_NUMBERS)
        if kind < 0.75:
            return rng.choice((None, True, False, [], {}, [[]], [{}], [None], {"": None}, {"type": "text"}))
        if kind < 0.85:
            return [self.strange() for _ in range(rng.randrange(4))]
        if kind < 0.95:
            return {rng.choice(_KEYS + _TEXTS): self.strange() for _ in range(rng.randrange(4))}
        if kind < 0.98:
            return self._deep(rng.choice((3, 20, 150, 400, 700, 950)))
        return self._huge()

    def _deep(self, levels: int) -> Any:
        value: Any = self._rng.choice(_TEXTS)
        for _ in range(levels):
            value = [value] if self._rng.random() < 0.5 else {"k": value}
        return value

    def _huge(self) -> Any:
        size = _LONG * (10 if self._rng.random() < 0.02 else 1)
        unit = self._rng.choice(("a", "\n", "\ud83d", "修复", "🏷️", "e\u0301", "\0", "[/b]", " "))
        shape = self._rng.random()
        if shape < 0.6:
            return unit * (size // len(unit))
        if shape < 0.8:
            return [self.strange_leaf()] * (size // 20)
        return {f"{unit}{number}": number for number in range(size // 40)}

    def strange_leaf(self) -> Any:
        """Return a strange value that holds no other."""
        return self._rng.choice((*_TEXTS, *_NUMBERS, None, True))

    def message(self, good: dict[str, Any], times: Sequence[int] = (0, 1, 1, 1, 2, 2, 3, 5)) -> dict[str, Any]:
        """Return a message with a few things in it changed, at any depth."""
        changed: dict[str, Any] = json.loads(json.dumps(good))
        for _ in range(self._rng.choice(times)):
            holders = list(_holders(changed))
            holder = self._rng.choice(holders)
            places = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            self._rng.choice(self._changes)(holder, self._rng.choice(places) if places else None)
        return changed

    def _replace(self, holder: Any, place: Any) -> None:
        if place is not None:
            holder[place] = self.strange()

    def _remove(self, holder: Any, place: Any) -> None:
        if place is not None:
            del holder[place]

    def _add(self, holder: Any, _: Any) -> None:
        if isinstance(holder, dict):
            holder[self._rng.choice(_KEYS)] = self.strange()
        else:
            holder.append(self.strange())

    def _wrap(self, holder: Any, place: Any) -> None:
        if place is not None:
            holder[place] = [holder[place]] if self._rng.random() < 0.5 else {"text": holder[place]}

    def _convert(self, holder: Any, place: Any) -> None:
        """A number as a text, a text as a number, a list as an object and back."""
        value = holder[place] if place is not None else None
        if isinstance(value, str):
            holder[place] = len(value)
        elif isinstance(value, int | float):
            holder[place] = str(value)
        elif isinstance(value, list):
            holder[place] = {str(index): item for index, item in enumerate(value)}
        elif isinstance(value, dict):
            holder[place] = list(value.values())

    def _repeat(self, holder: Any, place: Any) -> None:
        if isinstance(holder, list) and holder:
            holder.extend([holder[place]] * self._rng.choice((1, 3, 150)))

    def _rename(self, holder: Any, place: Any) -> None:
        if isinstance(holder, dict) and place is not None:
            holder[self._rng.choice(_KEYS + _TEXTS)] = holder.pop(place)

    def _retype(self, holder: Any, _: Any) -> None:
        if isinstance(holder, dict):
            holder[self._rng.choice(("type", "subtype"))] = self._rng.choice(_KINDS)

    def _borrow(self, holder: Any, place: Any) -> None:
        """Two things change places."""
        if place is not None:
            other = self._rng.choice(list(holder) if isinstance(holder, dict) else list(range(len(holder))))
            holder[place], holder[other] = holder[other], holder[place]

    def line(self, line: str) -> str:
        """Return a line with its text spoiled, which may leave it valid: cut, overwritten, or a key given twice."""
        at, rng = self._rng.randrange(len(line)), self._rng
        way = rng.random()
        if way < 0.3:
            return line[:at]
        if way < 0.6:
            return line[:at] + rng.choice(('"', "\\", "{", "}", "\x00", "\x1b", "é", "1e999", "NaN")) + line[at + 1 :]
        if way < 0.8:
            return line[:1] + f'"{rng.choice(_KEYS)}": {json.dumps(self.strange())}, ' + line[1:]
        if way < 0.9:
            return line.replace("null", "[" * rng.choice((100, 3000)) + "]" * 3000, 1)
        return line.replace(": ", ": " + "9" * 5000, 1) if way < 0.95 else line + line


def _holders(value: Any) -> list[Any]:
    """Return every object and list inside a value, itself included; does not go into very deep ones."""
    found: list[Any] = []
    left = [(value, 0)]
    while left and len(found) < 400:
        here, depth = left.pop()
        if isinstance(here, dict | list):
            found.append(here)
            if depth < 12:
                inside = here.values() if isinstance(here, dict) else here[:200]
                left += [(inner, depth + 1) for inner in inside]
    return found
