"""The bytes of a tickets.toml -> its tables. Every way in which a file can be no TOML at all ends here."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.config.faults import Faults

MAX_BYTES = 8_000_000
_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_POSITION = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
_HINTS = {
    "Cannot overwrite a value": "a key or table is given twice",
    "Illegal character '\\n'": 'a text of several lines stands between """ and """',
    "Unescaped '\\'": "write \\\\, or put the text between '''",
    "Invalid value": "texts stand in quotes; true and false are written small",
}


def read(path: Path, faults: Faults) -> dict[str, Any]:
    """Return the top table of a file; raise ConfigError if there is none."""
    data = _bytes(path, faults)
    faults.stop()
    text = _decoded(data, faults)
    faults.stop()
    if not text.strip():
        faults.add("", "the file is empty", "a batch needs at least one [[ticket]]")
    raw = _parsed(text, faults)
    faults.stop()
    return raw


def _bytes(path: Path, faults: Faults) -> bytes:
    try:
        if path.is_dir():
            faults.add("", "is a directory, not a file", "name the tickets.toml inside it")
            return b""
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        faults.add("", "no such file")
        return b""
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        faults.add("", f"cannot be read: {getattr(error, 'strerror', None) or error}")
        return b""
    if len(data) > MAX_BYTES:
        faults.add("", f"is larger than {MAX_BYTES:,} bytes", "move long prompts to files and name them in prompt_file")
    return data


def _decoded(data: bytes, faults: Faults) -> str:
    body = data.removeprefix(_BOM)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start + len(data) - len(body)
        line = body.count(b"\n", 0, error.start) + 1
        hint = "it looks like UTF-16; save it as UTF-8" if data.startswith(_UTF_16) else "save the file as UTF-8"
        faults.add(f"line {line}", f"not UTF-8: byte 0x{body[error.start]:02x} at offset {offset}", hint)
        return ""


def _parsed(text: str, faults: Faults) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        hint = next((hint for start, hint in _HINTS.items() if message.startswith(start)), "")
        faults.add(_position(message, text), f"not valid TOML: {_POSITION.sub('', message)}", hint)
    except RecursionError:
        faults.add("", "not valid TOML: lists or tables are nested too deeply")
    except ValueError as error:  # a number of thousands of digits
        faults.add("", f"not valid TOML: {error}")
    return {}


def _position(message: str, text: str) -> str:
    found = _POSITION.search(message)
    if found and found["line"]:
        return f"line {found['line']}, column {found['column']}"
    lines = text.replace("\r\n", "\n").split("\n")
    return f"line {len(lines)}, column {len(lines[-1]) + 1} (the end)"
