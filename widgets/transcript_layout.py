"""How entries of a transcript become rows of a given width, folded or not. Pure; every word passes ``core.text``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from supervisor.core.model import Entry, EntryKind, PromptKind
from supervisor.core.text import clip
from widgets.cells import Cell, Piece, Tone, clip_pieces, drawable, drawable_lines, joined, width_of
from widgets.transcript_calls import call_rows, shows_its_diff
from widgets.transcript_folds import ADDED, INDENT, extra, first_of, more, peek, telling
from widgets.transcript_markdown import render
from widgets.transcript_wrap import MOST_ROWS, flow, wrap

if TYPE_CHECKING:
    from collections.abc import Callable

PROMPT_ROWS = 6
"""Rows shown of a folded prompt of ours."""
_NESTED: Piece = ("  │ ", Tone.FAINT)
_LEAST = 8
"""Cells that a row has at least, however narrow the view is."""
_WHO = {
    PromptKind.TASK: "task",
    PromptKind.CONTINUE: "continue",
    PromptKind.VERIFY: "verify",
    PromptKind.MESSAGE: "you",
}


def lay_out(entry: Entry, result: Entry | None, width: int, is_open: bool) -> list[Cell]:
    """Return the rows of one entry, at least one, none wider than ``width``.

    Args:
        entry: What is shown.
        result: For a call of a tool what came of it, once that is known; else None.
        width: Cells of a row; with fewer than eight, rows are cut.
        is_open: Whether all of it is shown, or only its gist.
    """
    before: Cell = (_NESTED,) if entry.nested else ()
    room = max(_LEAST, width - width_of(before))
    rows = _KINDS[entry.kind](entry, result, room, is_open) or [()]
    if len(rows) > MOST_ROWS:
        rows = [*rows[: MOST_ROWS - 1], more(len(rows) - MOST_ROWS + 1)]
    whole = (before + row for row in rows)
    return [row if width_of(row) <= width else clip_pieces(row, width) for row in whole]


def opens_by_itself(entry: Entry, result: Entry | None) -> bool:
    """Return whether an entry is shown whole until the operator folds it: what the agent says, and short diffs."""
    return entry.kind is EntryKind.TEXT or (entry.kind is EntryKind.TOOL and shows_its_diff(entry, result))


def _prompt(entry: Entry, _: Entry | None, width: int, is_open: bool) -> list[Cell]:
    who = _WHO.get(entry.prompt) if entry.prompt is not None else None
    rows = _of_ours(entry, width, is_open, "» ", f"{who} · " if who else "", Tone.ACCENT)
    return rows + _added(entry, width, is_open) if entry.detail else rows


def _added(entry: Entry, width: int, is_open: bool) -> list[Cell]:
    """Return what the supervisor added to words that are not its own; folded, one row of it."""
    if is_open:
        whole = [((INDENT, Tone.MUTED), *row) for row in _detail(entry, width - len(INDENT), is_open)]
        return [((f"{INDENT}· {ADDED}:", Tone.FAINT),), *whole]
    lines = [line for line in drawable_lines(entry.detail) if line.strip()]
    words: Cell = ((f"{INDENT}· {ADDED}: {' '.join(lines[:1])}", Tone.FAINT),)
    return [first_of([words, *([()] * (len(lines) - 1))], width)]


def _pending(entry: Entry, _: Entry | None, width: int, is_open: bool) -> list[Cell]:
    return _of_ours(entry, width, is_open, "◌ ", "you, not given yet · ", Tone.MUTED)


def _of_ours(entry: Entry, width: int, is_open: bool, sign: str, label: str, tone: Tone) -> list[Cell]:
    """Return words to the agent; folded, only their first rows."""
    lines = _unwrapped(drawable_lines(entry.text))
    rows = [row for row in wrap([f"{label}{lines[0]}", *lines[1:]], width - 2) if row]
    shown: list[Cell] = [((row, tone),) for row in rows]
    if not is_open and len(rows) > PROMPT_ROWS:
        shown = [*shown[: PROMPT_ROWS - 1], more(len(rows) - PROMPT_ROWS + 1, "")]
    return _led(sign, tone, shown)


def _text(entry: Entry, _: Entry | None, width: int, is_open: bool) -> list[Cell]:
    lines = render(drawable_lines(entry.text), width - 2)
    rows = [row for line in lines for row in flow(line, width - 2)]
    return _led("› ", Tone.PLAIN, rows if is_open else [first_of(rows, width - 2)])


def _thinking(entry: Entry, _: Entry | None, width: int, is_open: bool) -> list[Cell]:
    rows = [row for row in wrap(drawable_lines(entry.text), width - 2) if row]
    if not is_open and len(rows) > 1:
        rows = [clip(f"thinking, {len(rows)} lines  {' '.join(rows[:4])}", width - 2, cell_len)]
    return _led("~ ", Tone.FAINT, [((row, Tone.FAINT),) for row in rows or ["thinking"]])


def _note(entry: Entry, _: Entry | None, width: int, is_open: bool) -> list[Cell]:
    tone = Tone.BAD if entry.is_error else Tone.FAINT
    words = [row for row in wrap(drawable_lines(entry.text), width - 2) if row]
    rows = _led("! " if entry.is_error else "· ", tone, [((row, tone),) for row in words])
    return rows + _detail(entry, width, is_open) if entry.detail else rows


def _detail(entry: Entry, width: int, is_open: bool) -> list[Cell]:
    if not is_open:
        return peek(entry.detail, width)
    return [((f"{INDENT}{row}", Tone.MUTED),) for row in wrap(drawable_lines(entry.detail), width - len(INDENT))]


def _ending(entry: Entry, _: Entry | None, width: int, is_open: bool) -> list[Cell]:
    words = clip(drawable(entry.text), max(0, width - 6), cell_len)
    tone = Tone.BAD if entry.is_error else Tone.MUTED
    rule = "─" * max(0, width - cell_len(words) - 4)
    card: list[Cell] = [(("── ", Tone.FAINT), (words, tone), (f" {rule}", Tone.FAINT))]
    return card + _detail(entry, width, is_open) if entry.detail else card


def _alone(entry: Entry, _: Entry | None, width: int, is_open: bool) -> list[Cell]:
    """A result whose call is not in memory."""
    sign = "✗" if entry.is_error else "✓"
    lines = telling(entry.text)
    if not is_open or not lines:
        note = f"   {extra(len(lines) - 1)}" if len(lines) > 1 else ""
        words = clip(f"{sign} {lines[0] if lines else ''}".rstrip(), max(_LEAST, width - len(note)), cell_len)
        return [((words, Tone.MUTED), (note, Tone.FAINT))]
    return _led(f"{sign} ", Tone.MUTED, [((row, Tone.MUTED),) for row in wrap(drawable_lines(entry.text), width - 2)])


_KINDS: dict[EntryKind, Callable[[Entry, Entry | None, int, bool], list[Cell]]] = {
    EntryKind.PROMPT: _prompt,
    EntryKind.TEXT: _text,
    EntryKind.THINKING: _thinking,
    EntryKind.TOOL: call_rows,
    EntryKind.RESULT: _alone,
    EntryKind.NOTE: _note,
    EntryKind.ENDING: _ending,
    EntryKind.PENDING: _pending,
}


def _led(sign: str, tone: Tone, rows: list[Cell]) -> list[Cell]:
    """Put a sign before the first row and blanks before the others; a row of blanks becomes an empty one."""
    first, again = (sign, tone), (" " * cell_len(sign), tone)
    return [(again if i else first, *row) if not i or joined(row) else () for i, row in enumerate(rows)]


def _unwrapped(lines: list[str]) -> list[str]:
    """Join the lines of paragraphs, which were broken for another width; lists and code stay as they are."""
    paragraphs: list[list[str]] = []
    for line in lines:
        if paragraphs and line[:1].isalpha() and paragraphs[-1][-1].strip():
            paragraphs[-1].append(line)
        else:
            paragraphs.append([line])
    return [" ".join(paragraph) for paragraph in paragraphs]
