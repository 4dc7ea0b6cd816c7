"""What a value may be: a check takes one from the file and returns it as the spec wants it, or raises BadValueError."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from supervisor.config.faults import closest
from supervisor.core.errors import SupervisorError
from supervisor.core.text import is_blank, safe_line

Check = Callable[[Any], Any]

_MOST = 1_000_000_000
_FORK = re.compile(r"\.\d+$")
_HANDLER = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class BadValueError(SupervisorError):
    """A value is wrong. Only raised by checks, and turned into a fault by the table that holds the value."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def show(value: object) -> str:
    """Return a short form of a value of the file, for a message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value if len(value) <= 40 else value[:39] + "…", ensure_ascii=False)
    if isinstance(value, int):
        return str(value) if abs(value) <= 10**18 else "a number of that size"
    if isinstance(value, float):
        return str(value)
    if isinstance(value, Mapping):
        return "a table"
    return "a list" if isinstance(value, Sequence) else "a date or time"


def flag(value: object) -> bool:
    """Check for true or false."""
    if isinstance(value, bool):
        return value
    raise BadValueError(f"must be true or false, not {show(value)}")


def integer(least: int, most: int = _MOST) -> Check:
    """Check for a whole number from ``least`` to ``most``."""

    def check(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadValueError(f"must be a whole number, not {show(value)}")
        if not least <= value <= most:
            bound = f"at least {least}" if value < least else f"at most {most}"
            raise BadValueError(f"must be {bound}, not {show(value)}")
        return value

    return check


def number(*, above: float = -math.inf, least: float = -math.inf) -> Check:
    """Check for a finite number, more than ``above`` and not less than ``least``."""

    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadValueError(f"must be a number, not {show(value)}")
        if not above < value or value < least:
            bound = f"more than {above:g}" if above > least else f"at least {least:g}"
            raise BadValueError(f"must be {bound}, not {show(value)}")
        if not value <= _MOST:
            raise BadValueError(f"must be at most {_MOST}, not {show(value)}")
        return float(value)

    return check


def text(most_bytes: int, *, blank: bool = True) -> Check:
    """Check for a text. A NUL is refused everywhere: such a text cannot be handed to another program."""

    def check(value: object) -> str:
        if not isinstance(value, str):
            raise BadValueError(f"must be a text in quotes, not {show(value)}")
        if "\0" in value:
            raise BadValueError(f"has a NUL character at offset {value.index(chr(0))}")
        if _size(value) > most_bytes:
            raise BadValueError(f"is longer than {most_bytes:,} bytes")
        if not blank and is_blank(value):
            raise BadValueError("must not be blank")
        return value

    return check


def name(value: object) -> str:
    """Check for a text that another program takes as a name: a line, not blank, that looks like no option."""
    value = line(value)
    if value.startswith("-"):
        raise BadValueError(f"must not begin with a dash: {show(value)}")
    return value


def line(value: object) -> str:
    """Check for one line of visible text, not blank."""
    checked: str = text(4_000, blank=False)(value)
    if safe_line(checked, 4_000) != checked:
        raise BadValueError(f"must be one line without control characters, not {show(checked)}")
    return checked


def ticket_id(value: object) -> str:
    """Check for the id of a ticket, which names its branch, its directory, its forks and its effects."""
    value = line(value)
    if len(value) > 100:
        raise BadValueError("must be at most 100 characters long")
    if value != value.strip():
        raise BadValueError(f"must not begin or end with a space: {show(value)}")
    for char in "/\\:":
        if char in value:
            raise BadValueError(f'must not contain "{char}": {show(value)}', f'"{value.replace(char, "-")}" would do')
    if value[0] in "-.":
        raise BadValueError(f'must not begin with "{value[0]}": {show(value)}')
    if _FORK.search(value):
        hint = f'"{value[: value.rindex(".")]}-{value[value.rindex(".") + 1 :]}" would do'
        raise BadValueError(f"must not end in a dot and a number, as forks do: {show(value)}", hint)
    return value


def choice(*words: str) -> Check:
    """Check for one of a few words."""

    def check(value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        listed = ", ".join(f'"{word}"' for word in words)
        near = closest(value, words, cutoff=0.5) if isinstance(value, str) else None
        hint = f'did you mean "{near}"?' if near else ""
        raise BadValueError(f"must be one of {listed}, not {show(value)}", hint)

    return check


def listed(item: Check, *, most: int = 1_000) -> Check:
    """Check for a list whose items pass a check; a repeated item counts once."""

    def check(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            hint = f"write [{show(value)}]" if isinstance(value, str) else ""
            raise BadValueError(f"must be a list, not {show(value)}", hint)
        if len(value) > most:
            raise BadValueError(f"must have at most {most} items")
        return tuple(dict.fromkeys(_item(item, at, entry) for at, entry in enumerate(value, 1)))

    return check


def repo_path(value: object) -> str:
    """Check for a path inside the repository, relative to its top."""
    value = line(value)
    path = PurePosixPath(value)
    if path.is_absolute() or PureWindowsPath(value).drive or value.startswith("~"):
        raise BadValueError(f"must be relative to the repository, not {show(value)}")
    if ".." in path.parts or not path.parts:
        raise BadValueError(f"must be inside the repository, not {show(value)}")
    if path.parts[0] == ".git":
        raise BadValueError("must not be the repository's own .git")
    return value


def env_name(value: object) -> str:
    """Check for the name of an environment variable."""
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        return value
    hint = "its value is taken from our own environment" if isinstance(value, str) and "=" in value else ""
    raise BadValueError(f"must be the name of an environment variable, not {show(value)}", hint)


def handler(value: object) -> str:
    """Check for ``module:function``."""
    if isinstance(value, str) and _HANDLER.fullmatch(value):
        return value
    raise BadValueError(f'must be "module:function", not {show(value)}')


def tables(value: object) -> tuple[Mapping[str, Any], ...]:
    """Check for a list of tables, whose keys are checked elsewhere."""
    if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        return tuple(value)
    raise BadValueError("must be a list of tables")


def variables(value: object) -> dict[str, str]:
    """Check for a table of texts and numbers that a prompt may name."""
    if not isinstance(value, dict):
        raise BadValueError(f"must be a table, not {show(value)}")
    for key, entry in value.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", key):
            raise BadValueError(f"has a name that {{{{…}}}} cannot hold: {show(key)}", "letters, digits, _ and -")
        if not isinstance(entry, str | int | float):
            raise BadValueError(f"{key} must be a text or a number, not {show(entry)}")
        if isinstance(entry, int) and abs(entry) > 10**18:
            raise BadValueError(f"{key} must be a smaller number", "put it in quotes")
    return {key: entry if isinstance(entry, str) else show(entry) for key, entry in value.items()}


def _item(check: Check, place: int, value: object) -> Any:
    try:
        return check(value)
    except BadValueError as bad:
        raise BadValueError(f"item {place} {bad.message}", bad.hint) from None


def _size(value: str) -> int:
    """Return the size in bytes; half a character has none."""
    try:
        return len(value) if value.isascii() else len(value.encode())
    except UnicodeEncodeError as error:
        raise BadValueError(f"has half a character (a lone surrogate) at offset {error.start}") from None
