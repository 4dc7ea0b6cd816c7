"""How lines of a card are laid out: labels on the left, everything else wrapped beside them. Pure; makes words safe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.text import clip
from widgets.cells import Cell, Piece, Tone, clip_pieces, drawable, drawable_lines, fit
from widgets.transcript_wrap import MOST_ROWS, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Part = tuple[str, list[Cell]]
    """A label, and the lines beside it; none at all where there are no lines."""

LABEL = 17
"""Cells of the column on the left."""
WHOLE = 1_000_000
"""More characters and lines than anything has that is shown whole."""
FIELD_LINES = 60
"""Most lines of one field."""
_NARROW = 48
"""Views narrower than this have a narrower column on the left."""
_SHORT = 26
"""Fields no wider than this share a line."""
_GAP = "   "


def room(width: int) -> int:
    """Return the cells beside the labels."""
    return max(4, width - _label_cells(width))


def labelled(parts: Iterable[Part], width: int) -> list[Cell]:
    """Return parts under one another, each with its label before its first line."""
    return [line for label, lines in parts for line in _labelled(label, lines, width)]


def _label_cells(width: int) -> int:
    return LABEL if width >= _NARROW else 11


def _labelled(label: str, lines: Iterable[Cell], width: int) -> Iterator[Cell]:
    cells = _label_cells(width)
    for line in lines:
        yield clip_pieces(((fit(label, cells), Tone.MUTED), *line), width)
        label = ""


def one(text: str, tone: Tone = Tone.PLAIN) -> list[Cell]:
    """Return untrusted text on one line; none for an empty text."""
    return [((drawable(text), tone),)] if text else []


def plain(text: str, cells: int, most: int, tone: Tone = Tone.PLAIN) -> list[Cell]:
    """Return untrusted text wrapped, with a last line that says how much is left out; nothing is with `WHOLE`."""
    if most >= WHOLE:
        return [((line, tone),) for line in wrap(drawable_lines(text, WHOLE), cells, WHOLE)]
    lines = wrap(drawable_lines(text), cells)
    if len(lines) > most:
        lines = [*lines[: most - 1], clip(f"… {len(lines) - most + 1} more lines", cells, cell_len)]
    return [((line, tone),) for line in lines]


def ending(text: str, cells: int, most: int, tone: Tone = Tone.PLAIN) -> list[Cell]:
    """Return the end of an untrusted text wrapped, after a line that says how much stands before it."""
    lines = wrap(drawable_lines(text), cells)
    if len(lines) > most:
        lines = [clip(f"… {len(lines) - most + 1} lines before", cells, cell_len), *lines[len(lines) - most + 1 :]]
    return [((line, tone),) for line in lines]


def flowed(named: Sequence[tuple[str, str]], cells: int, *, whole: bool = False) -> list[Cell]:
    """Return untrusted names and texts: short ones side by side, the others each on lines of its own.

    Args:
        named: Names and texts.
        cells: The width.
        whole: Leave nothing out, however long it is; else a field has at most `FIELD_LINES`.
    """
    safe = [(drawable(name), drawable_lines(text, WHOLE) if whole else drawable_lines(text)) for name, text in named]
    name_cells = min(cells, max((cell_len(name) for name, _ in safe), default=0), max(8, cells // 3))
    return list(_flow(safe, name_cells, cells, WHOLE if whole else FIELD_LINES))


def _flow(named: list[tuple[str, list[str]]], name_cells: int, cells: int, most: int) -> Iterator[Cell]:
    row: list[Piece] = []
    for name, lines in named:
        words = lines[0]
        if len(lines) == 1 and cell_len(name) + cell_len(words) + 2 <= _SHORT:
            pieces: list[Piece] = [(f"{name}  ".lstrip(), Tone.MUTED), (f"{words}{_GAP}", Tone.PLAIN)]
            if row and sum(cell_len(text) for text, _ in (*row, *pieces)) > cells + len(_GAP):
                yield tuple(row)
                row = []
            row += pieces
            continue
        if row:
            yield tuple(row)
            row = []
        yield from _field(name, lines, name_cells, cells, most)
    if row:
        yield tuple(row)


def _field(name: str, lines: list[str], name_cells: int, cells: int, most: int) -> Iterator[Cell]:
    """Put a text beside its name, or below it where the name is too long for its column."""
    indent = name_cells + 2 if name else 0
    if cell_len(name) > name_cells:
        yield from (((row, Tone.MUTED),) for row in wrap([name], cells))
        name = " "
    wrapped = wrap(lines, cells - indent, max(most + 1, MOST_ROWS))
    if len(wrapped) > most:
        wrapped = [*wrapped[: most - 1], f"… {len(wrapped) - most + 1} more lines"]
    lead = f"{fit(name, name_cells)}  " if name else ""
    for line in wrapped:
        yield ((lead, Tone.MUTED), (line, Tone.PLAIN))
        lead = " " * indent
