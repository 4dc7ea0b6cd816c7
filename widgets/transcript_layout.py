"""How entries of a transcript become lines of a given width. Pure; every word passes ``core.text`` on its way."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.model import Entry, EntryKind
from supervisor.core.text import clip, clusters
from widgets.cells import Cell, Piece, Tone, clip_pieces, drawable, drawable_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

PROMPT_LINES = 6
"""Lines shown of a prompt of ours."""
ERROR_LINES = 3
"""Lines shown of a result that is an error."""
TEXT_LINES = 400
"""Most lines of one entry."""
_INDENT = "  "
_NESTED: Piece = ("  │ ", Tone.FAINT)

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
_QUIET = {"Edit", "MultiEdit", "Write", "NotebookEdit"}
"""Tools whose result, if it is no error, says only that it worked."""


def lay_out(entry: Entry, width: int) -> list[Cell]:
    """Return the lines of one entry, none wider than ``width``; a result that belongs to a call has its own ways."""
    before: Cell = (_NESTED,) if entry.nested else ()
    room = max(8, width - (cell_len(_NESTED[0]) if entry.nested else 0))
    return [before + clip_pieces(line, room) for line in _lines(entry, room)]


def _lines(entry: Entry, width: int) -> list[Cell]:
    match entry.kind:
        case EntryKind.PROMPT:
            return _prompt(entry, width)
        case EntryKind.TEXT:
            return _led("› ", _squeezed(wrap(drawable_lines(entry.text), width - 2)), Tone.PLAIN)
        case EntryKind.THINKING:
            return [((f"~ {drawable(entry.text)}", Tone.FAINT),)]
        case EntryKind.TOOL:
            return [call(entry, None, width)]
        case EntryKind.RESULT:
            return error_lines(entry, width) if entry.is_error else [((_outcome(entry, None), Tone.MUTED),)]
        case EntryKind.NOTE:
            return _note(entry, width)
        case EntryKind.ENDING:
            return _ending(entry, width)


def call(tool: Entry, result: Entry | None, width: int) -> Cell:
    """Return the one line of a tool call, with what came of it once that is known."""
    name, _, summary = drawable(tool.text).partition(" ")
    glyph = _GLYPHS.get(name, "◦")
    words = summary if name in _NAMELESS and summary else f"{name} {summary}".rstrip()
    left = f"{glyph} {words}"
    if result is None:
        return ((clip(left, width, cell_len), Tone.MUTED),)
    right = _outcome(result, result.at - tool.at, says_enough=name in _QUIET)
    room = max(width - cell_len(right) - 3, width * 3 // 5)
    return clip_pieces(((f"{clip(left, room, cell_len)}   ", Tone.MUTED), (right, Tone.FAINT)), width)


def error_lines(result: Entry, width: int) -> list[Cell]:
    """Return the lines that say what went wrong in a tool call."""
    lines = _telling(result.text) or ["no output"]
    return [((clip(f"{_INDENT}{line}", width, cell_len), Tone.MUTED),) for line in _folded(lines, ERROR_LINES)]


def _outcome(result: Entry, took: float | None, *, says_enough: bool = False) -> str:
    lines = [] if result.is_error or says_enough else _telling(result.text)
    words = lines[0].strip() if lines else ""
    rest = len(lines) - 1
    more = f"  +{rest} line{'s' if rest > 1 else ''}" if rest > 0 else ""
    span = f"  {took:.1f} s" if took is not None and took >= 1 else ""
    return f"{'✗' if result.is_error else '✓'} {words}".rstrip() + more + span


def _prompt(entry: Entry, width: int) -> list[Cell]:
    lines = _folded([line for line in wrap(_unwrapped(drawable_lines(entry.text)), width - 2) if line], PROMPT_LINES)
    return _led("» ", lines, Tone.ACCENT)


def _note(entry: Entry, width: int) -> list[Cell]:
    tone = Tone.BAD if entry.is_error else Tone.FAINT
    lines = _led("! " if entry.is_error else "· ", wrap([drawable(entry.text)], width - 2), tone)
    if entry.detail:
        lines += [((f"{_INDENT}{line}", Tone.MUTED),) for line in _folded(_telling(entry.detail), ERROR_LINES)]
    return lines


def _ending(entry: Entry, width: int) -> list[Cell]:
    words = clip(drawable(entry.text), width - 6, cell_len)
    tone = Tone.BAD if entry.is_error else Tone.MUTED
    rule = "─" * max(0, width - cell_len(words) - 4)
    card: list[Cell] = [(("── ", Tone.FAINT), (words, tone), (f" {rule}", Tone.FAINT))]
    if entry.detail:
        lines = _folded(wrap(drawable_lines(entry.detail), width - 3), ERROR_LINES)
        card += [((f"   {line}", Tone.MUTED),) for line in lines]
    return card


def _led(lead: str, lines: list[str], tone: Tone) -> list[Cell]:
    return [((f"{_INDENT if i else lead}{line}", tone),) for i, line in enumerate(lines)]


def _folded(lines: list[str], most: int) -> list[str]:
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"… {len(lines) - most + 1} more lines"]


def _telling(text: str) -> list[str]:
    """Return the lines that hold a letter or a digit: the others are rules and blanks."""
    return [line for line in drawable_lines(text) if any(map(str.isalnum, line))]


def _unwrapped(lines: list[str]) -> list[str]:
    """Join the lines of paragraphs, which were broken for another width; lists and code stay as they are."""
    joined: list[str] = []
    for line in lines:
        if joined and line[:1].isalpha() and joined[-1].strip():
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return joined


def _squeezed(lines: list[str]) -> list[str]:
    """Join runs of blank lines: they cost rows and say nothing."""
    kept: list[str] = []
    for is_blank, run in groupby(lines, key=lambda line: not line.strip()):
        kept.extend([""] if is_blank else run)
    return kept


def wrap(lines: list[str], width: int, most: int = TEXT_LINES) -> list[str]:
    """Return safe lines broken at blanks, or inside a word that is too long, so that none is wider than ``width``."""
    width = max(2, width)
    wrapped: list[str] = []
    for line in lines:
        if len(wrapped) >= most:
            break
        line = line.rstrip()
        if not line.isascii():
            wrapped.extend(_broken(line, width))
        elif len(line) <= width:
            wrapped.append(line)
        else:
            wrapped.extend(_broken_ascii(line, width))
    return wrapped[:most]


def _broken_ascii(line: str, width: int) -> Iterator[str]:
    start = 0
    while len(line) - start > width:
        blank = line.rfind(" ", start, start + width + 1)
        cut = blank if blank > start and line[start:blank].strip() else start + width
        yield line[start:cut].rstrip()
        start = cut
        while start < len(line) and line[start] == " ":
            start += 1
    if start < len(line) or not line:
        yield line[start:]


def _broken(line: str, width: int) -> Iterator[str]:
    """As `_broken_ascii`, measuring each cluster once."""
    kept: list[str] = []
    cells, blank = 0, 0
    for cluster in clusters(line):
        if cells + cell_len(cluster) > width and kept:
            cut = blank if cluster != " " and "".join(kept[:blank]).strip() else len(kept)
            yield "".join(kept[:cut]).rstrip()
            kept = kept[cut:]
            while kept and kept[0] == " ":
                kept.pop(0)
            cells, blank = sum(map(cell_len, kept)), 0
            if cluster == " " and not kept:
                continue
        kept.append(cluster)
        cells += cell_len(cluster)
        if cluster == " ":
            blank = len(kept)
    if kept or not line:
        yield "".join(kept).rstrip()
