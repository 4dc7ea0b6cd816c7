"""Text measured in terminal cells: tones, pieces of a line, and the one way untrusted words become drawable ones.

Pure; knows Rich's width table but no widget. Terminals disagree about how wide some clusters are (an emoji with a
variation selector, a skin tone or a joiner), and a row that is one cell off shifts everything to its right. So what
is drawn here keeps only the first code point of such clusters, which has one width everywhere.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from rich.cells import cell_len

from supervisor.core.text import clip, pad, safe_line, safe_text


class Tone(StrEnum):
    """How loud a piece of text is. Each widget gives the tones their colours; none of them carries meaning alone."""

    PLAIN = "plain"
    MUTED = "muted"
    FAINT = "faint"
    STRONG = "strong"
    ACCENT = "accent"
    WARM = "warm"
    """Only for what needs the operator."""
    BAD = "bad"
    CODE = "code"
    """What stands between backticks or fences."""
    ADDED = "added"
    REMOVED = "removed"
    MATCH = "match"
    """What a search found."""
    FOUND = "found"
    """The find that the operator is at."""


Piece = tuple[str, Tone]
"""A run of safe text in one tone."""
Cell = tuple[Piece, ...]
"""What stands in one column of one row, or on one line."""

_UNSTEADY = re.compile("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]|(?<=[\u2190-\u2bff\U0001f000-\U0001faff])(?:\u200d.)+")


def _steady(text: str) -> str:
    return text if text.isascii() else _UNSTEADY.sub("", text)


LINE_CHARS = 400
"""Most characters of a line; no terminal is wider."""


def drawable(text: str) -> str:
    """Return untrusted text as one line that is safe to draw and as wide in every terminal."""
    # Cut before it is remembered, so that the memory holds no megabytes; `safe_line` still sees that there was more.
    return _drawable(text[: 3 * LINE_CHARS])


@lru_cache(4096)
def _drawable(text: str) -> str:
    return _steady(safe_line(text, LINE_CHARS))


def drawable_lines(text: str, limit: int = 20_000) -> list[str]:
    """Return untrusted text as lines that are safe to draw, without blank ones at either end."""
    return _steady(safe_text(text, limit)).strip("\n").split("\n")


def fit(text: str, cells: int, *, right: bool = False) -> str:
    """Return safe text cut or filled to exactly ``cells``."""
    if not right:
        return pad(text, cells, cell_len)
    if len(text) <= cells and text.isascii():
        return text.rjust(cells)
    cut = clip(text, cells, cell_len)
    return " " * (cells - cell_len(cut)) + cut


def width_of(cell: Cell) -> int:
    """Return how many cells a row of pieces takes."""
    return sum(cell_len(text) for text, _ in cell)


def clip_pieces(cell: Cell, cells: int) -> Cell:
    """Return as many pieces as fit, the last one cut with an ellipsis."""
    kept: list[Piece] = []
    for text, tone in cell:
        width = cell_len(text)
        if width > cells:
            if cells == 0 and kept:
                before, tone = kept.pop()
                text, cells = f"{before}…", cell_len(before)
            kept.append((clip(text, cells, cell_len), tone))
            break
        kept.append((text, tone))
        cells -= width
    return tuple(kept)


def joined(cell: Cell) -> str:
    """Return the words of a row of pieces without their tones."""
    return "".join(text for text, _ in cell)
