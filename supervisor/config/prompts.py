"""The text a ticket sends: given in place or in a file, with ``{{name}}`` filled in, and otherwise untouched.

A prompt is data. What looks like a flag, a command or a path in it stays as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from supervisor.config.checks import BadValueError, show
from supervisor.config.tables import MAX_PROMPT_BYTES, TICKET
from supervisor.core.text import is_blank

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from supervisor.config.faults import Faults

_BOM = b"\xef\xbb\xbf"
_VARIABLE = re.compile(r"(?P<literal>\\)?\{\{[ \t]*(?P<name>[A-Za-z_][A-Za-z0-9_-]*)[ \t]*\}\}")


def prompt_of(raw: Mapping[str, Any], good: Mapping[str, Any], folder: Path, place: str, faults: Faults) -> str | None:
    """Return the whole prompt of a ticket, or None after noting what is wrong with it.

    Args:
        raw: The ticket's table.
        good: Its values that passed their checks, ``vars`` with the defaults folded in.
        folder: What ``prompt_file`` is relative to.
        place: What to call the ticket in a fault.
        faults: Takes what is wrong.
    """
    given = [key for key in ("prompt", "prompt_file") if key in raw]
    if len(given) != 1:
        message = "has both prompt and prompt_file" if given else "has no prompt"
        faults.add(place, message, "keep one of them" if given else "add prompt or prompt_file")
        return None
    key = given[0]
    if key not in good:
        return None
    try:
        text = good[key] if key == "prompt" else read_file(folder, good[key])
        if "{{" not in text and not is_blank(text):
            return text
        return _filled(text, good.get("vars", {}), f"{place} {key}", faults)
    except BadValueError as bad:
        faults.add(f"{place} {key}", bad.message, bad.hint)
        return None


def read_file(folder: Path, name: str) -> str:
    """Return the text of a prompt file; a byte order mark is left out. Raises BadValueError."""
    data = _bytes(folder, name).removeprefix(_BOM)
    if len(data) > MAX_PROMPT_BYTES:
        raise BadValueError(f"{show(name)} is longer than {MAX_PROMPT_BYTES:,} bytes")
    try:
        checked: str = TICKET["prompt"](data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadValueError(f"{show(name)} is not UTF-8 at byte {error.start}", "save it as UTF-8") from None
    return checked


def _bytes(folder: Path, name: str) -> bytes:
    path = folder / name
    try:
        if not path.exists():
            raise BadValueError(f"no such file: {show(name)}", f"looked in {folder}")
        if not path.is_file():
            raise BadValueError(f"is not a file: {show(name)}")
        with path.open("rb") as file:
            return file.read(MAX_PROMPT_BYTES + len(_BOM) + 1)
    except OSError as error:
        raise BadValueError(f"cannot read {show(name)}: {error.strerror or error}") from None


def _filled(text: str, known: Mapping[str, str], place: str, faults: Faults) -> str | None:
    unknown = {
        match["name"]: None for match in _VARIABLE.finditer(text) if not match["literal"] and match["name"] not in known
    }
    for name in unknown:
        near = faults.nearest(name, known)
        faults.add(place, f'unknown variable "{{{{{name}}}}}"', near or f"add it to vars, or write \\{{{{{name}}}}}")
    if unknown:
        return None
    filled = _VARIABLE.sub(lambda match: match[0][1:] if match["literal"] else known[match["name"]], text)
    if is_blank(filled):
        raise BadValueError("is blank", "say what the agent should do")
    checked: str = TICKET["prompt"](filled)
    return checked
