"""Edits of files as small unified diffs: what a tool was asked to write, and what the CLI says it wrote.

Pure. Everything it is given comes from an agent, so it is read with care, and what it makes is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

DIFF_CHARS = 6_000
"""Most characters kept of one diff."""
LINE_CHARS = 400
"""Most characters kept of one of its lines."""
EDITING_TOOLS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
"""Tools that change a file. Their input and their result tell how."""
BULKY = frozenset({"content", "edits", "new_source", "new_string", "old_string"})
"""Fields of their inputs that a diff says better."""
_CONTEXT = 2
_INPUT_CHARS = 400_000
"""A longer text is left alone: nobody reads its diff, and making one would take too long."""
_MOST_LINES = 20_000
_COMPARED = 40_000
"""Most pairs of lines that are compared; beyond that all lines go and all others come."""


@dataclass(frozen=True, slots=True)
class Diff:
    """How a file was, or is to be, changed."""

    text: str
    """Lines that begin with a blank, ``+``, ``-`` or ``@@``; the last ones are missing where there were too many.

    A hunk begins ``@@ -1,4 +1,5 @@`` as in any unified diff, or with ``@@`` alone where its place is not known.
    """
    added: int
    """Lines that came, also those that are missing in ``text``."""
    removed: int
    """Lines that went, likewise."""


def of_input(tool: str, given: object, *, most_chars: int = DIFF_CHARS, line_chars: int = LINE_CHARS) -> Diff | None:
    """Return what a call of one of `EDITING_TOOLS` asks for; None for any other tool and for what makes no sense.

    Args:
        tool: The tool's name.
        given: Its input.
        most_chars: Most characters kept of the diff. Whoever is asked to allow it wants to see all of it.
        line_chars: Most characters kept of one line.
    """
    make = _INPUTS.get(tool)
    return _made(make(given), most_chars, line_chars) if make is not None and isinstance(given, dict) else None


def of_result(told: object) -> Diff | None:
    """Return what the CLI reports of an edit beside the result itself (``tool_use_result``); None if that is no edit.

    Fields as seen with CLI 2.1.332: ``structuredPatch`` with the hunks; for a new file none, and its ``content``.
    """
    if not isinstance(told, dict) or not isinstance(told.get("filePath"), str):
        return None
    hunks = told.get("structuredPatch")
    if isinstance(hunks, list) and hunks:
        return _made(chain.from_iterable(_patched(hunk) for hunk in hunks if isinstance(hunk, dict)))
    if told.get("type") == "create":
        lines = _lines(told.get("content"))
        return _made(chain([f"@@ -0,0 +1,{len(lines)} @@"], (f"+{line}" for line in lines)))
    return None


def _edited(given: dict[str, Any]) -> Iterator[str]:
    before, after = _lines(given.get("old_string")), _lines(given.get("new_string"))
    too_long = any(isinstance(text, str) and len(text) > _INPUT_CHARS for text in given.values())
    return iter(()) if too_long else _hunks(before, after)


def _edited_often(given: dict[str, Any]) -> Iterator[str]:
    edits = given.get("edits")
    for edit in edits if isinstance(edits, list) else ():
        if isinstance(edit, dict):
            yield from _edited(edit)


def _written(given: dict[str, Any]) -> Iterator[str]:
    return _hunks([], _lines(given.get("content")))


def _noted(given: dict[str, Any]) -> Iterator[str]:
    return _hunks([], _lines(given.get("new_source")))


_INPUTS: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    "Edit": _edited,
    "MultiEdit": _edited_often,
    "NotebookEdit": _noted,
    "Write": _written,
}


def _lines(text: object) -> list[str]:
    if not isinstance(text, str) or not 0 < len(text) <= _INPUT_CHARS:
        return []
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def _hunks(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield the lines of a diff whose place in the file is not known."""
    head, tail = _alike(before, after)
    if (len(before) - head - tail) * (len(after) - head - tail) <= _COMPARED:
        groups = SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_CONTEXT)
    else:
        ends = len(before) - tail, len(after) - tail
        groups = iter([[("replace", head, ends[0], head, ends[1])]])
    for group in groups:
        yield "@@"
        for kind, first, last, other_first, other_last in group:
            if kind == "equal":
                yield from (f" {line}" for line in before[first:last])
                continue
            yield from (f"-{line}" for line in before[first:last])
            yield from (f"+{line}" for line in after[other_first:other_last])


def _alike(before: list[str], after: list[str]) -> tuple[int, int]:
    """Return how many lines are the same at the beginning and, of the others, at the end."""
    most = min(len(before), len(after))
    head = next((i for i in range(most) if before[i] != after[i]), most)
    tail = next((i for i in range(most - head) if before[-1 - i] != after[-1 - i]), most - head)
    return head, tail


def _patched(hunk: dict[str, Any]) -> Iterator[str]:
    places = [hunk.get(name) for name in ("oldStart", "oldLines", "newStart", "newLines")]
    lines = hunk.get("lines")
    if not all(isinstance(place, int) for place in places) or not isinstance(lines, list):
        return
    yield "@@ -{},{} +{},{} @@".format(*places)
    for line in lines:
        if isinstance(line, str) and line[:1] in {" ", "+", "-"}:
            yield line.replace("\r", "")


def _made(lines: Iterable[str], most_chars: int = DIFF_CHARS, line_chars: int = LINE_CHARS) -> Diff | None:
    """Return the lines as a bounded diff; None if nothing changes by them."""
    kept: list[str] = []
    room, counts = most_chars, {"+": 0, "-": 0}
    for line in islice(lines, _MOST_LINES):
        sign = line[:1]
        if sign in counts:
            counts[sign] += 1
        room -= min(len(line), line_chars) + 1
        if room >= 0:
            kept.append(line if len(line) <= line_chars else f"{line[:line_chars]}…")
    return Diff("\n".join(kept), counts["+"], counts["-"]) if any(counts.values()) else None
