"""A file's edit as rows: signs, colours, and line numbers where they are known. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from widgets.cells import Cell, Piece, Tone, drawable_lines
from widgets.transcript_wrap import Line, flow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.core.diffs import Diff

_HUNK = re.compile(r"@@ -(\d{1,9}),\d+ \+(\d{1,9}),\d+ @@")
_TONES = {"+": Tone.ADDED, "-": Tone.REMOVED}


def counts(diff: Diff) -> Cell:
    """Return how many lines came and went, as in ``+3 −1``."""
    pieces: list[Piece] = [(f"+{diff.added}", Tone.ADDED)] if diff.added else []
    if diff.removed:
        pieces.append((f"{' ' if pieces else ''}−{diff.removed}", Tone.REMOVED))
    return tuple(pieces)


def size(diff: Diff) -> int:
    """Return about how many rows a diff takes."""
    return max(diff.text.count("\n") + 1, diff.added + diff.removed)


def diff_rows(diff: Diff, width: int, most_chars: int = 20_000) -> Iterator[Cell]:
    """Yield the rows of a diff, none wider than ``width``, of so many characters at most."""
    lines = drawable_lines(diff.text, most_chars)
    digits = _digits(lines)
    old = new = shown = 0
    for place, line in enumerate(lines):
        hunk = _HUNK.fullmatch(line)
        if hunk or line == "@@":
            old, new = (int(hunk[1]), int(hunk[2])) if hunk else (0, 0)
            if place:
                yield ((" " * (digits + 1) + "⋯", Tone.FAINT),)
            continue
        sign = line[:1]
        number = old if sign == "-" else new
        yield from flow(_line(sign, line[1:], number, digits), width)
        old += sign != "+"
        new += sign != "-"
        shown += sign in _TONES
    left = diff.added + diff.removed - shown
    if left > 0:
        yield ((f"{' ' * digits} … {left} more changed line{'s' if left > 1 else ''}", Tone.FAINT),)


def _line(sign: str, text: str, number: int, digits: int) -> Line:
    tone = _TONES.get(sign, Tone.MUTED)
    gutter = f"{number or '':>{digits}} " if digits else ""
    return Line(((text, tone),), ((gutter, Tone.FAINT), (f"{sign} ", tone)), ((" " * (len(gutter) + 2), Tone.FAINT),))


def _digits(lines: list[str]) -> int:
    """Return how wide line numbers are; 0 where none is known."""
    hunks = [hunk for hunk in map(_HUNK.fullmatch, lines) if hunk]
    return max((len(str(max(int(h[1]), int(h[2])) + len(lines))) for h in hunks), default=0)
