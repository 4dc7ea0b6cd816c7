"""Commands of the file -> argv. There is no shell, so a text that needs one is refused: it would do something else."""

from __future__ import annotations

import json
import re
import shlex

from supervisor.config.checks import BadValueError, show

_EXPANDED = re.compile(r"\\.|(\$\(|\$\{|\$[A-Za-z_]\w*|`)", re.DOTALL)
_SHELL = re.compile(
    r"""'[^']*'|\\.|"(?P<quoted>(?:\\.|[^"\\])*)"|(?P<sign>\n|&&?|\|\|?|[<>]+|;|\$\(|\$\{|\$[A-Za-z_]\w*|`)""",
    re.DOTALL,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def argv(value: object) -> tuple[str, ...]:
    """Check for a command: a list is taken as it is, a text is split at spaces and quotes."""
    if isinstance(value, str):
        words = _split(value)
    elif isinstance(value, list) and all(isinstance(word, str) for word in value):
        words = value
    else:
        raise BadValueError(f"must be a command: a text or a list of texts, not {show(value)}")
    if not words or not words[0].strip():
        raise BadValueError("is an empty command")
    if any("\0" in word for word in words):
        raise BadValueError("has a NUL character")
    return tuple(words)


def _split(value: str) -> list[str]:
    command = value.replace("\\\n", " ").strip()
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadValueError(f"is not a command: {str(error).lower()}") from None
    sign = _shell_sign(command) or next((word for word in words[:1] if _ASSIGNMENT.match(word)), "")
    if sign:
        shown = "a line break" if sign == "\n" else f'"{sign}"'
        wrapped = f'["sh", "-c", {json.dumps(command, ensure_ascii=False)}]'
        raise BadValueError(f"needs a shell for {shown}, and there is none", f"write {wrapped}")
    return words


def _shell_sign(command: str) -> str:
    """Return the first thing that only a shell understands, or an empty text."""
    for match in _SHELL.finditer(command):
        if match["sign"]:
            return match["sign"]
        for inner in _EXPANDED.finditer(match["quoted"] or ""):
            if inner[1]:
                return inner[1]
    return ""
