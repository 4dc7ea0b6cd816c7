"""Facts as lines: a column of labels on the left, and what belongs to each wrapped beside it. Pure.

What is long is bounded, and says how much is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.text import safe_text
from widgets.cells import Cell, Tone, clip_pieces, drawable_lines, fit
from widgets.transcript_wrap import wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MOST_LINES = 400
"""Most lines of one fact."""
MOST_CHARS = 60_000
"""Most characters of one fact."""
_NARROW = 48
"""Views narrower than this put what belongs to a label below it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One label and what belongs to it."""

    label: str
    text: str
    """Untrusted; may hold many lines. Empty ones are left out."""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Part:
    """Some facts under a heading."""

    heading: str
    facts: tuple[Fact, ...]


def told(facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts that say something."""
    return [fact for fact in facts if fact.text.strip()]


def fact_lines(facts: Sequence[Fact], width: int) -> list[Cell]:
    """Return facts as lines, none wider than ``width``."""
    shown = told(facts)
    label = max((cell_len(fact.label) for fact in shown), default=0) + 2
    is_narrow = width < _NARROW
    return [line for fact in shown for line in _lines(fact, width, 0 if is_narrow else label)]


def part_lines(parts: Iterable[Part], width: int) -> list[Cell]:
    """Return parts with a heading and a blank line before each, none of the lines wider than ``width``."""
    lines: list[Cell] = []
    for part in parts:
        below = fact_lines(part.facts, width)
        if below:
            heading: list[Cell] = [clip_pieces(((part.heading, Tone.STRONG),), width)] if part.heading else []
            lines += [*([()] if lines else []), *heading, *below]
    return lines


def _lines(fact: Fact, width: int, label: int) -> Iterator[Cell]:
    rows = wrap(drawable_lines(fact.text, MOST_CHARS), max(2, width - (label or 2)), MOST_LINES + 1)
    if len(rows) > MOST_LINES:
        rows = [*rows[: MOST_LINES - 1], "… the rest is not shown"]
    if not label:
        yield clip_pieces(((fact.label, Tone.MUTED),), width)
    words = fact.label
    for text in rows:
        yield clip_pieces(((fit(words, label or 2) if label else "  ", Tone.MUTED), (text, fact.tone)), width)
        words = ""


def plain(facts: Iterable[Fact]) -> str:
    """Return facts as text to be taken elsewhere, without anything that controls a terminal."""
    lines: list[str] = []
    for fact in told(facts):
        text = safe_text(fact.text, MOST_CHARS).strip("\n")
        lines.append(f"{fact.label}: {text}" if "\n" not in text else f"{fact.label}:\n{text}")
    return "\n".join(lines)
