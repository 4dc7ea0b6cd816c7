"""Entries for tests of transcripts, in few words."""

from __future__ import annotations

from supervisor.core.model import Entry, EntryKind, PromptKind
from supervisor.core.transcript import Transcript
from widgets.cells import Cell, joined
from widgets.transcript_items import AFTER_ALL


def entry(kind: EntryKind, text: str, seq: int = 0, **more: object) -> Entry:
    """Return an entry."""
    return Entry(seq, more.pop("at", 0.0), kind, text, **more)  # type: ignore[arg-type]


def text(seq: int, words: str = "") -> Entry:
    """Return something the agent said."""
    return entry(EntryKind.TEXT, words or f"word {seq}.", seq)


def call(seq: int, words: str = "Bash x", key: str = "a", **more: object) -> Entry:
    """Return a call of a tool."""
    return entry(EntryKind.TOOL, words, seq, tool_use_id=key, **more)


def result(seq: int, words: str = "done", key: str = "a", **more: object) -> Entry:
    """Return what came of it."""
    return entry(EntryKind.RESULT, words, seq, tool_use_id=key, **more)


def pending(words: str, at: float = 0.0) -> Entry:
    """Return a message that the agent has not been given."""
    return entry(EntryKind.PENDING, words, AFTER_ALL, at=at, prompt=PromptKind.MESSAGE)


def words(rows: list[Cell]) -> list[str]:
    """Return rows as they read."""
    return [joined(row).rstrip() for row in rows]


def transcript(count: int, start: int = 0) -> Transcript:
    """Return a transcript in which the agent counts."""
    made = Transcript()
    for number in range(start, start + count):
        made.add(0.0, EntryKind.TEXT, f"word {number}.")
    return made
