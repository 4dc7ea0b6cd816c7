"""Entries as plain text, to be copied or read in a pager. Pure; what comes out controls no terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from supervisor.core.model import Entry, EntryKind
from supervisor.core.text import safe_text
from widgets.transcript_calls import diff_of, given_lines, headline, is_quiet
from widgets.transcript_folds import ADDED

if TYPE_CHECKING:
    from collections.abc import Iterable

_SIGNS = {
    EntryKind.PROMPT: "» ",
    EntryKind.TEXT: "› ",
    EntryKind.THINKING: "~ ",
    EntryKind.TOOL: "",
    EntryKind.RESULT: "= ",
    EntryKind.NOTE: "· ",
    EntryKind.ENDING: "── ",
    EntryKind.PENDING: "◌ not given yet, ",
}


def plain(entry: Entry, result: Entry | None) -> str:
    """Return all of an entry: words as they were written, a call with its input, its diff and its output."""
    parts = _call(entry, result) if entry.kind is EntryKind.TOOL else [entry.text, _detail(entry)]
    return "\n".join(safe_text(part).strip("\n") for part in parts if part.strip())


def plain_transcript(entries: Iterable[tuple[Entry, Entry | None]]) -> str:
    """Return entries one after the other, each with the local time and a sign of its kind."""
    return "\n\n".join(_dated(entry, result) for entry, result in entries) + "\n"


def _call(tool: Entry, result: Entry | None) -> list[str]:
    diff = diff_of(tool, result)
    parts = [headline(tool), "\n".join(given_lines(tool)), diff.text if diff is not None else ""]
    if result is not None and (result.is_error or not is_quiet(tool)):
        parts.append(result.text)
    return parts


def _detail(entry: Entry) -> str:
    is_added = entry.kind is EntryKind.PROMPT and entry.detail
    return f"({ADDED}:)\n{entry.detail}" if is_added else entry.detail


def _dated(entry: Entry, result: Entry | None) -> str:
    clock = time.strftime("%H:%M:%S", time.localtime(entry.at))
    who = f"{entry.prompt.value}: " if entry.prompt is not None else ""
    indent = "    " if entry.nested else ""
    lines = f"{_SIGNS[entry.kind]}{who}{plain(entry, result)}".split("\n")
    return "\n".join([f"{clock}  {indent}{lines[0]}", *(f"{indent}{line}" for line in lines[1:])])
