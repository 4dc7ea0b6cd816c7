"""Untrusted text -> text that is safe to draw, and cuts that keep what a reader sees as one character whole.

Owns the one rule for characters that could move the cursor, reorder a line or hide in it: C0 controls become
control pictures (ESC is ``␛``), lone surrogates U+FFFD, all others a token such as ``⟦U+202E⟧``. Escape sequences
are not parsed: once their ESC is visible the rest is harmless. How wide a character is drawn depends on the
terminal, so functions that cut by cells take the measuring function as an argument.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from supervisor.core.graphemes import MARKS, PICTOGRAPH, boundary, boundary_after, clusters

__all__ = [
    "ELLIPSIS",
    "NEWLINE_MARK",
    "Measure",
    "clip",
    "clusters",
    "head",
    "is_blank",
    "pad",
    "safe_line",
    "safe_text",
    "tail",
]

Measure = Callable[[str], int]
"""Returns how many terminal cells a text takes."""

ELLIPSIS = "…"
NEWLINE_MARK = "⏎"

_MAX_MARKS = 8
"""Combining marks kept on one base; more would paint over the neighbouring lines."""

# Controls, formats (Cf), separators of lines and paragraphs, surrogates, noncharacters, and letters and marks that
# draw nothing. "\n" is not here. Formats that do draw, such as U+0600, are not either.
_UNSAFE_SET = (
    "\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
)
_UNSAFE = re.compile(f"[{_UNSAFE_SET}]")
_ASCII_UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f]")

# Joiners and variation selectors: wanted inside an emoji or a script that needs them, a hiding place elsewhere.
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_JOINING = re.compile(f"[\u200c\u200d{_SELECTORS}]")
_DRAWN = re.compile(rf"[^\s\u200c\u200d{_SELECTORS}{_UNSAFE_SET}]")
_TONES = "\U0001f3fb-\U0001f3ff"
_STYLE = f"(?:[{_TONES}]|[\ufe0e\ufe0f])?"
_ZWJ_HEAD = "[\u26d3\u26f9\u2764\U0001f300-\U0001faff]"
_ZWJ_NEXT = "[\u2194\u2195\u2640\u2642\u2695\u2696\u2708\u2764\u27a1\u2b1b\U0001f300-\U0001faff]"
_SCRIPT = "[\u0600-\u109f\u1780-\u18af]"
"""Arabic to Myanmar, Khmer and Mongolian: letters there change their shape at a joiner."""
_JOINED = re.compile(
    # No emoji has more than four parts; a longer chain is measured as one and drawn as many.
    f"(?P<keep>{_ZWJ_HEAD}{_STYLE}(?:\u200d{_ZWJ_NEXT}{_STYLE}){{1,3}}"
    f"|{PICTOGRAPH}[\ufe0e\ufe0f]|[0-9#*]\ufe0f\u20e3"
    "|[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][\ufe00-\ufe02\U000e0100-\U000e01ef]"
    f"|(?<={_SCRIPT})\u200c(?={_SCRIPT}))"
    # The joiner asks for a ligature; measuring functions take the letter after it for drawn on top of the last.
    f"|(?P<drop>(?<={_SCRIPT})\u200d(?={_SCRIPT}))"
    f"|[\u200c\u200d{_SELECTORS}]"
)
# Where marks may pile up; the category of each is looked up only in such a run.
_PILE = re.compile(rf"[^\w\s\x00-\u02ff\u2010-\u20cf\u2100-\u2bff]{{{_MAX_MARKS + 1},}}")


def safe_line(text: str, limit: int = 2000) -> str:
    """Return one line that is safe to draw: for tables, titles, dialogs and logs.

    Args:
        text: Anything, lone surrogates included.
        limit: Most characters to return; a longer text ends in ``…``.

    Returns:
        The text with tabs as spaces, line breaks as ``⏎`` (those at the end are left out) and no character that
        controls the terminal or hides. Applying it again changes nothing.
    """
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    cut = text[: 2 * limit + 2]
    line = _newlines(cut).rstrip("\n").replace("\t", " ").replace("\n", NEWLINE_MARK)
    return _limit(_visible(line), limit, was_cut=len(cut) < len(text))


def safe_text(text: str, limit: int = 100_000) -> str:
    """Return lines that are safe to draw: for transcripts, diffs and command output.

    Args:
        text: Anything, lone surrogates included.
        limit: Most characters to return; a longer text ends in ``…``.

    Returns:
        As `safe_line`, but with line breaks kept as ``\\n`` and tabs expanded to stops four characters apart.
    """
    cut = text[: 2 * limit + 2]
    return _limit(_visible(_newlines(cut).expandtabs(4)), limit, was_cut=len(cut) < len(text))


def is_blank(text: str) -> bool:
    """Tell whether a text shows nothing: no characters, or only spaces and invisible ones."""
    return _DRAWN.search(text) is None


def clip(text: str, cells: int, measure: Measure) -> str:
    """Return as much of a safe line as fits, ending in ``…`` where something was left out.

    Args:
        text: Output of `safe_line`.
        cells: Width to fit, in terminal cells.
        measure: Width of a text in cells, such as ``rich.cells.cell_len``.

    Returns:
        A text that measures at most ``cells`` and never ends inside a cluster.
    """
    if cells <= 0:
        return ""
    window = text[: cells * 32 + 64]  # more than any number of honest clusters of that width needs
    if len(window) == len(text) and ((text.isascii() and len(text) <= cells) or measure(text) <= cells):
        return text
    room = cells - measure(ELLIPSIS)
    if room < 0:
        return ""
    if window.isascii() and window.isprintable():
        return window[:room] + ELLIPSIS
    return _clip_clusters(window, cells, measure)


def pad(text: str, cells: int, measure: Measure) -> str:
    """Return the text clipped, then filled with spaces on the right, to measure exactly ``cells``."""
    if text.isascii() and len(text) <= cells and text.isprintable():
        return text.ljust(cells)
    padded = clip(text, cells, measure)
    for _ in range(2):  # a joiner at the end of an unsafe text swallows the first space
        padded += " " * (cells - measure(padded))
    return padded


def head(text: str, max_chars: int) -> str:
    """Return the beginning of a text, and a last line that says how much was cut; ``max_chars`` in all."""
    if len(text) <= max_chars:
        return text
    note = f"\n[… {len(text) - max_chars} more characters]"
    return text[: boundary(text, max(0, max_chars - len(note)))] + note[: max(0, max_chars)]


def tail(text: str, max_chars: int) -> str:
    """Return the end of a text, after a first line that says how much was cut; ``max_chars`` in all."""
    if len(text) <= max_chars:
        return text
    note = f"[{len(text) - max_chars} characters before …]\n"
    start = len(text) - max(0, max_chars - len(note))
    return note[: max(0, max_chars)] + text[boundary_after(text, start) :]


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _visible(text: str) -> str:
    """Replace all that is unsafe; ``\\n`` stays."""
    if text.isascii():
        return _ASCII_UNSAFE.sub(_replacement, text)
    text = _UNSAFE.sub(_replacement, text)
    if _JOINING.search(text):
        text = _JOINED.sub(_joiner, text)
    return _PILE.sub(_thin, text)


def _replacement(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"⟦U+{code:04X}⟧"


def _joiner(match: re.Match[str]) -> str:
    if match["keep"]:
        return match[0]
    return "" if match["drop"] else _replacement(match)


def _thin(match: re.Match[str]) -> str:
    """Keep the first marks of each pile and put one replacement for the rest."""
    kept: list[str] = []
    marks = 0
    for char in match[0]:
        marks = marks + 1 if unicodedata.category(char) in MARKS else 0
        if marks <= _MAX_MARKS:
            kept.append(char)
        elif marks == _MAX_MARKS + 1:
            kept.append("\ufffd")
    return "".join(kept)


def _limit(text: str, limit: int, *, was_cut: bool) -> str:
    if len(text) <= limit and not was_cut:
        return text
    return text[: boundary(text, max(0, limit - 1))] + ELLIPSIS if limit > 0 else ""


def _clip_clusters(text: str, cells: int, measure: Measure) -> str:
    kept: list[str] = []
    width = measure(ELLIPSIS)
    for cluster in clusters(text):
        width += measure(cluster)
        if width > cells:
            break
        kept.append(cluster)
    else:
        # The window ended first, so its last cluster may be half of one.
        kept = kept[:-1]
    # Widths need not add up; the whole is what is drawn.
    while kept and measure("".join(kept) + ELLIPSIS) > cells:
        kept.pop()
    return "".join(kept) + ELLIPSIS
