"""What is shown of text that is folded: its first row, or the end of it, and how much more there is. Pure."""

from __future__ import annotations

from rich.cells import cell_len

from supervisor.core.text import clip
from widgets.cells import Cell, Tone, clip_pieces, drawable_lines

INDENT = "  "
ADDED = "added by the supervisor"
"""Said of the part of a prompt that is neither the operator's nor the file's."""
PEEK_ROWS = 3
"""Rows shown of what went wrong."""


def extra(count: int) -> str:
    """Return how many lines there are beside one that is shown."""
    return f"+{count} line{'s' if count > 1 else ''}"


def more(count: int, indent: str = INDENT) -> Cell:
    """Return the row that says how many more there are."""
    return ((f"{indent}… {count} more line{'s' if count > 1 else ''}", Tone.FAINT),)


def first_of(rows: list[Cell], width: int) -> Cell:
    """Return the first of some rows, with how many more there are."""
    if len(rows) < 2:
        return rows[0] if rows else ()
    note = f"   {extra(len(rows) - 1)}"
    return clip_pieces((*clip_pieces(rows[0], max(0, width - len(note))), (note, Tone.FAINT)), width)


def telling(text: str) -> list[str]:
    """Return the lines of a text that hold a letter or a digit: the others are rules and blanks."""
    return [line.strip() for line in drawable_lines(text) if any(map(str.isalnum, line))]


def peek(text: str, width: int, rows: int = PEEK_ROWS) -> list[Cell]:
    """Return the last lines of a text, where commands tell what went wrong."""
    lines = telling(text)
    kept = lines if len(lines) <= rows else lines[1 - rows :]
    shown: list[Cell] = [((clip(f"{INDENT}{line}", width, cell_len), Tone.MUTED),) for line in kept]
    return shown if len(kept) == len(lines) else [more(len(lines) - len(kept)), *shown]
