"""A tool's call with what came of it: one row when folded; input, diff and output when not. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.diffs import EDITING_TOOLS
from supervisor.core.text import clip
from supervisor.core.tools import tool_words
from widgets.cells import Cell, Piece, Tone, clip_pieces, drawable, drawable_lines, joined
from widgets.transcript_diff import counts, diff_rows, size
from widgets.transcript_folds import INDENT, extra, peek, telling
from widgets.transcript_wrap import wrap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.core.diffs import Diff
    from supervisor.core.model import Entry

SHORT_DIFF = 12
"""Most lines of a diff that is shown without being asked for."""
_GLYPHS = {
    "Bash": "$",
    "Edit": "✎",
    "MultiEdit": "✎",
    "Write": "✎",
    "NotebookEdit": "✎",
    "Task": "▹",
    "Agent": "▹",
    "WebFetch": "↗",
    "WebSearch": "↗",
}
_NAMELESS = {"Bash", "Edit", "MultiEdit", "Write"}
"""Tools whose glyph says enough."""
_EXIT = re.compile(r"Exit code (\d{1,5})\n?")
"""How the CLI begins the output of a command that failed (seen with CLI 2.1.332)."""


def shows_its_diff(tool: Entry, result: Entry | None) -> bool:
    """Return whether a call is an edit that is short enough to be shown whole, and did not fail."""
    diff = diff_of(tool, result)
    return diff is not None and size(diff) <= SHORT_DIFF and not (result is not None and result.is_error)


def diff_of(tool: Entry, result: Entry | None) -> Diff | None:
    """Return what an edit changed; before that is known, and where it failed, what it was asked to."""
    return result.diff if result is not None and result.diff is not None else tool.diff


def call_rows(tool: Entry, result: Entry | None, width: int, is_open: bool) -> list[Cell]:
    """Return the rows of a call."""
    rows = [_headline(tool, result, width)]
    diff = diff_of(tool, result)
    failed = result is not None and result.is_error
    if is_open:
        rows += _indented(diff_rows(diff, width - len(INDENT))) if diff is not None else _given(tool, width)
    if result is None or (is_quiet(tool) and not failed):
        return rows
    text = _EXIT.sub("", result.text, count=1) if failed and _EXIT.match(result.text) else result.text
    if is_open:
        return rows + [((f"{INDENT}{row}", Tone.PLAIN),) for row in wrap(drawable_lines(text), width - len(INDENT))]
    return rows + (peek(text, width) if failed else [])


def headline(tool: Entry) -> str:
    """Return a call's sign and words."""
    name, _, summary = drawable(tool.text).partition(" ")
    words = summary if name in _NAMELESS and summary else f"{tool_words(name)} {summary}".rstrip()
    return f"{_GLYPHS.get(name, '◦')} {words}"


def is_quiet(tool: Entry) -> bool:
    """Return whether the tool's result, if it is no error, says only that it worked."""
    return _name(tool) in EDITING_TOOLS


def given_lines(tool: Entry) -> list[str]:
    """Return a call's input as safe lines, without a field that stands whole in the headline."""
    summary = tool.text.partition(" ")[2]
    lines: list[str] = []
    for name, words in _fields(tool.detail).items():
        if words.strip() != summary:
            first, *others = drawable_lines(words)
            lines += [f"{drawable(name)}: {first}" if name else first, *(f"{INDENT}{line}" for line in others)]
    return lines


def _fields(detail: str) -> dict[str, str]:
    """Return the fields of an input as words; all of it under no name where it is no JSON, or was cut."""
    try:
        fields = json.loads(detail)
        if isinstance(fields, dict):
            return {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in fields.items()}
    except (ValueError, RecursionError):
        pass
    return {"": detail} if detail else {}


def _name(tool: Entry) -> str:
    return tool.text.partition(" ")[0]


def _headline(tool: Entry, result: Entry | None, width: int) -> Cell:
    words = headline(tool)
    diff = diff_of(tool, result)
    changed: Cell = ((" ", Tone.MUTED), *counts(diff)) if diff is not None else ()
    came: Cell = (("   ", Tone.MUTED), *_outcome(tool, result)) if result is not None else ()
    right = changed + came
    room = max(width - cell_len(joined(right)), width * 3 // 5)
    return clip_pieces(((clip(words, room, cell_len), Tone.MUTED), *right), width)


def _outcome(tool: Entry, result: Entry) -> list[Piece]:
    took = result.at - tool.at
    span: Piece = (f"  {took:.1f} s" if took >= 1 else "", Tone.FAINT)
    if result.is_error:
        code = _EXIT.match(result.text)
        return [(f"✗ exit {code[1]}" if code else "✗", Tone.PLAIN), span]
    return [(f"✓ {_gist(tool, result)}".rstrip(), Tone.FAINT), span]


def _gist(tool: Entry, result: Entry) -> str:
    """Return what is worth saying of a result in a few words."""
    if is_quiet(tool):
        return ""
    if _name(tool) == "Read":
        count = len(drawable_lines(result.text))
        return f"{count} line{'s' if count > 1 else ''}"
    lines = telling(result.text)
    if not lines:
        return "exit 0" if _name(tool) == "Bash" else ""
    return lines[0] + (f"  {extra(len(lines) - 1)}" if len(lines) > 1 else "")


def _given(tool: Entry, width: int) -> list[Cell]:
    return [((f"{INDENT}{row}", Tone.MUTED),) for row in wrap(given_lines(tool), width - len(INDENT))]


def _indented(rows: Iterable[Cell]) -> list[Cell]:
    return [((INDENT, Tone.PLAIN), *row) for row in rows]
