"""The little of Markdown that an agent's words are easier to read with, from safe lines. Pure.

Headings, lists, quotes, rules, fenced code, bold and code in a line; everything else stays as it was written. Each
line is looked at once, and nothing is ever taken for markup of the screen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from widgets.cells import Cell, Piece, Tone
from widgets.transcript_wrap import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_HEADING = re.compile(r" {0,3}#{1,6} +(?=\S)")
_ITEM = re.compile(r"( *)([-*+]|\d{1,9}[.)]) +(?=\S)")
_QUOTE = re.compile(r" {0,3}((?:> ?)+)")
_RULE = re.compile(r" {0,3}([-*_])(?: *\1){2,} *$")
_MARKS = re.compile(r"`+|\*\*")
_CODE_INDENT: Piece = ("  ", Tone.PLAIN)


def render(lines: Iterable[str], width: int) -> Iterator[Line]:
    """Yield the lines of a text; runs of blank ones are squeezed into one.

    Args:
        lines: Safe lines (`widgets.cells.drawable_lines`).
        width: Cells there are; only indents and rules depend on it.
    """
    fence = ""
    was_blank = True
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
            else:
                yield Line(((line, Tone.CODE),), (_CODE_INDENT,), (_CODE_INDENT,))
            was_blank = False
        elif mark:
            fence = mark[1]
        elif line.strip():
            yield _block(line, width)
            was_blank = False
        elif not was_blank:
            yield Line((("", Tone.PLAIN),))
            was_blank = True


def _block(line: str, width: int) -> Line:
    if _RULE.match(line):
        return Line((("─" * min(width, 40), Tone.FAINT),))
    heading = _HEADING.match(line)
    if heading:
        return Line(inline(line[heading.end() :].rstrip().rstrip("#").rstrip() or line, Tone.STRONG))
    item = _ITEM.match(line)
    if item:
        indent = " " * min(len(item[1]), width // 3)
        sign = "• " if item[2] in {"-", "*", "+"} else f"{item[2]} "
        first, again = (f"{indent}{sign}", Tone.PLAIN), (indent + " " * len(sign), Tone.PLAIN)
        return Line(inline(line[item.end() :]), (first,), (again,))
    quote = _QUOTE.match(line)
    if quote:
        bars: Piece = ("│ " * min(quote[1].count(">"), 3), Tone.FAINT)
        return Line(inline(line[quote.end() :], Tone.MUTED), (bars,), (bars,))
    text = line.lstrip(" ")
    indent = " " * min(len(line) - len(text), width // 3)
    return Line(inline(text), ((indent, Tone.PLAIN),), ((indent, Tone.PLAIN),)) if indent else Line(inline(text))


def inline(text: str, tone: Tone = Tone.PLAIN) -> Cell:
    """Return a line's pieces, with what is bold or code in its tone and without the signs around it."""
    marks = list(_MARKS.finditer(text))
    closers = _closers(text, marks)
    if not closers:
        return ((text, tone),)
    pieces: list[Piece] = []
    place = 0
    bold_until = -1
    skip_to = 0
    for number, mark in enumerate(marks):
        if number < skip_to:
            continue
        closer = closers.get(number)
        loud = Tone.STRONG if bold_until >= 0 else tone
        if number == bold_until:
            bold_until = -1
        elif mark[0] == "**" and closer is not None and bold_until < 0:
            bold_until = closer
        elif mark[0] != "**" and closer is not None and (bold_until < 0 or closer < bold_until):
            end = marks[closer]
            pieces += [(text[place : mark.start()], loud), (text[mark.end() : end.start()].strip() or " ", Tone.CODE)]
            place, skip_to = end.end(), closer + 1
            continue
        else:
            continue
        pieces.append((text[place : mark.start()], loud))
        place = mark.end()
    pieces.append((text[place:], tone))
    return tuple(piece for piece in pieces if piece[0])


def _closers(text: str, marks: list[re.Match[str]]) -> dict[int, int]:
    """Return for each sign that opens something the number of the one that closes it."""
    found: dict[int, int] = {}
    nearest: dict[str, int] = {}
    for number in range(len(marks) - 1, -1, -1):
        mark = marks[number]
        closer = nearest.get(mark[0])
        if mark[0] != "**":
            if closer is not None:
                found[number] = closer
            nearest[mark[0]] = number
            continue
        before, after = text[: mark.start()][-1:], text[mark.end() : mark.end() + 1]
        # ``a**2 + b**3`` is arithmetic; other scripts have no blanks around what is bold.
        if closer is not None and not after.isspace() and not _is_ascii_word(before):
            found[number] = closer
        if before and not before.isspace() and not _is_ascii_word(after):
            nearest[mark[0]] = number
    return found


def _is_ascii_word(char: str) -> bool:
    return char.isascii() and char.isalnum()
