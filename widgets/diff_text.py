"""A file's unified diff as lines that are safe to draw, with their numbers; and two of them side by side. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from widgets.cells import drawable_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_LINES = 6_000
"""Most lines that are kept of a diff."""
LINE_CHARS = 1_000
"""Most characters that are kept of a line."""
_MOST_CHARS = 600_000
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@(.*)")
_TELLING = ("Binary files", "new file mode 120000", "old mode", "new mode", "rename from", "rename to", "…")
"""Lines before the first hunk that say something which the list of files does not."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a diff, safe to draw."""

    sign: str
    """``+``, ``-``, a blank, ``@`` where lines are left out, or ``!`` for a note."""
    text: str
    old: int = 0
    """Its number before; 0 where it was not there. Of an ``@`` that of the first line below."""
    new: int = 0
    """Its number now; 0 where it is not there. Of an ``@`` likewise."""


@dataclass(frozen=True, slots=True)
class DiffText:
    """The diff of one file."""

    lines: tuple[DiffLine, ...] = ()
    left: int = 0
    """How many lines are not kept."""

    @property
    def digits(self) -> int:
        """How many cells the largest line number takes."""
        return len(str(max((max(line.old, line.new) for line in self.lines), default=0)))


GAP = DiffLine("", "")
"""Stands where only the other one of two diffs has a line."""


def parse(text: str) -> DiffText:
    """Read what git wrote of one file. Takes any text; a large one takes some 50 ms, so call it in a thread."""
    raw = text.replace("\r\n", "\n").replace("\r", "␍")
    rows = drawable_lines(raw, _MOST_CHARS) if raw.strip() else []
    found: list[DiffLine] = []
    for line in _lines(rows):
        if len(found) == MOST_LINES:
            return DiffText(tuple(found), len(rows) - len(found))
        found.append(line)
    return DiffText(tuple(found))


def _lines(rows: Sequence[str]) -> Iterator[DiffLine]:
    old = new = 0
    is_in_hunk = False
    for row in rows:
        sign, body = row[:1], row[1:] if len(row) <= LINE_CHARS else f"{row[1:LINE_CHARS]}…"
        hunk = _HUNK.match(row) if sign == "@" else None
        if hunk is not None:
            old, new, is_in_hunk = int(hunk[1]), int(hunk[2]), True
            if old > 1 or hunk[3].strip():
                yield DiffLine("@", hunk[3].strip(), old, new)
        elif is_in_hunk and sign in {" ", "+", "-"}:
            yield DiffLine(sign, body, old if sign != "+" else 0, new if sign != "-" else 0)
            old += sign != "+"
            new += sign != "-"
        elif sign == "\\":
            yield DiffLine("!", body.strip())
        elif row.startswith(_TELLING):
            yield DiffLine("!", row[:LINE_CHARS])
        else:
            is_in_hunk = False


def side_by_side(left: DiffText, right: DiffText) -> tuple[DiffText, DiffText]:
    """Return two diffs from the same file with lines of the same number before on the same row.

    What only one of them has stands opposite to `GAP`.
    """
    rows: tuple[list[DiffLine], list[DiffLine]] = ([], [])
    blocks = [_blocks(side.lines) for side in (left, right)]
    for key in sorted(blocks[0].keys() | blocks[1].keys()):
        pair = [side.get(key, []) for side in blocks]
        height = max(map(len, pair))
        for target, lines in zip(rows, pair, strict=True):
            target += [*lines, *[GAP] * (height - len(lines))]
    return DiffText(tuple(rows[0]), left.left), DiffText(tuple(rows[1]), right.left)


def _blocks(lines: Sequence[DiffLine]) -> dict[tuple[int, int], list[DiffLine]]:
    """Return lines by where they belong: those that were there before by their number, new ones after the one before.

    The line that opens a hunk stands before the first line of it, with what is new at the very beginning.
    """
    blocks: dict[tuple[int, int], list[DiffLine]] = {}
    key = (0, 0)
    for line in lines:
        if line.sign == "@":
            key = (line.old, 0)
        elif line.old:
            key = (line.old, 1)
        elif key[1]:
            key = (key[0], 2)
        blocks.setdefault(key, []).append(line)
    return blocks
