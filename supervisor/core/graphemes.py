"""Where one character ends for a reader: extended grapheme clusters, Unicode annex 29.

Two rules are left out: prepended marks, and conjuncts of Indic scripts. The property of being a pictograph, which
the standard library does not know, is taken from ranges.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PICTOGRAPH = (
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23cd\u23cf-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
"""A character class of what emoji are made of, symbols from before emoji included."""

_LONGEST = 256
"""Characters looked at to find where a cluster begins, so that a cut costs the same in any text."""

MARKS = frozenset({"Mn", "Me", "Mc"})
"""Categories of combining marks."""
_HANGUL_FOLLOWERS = {"L": "LVSF", "V": "VT", "S": "VT", "F": "T", "T": "T"}
"""Jamo that continue a syllable: leading L, vowel V, trailing T; whole syllables without (S) and with (F) a T."""
_PICTOGRAPHS = re.compile(PICTOGRAPH)


def clusters(text: str) -> Iterator[str]:
    """Yield what a reader sees as one character, one after the other; joined, they are the text."""
    if text.isascii() and "\r" not in text:
        yield from text
        return
    start = 0
    for index in range(1, len(text)):
        if not _joined(text, index, start):
            yield text[start:index]
            start = index
    if text:
        yield text[start:]


def boundary(text: str, index: int) -> int:
    """Return the last place at or before ``index`` where a cluster begins; ``index`` if none is near."""
    for place in range(index, max(0, index - _LONGEST), -1):
        if place >= len(text) or not _joined(text, place, max(0, place - _LONGEST)):
            return place
    return 0 if index < _LONGEST else index


def boundary_after(text: str, index: int) -> int:
    """Return the first place at or after ``index`` where a cluster begins; ``index`` if none is near."""
    for place in range(index, min(index + _LONGEST, len(text))):
        if place == 0 or not _joined(text, place, max(0, place - _LONGEST)):
            return place
    return len(text) if index + _LONGEST >= len(text) else index


@lru_cache(maxsize=8192)
def _kind(char: str) -> str:
    """Return how a character takes part in clusters: extend, control, regional, pictograph, a jamo, or other."""
    code = ord(char)
    if char == "\u200d":
        return "zwj"
    if unicodedata.category(char) in MARKS or char in "\u200c\uff9e\uff9f":
        return "extend"
    if 0x1F3FB <= code <= 0x1F3FF or 0xE0020 <= code <= 0xE007F:
        return "extend"
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "regional"
    if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
        return "control"
    return "pictograph" if _PICTOGRAPHS.match(char) else _jamo(code)


def _jamo(code: int) -> str:
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return "L"
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return "V"
    if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB:
        return "T"
    if 0xAC00 <= code <= 0xD7A3:
        return "S" if (code - 0xAC00) % 28 == 0 else "F"
    return "other"


def _joined(text: str, index: int, floor: int) -> bool:
    """Tell whether the characters before and at ``index`` belong to one cluster, looking back to ``floor``."""
    if text[index] < "\x80":
        return text[index] == "\n" and text[index - 1] == "\r"
    before, here = _kind(text[index - 1]), _kind(text[index])
    if before == "control":
        return False
    if here in {"extend", "zwj"}:
        return True
    if before == "zwj":
        return here == "pictograph" and _after_pictograph(text, index - 1, floor)
    if here == before == "regional":
        return _run_of_regionals(text, index, floor) % 2 == 1
    return here in _HANGUL_FOLLOWERS.get(before, "")


def _after_pictograph(text: str, index: int, floor: int) -> bool:
    """Tell whether the joiner at ``index`` stands after a pictograph and its modifiers."""
    index -= 1
    while index > floor and _kind(text[index]) == "extend":
        index -= 1
    return index >= floor and _kind(text[index]) == "pictograph"


def _run_of_regionals(text: str, index: int, floor: int) -> int:
    """Return how many regional indicators stand right before ``index``."""
    start = index
    while start > floor and _kind(text[start - 1]) == "regional":
        start -= 1
    return index - start
