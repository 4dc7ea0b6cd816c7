"""No text, however hostile, controls the terminal, hides, or is cut inside a character."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from supervisor.core.text import clip, clusters, head, is_blank, pad, safe_line, safe_text, tail

if TYPE_CHECKING:
    from supervisor.core.text import Measure

FAMILY = "👩\u200d👩\u200d👧\u200d👦"
FLAG = "🇩🇪"
KEYCAP = "1\ufe0f\u20e3"
DRAWN_FORMATS = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}

# Rich in what hurts: controls, joiners, marks, surrogates, and plain letters between them.
nasty = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("ab 1#\t\r\n\x1b\x07\x00\x7f\x9b\u202e\u200b\u200c\u200d\ufe0f\ufe0e\u20e3\ufeff\u2028\ud83d"),
        st.sampled_from("👩👧🏽🇩🇪❤⚙🏷修日각ᄀ\u1161\u11a8क्षर\u0301\u0489\ufe00\U000e0100\U000e0041"),
    ),
    max_size=60,
)


def east_asian(value: str) -> int:
    """Measure as a terminal without emoji sequences does, with ambiguous characters wide."""
    return sum(_width(char) for char in value)


def _width(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WFA" else 1


def is_unsafe(char: str) -> bool:
    code = ord(char)
    if code in DRAWN_FORMATS or char in "\u200c\u200d":
        return False
    noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return noncharacter or unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_every_character_alone_is_shown_or_replaced() -> None:
    for code in range(0x110000):
        char = chr(code)
        shown = safe_text(char)
        if char not in "\r\n":
            assert is_unsafe(char) <= (char not in shown), hex(code)
            assert shown, hex(code)


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ("Fix [/", "Fix [/"),
        ("[@click=app.quit]hi[/]", "[@click=app.quit]hi[/]"),
        ("\x1b[2Jgone", "␛[2Jgone"),
        ("\x1b]0;x\x07", "␛]0;x␇"),
        ("\x1b]52;c;aGk=\x1b\\", "␛]52;c;aGk=␛\\"),
        ("\x9b2J", "⟦U+009B⟧2J"),
        ("a\x00b\x7f", "a␀b␡"),
        ("abc\u202edef", "abc⟦U+202E⟧def"),
        ("\u2066\u200f\u061c", "⟦U+2066⟧⟦U+200F⟧⟦U+061C⟧"),
        ("a\u200bb\u2060\ufeff", "a⟦U+200B⟧b⟦U+2060⟧⟦U+FEFF⟧"),
        ("lone \ud83d half", "lone \ufffd half"),
        ("\U000e0041\uffff", "⟦U+E0041⟧⟦U+FFFF⟧"),
        ("a\tb", "a b"),
        ("one\ntwo\r\nthree\rfour\n\n", "one⏎two⏎three⏎four"),
        ("a\u2028b", "a⟦U+2028⟧b"),
        ("🏷️ ⚙️ #️⃣ 1️⃣ 修复 日本語", "🏷️ ⚙️ #️⃣ 1️⃣ 修复 日本語"),
        (f"{FAMILY} 🏳️\u200d🌈 🧔🏽\u200d♂️", f"{FAMILY} 🏳️\u200d🌈 🧔🏽\u200d♂️"),
        ("pay\u200dload", "pay⟦U+200D⟧load"),
        ("a\ufe0f", "a⟦U+FE0F⟧"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("ශ්\u200dරී", "ශ්රී"),
        ("", ""),
    ],
)
def test_a_line(raw: str, line: str) -> None:
    assert safe_line(raw) == line


def test_text_keeps_lines_and_expands_tabs() -> None:
    assert safe_text("a\r\nb\rc\n\tx\n1\ty\n") == "a\nb\nc\n    x\n1   y\n"


@pytest.mark.parametrize("blank", ["", " \n\t", "\u200b\ufeff", "\u3000\xa0", "\x00\x1b", "\u200d\ufe0f", "\u3164"])
def test_what_shows_nothing_is_blank(blank: str) -> None:
    assert is_blank(blank)
    assert not is_blank(blank + "." + blank)


def test_a_pile_of_marks_is_thinned() -> None:
    assert safe_line("e" + "\u0301" * 5000) == "e" + "\u0301" * 8 + "\ufffd…"
    assert safe_line("Z" + "\u0e49" * 9 + "a") == "Z" + "\u0e49" * 8 + "\ufffda"
    assert safe_line("─" * 50 + "…" * 20) == "─" * 50 + "…" * 20


def test_a_long_chain_of_joined_emoji_is_broken() -> None:
    assert safe_line("👩" + "\u200d👩" * 9).count("⟦U+200D⟧") == 2


def test_a_long_text_ends_in_an_ellipsis() -> None:
    assert safe_line("x" * 3000) == "x" * 1999 + "…"
    assert safe_line("x" * 2000) == "x" * 2000
    assert safe_line("é" * 5, limit=4) == "ééé…"
    assert safe_line("ab", limit=0) == ""
    assert len(safe_text("\u202e" * 1_000_000)) == 100_000
    assert safe_line("xx" + FAMILY, limit=6) == "xx…"


@given(nasty, st.integers(0, 40))
def test_safe_output_is_safe_bounded_and_stable(raw: str, limit: int) -> None:
    for safe in (safe_line, safe_text):
        out = safe(raw, limit)
        assert not any(is_unsafe(char) for char in out.replace("\n", ""))
        assert len(out) <= limit
        assert safe(out, limit) == out
        out.encode()
    assert "\n" not in safe_line(raw, limit)


@given(nasty, st.integers(-1, 50), st.sampled_from([cell_len, east_asian]))
def test_a_clip_fits_and_keeps_clusters(raw: str, cells: int, measure: Measure) -> None:
    for line in (safe_line(raw), raw):
        out = clip(line, cells, measure)
        assert measure(out) <= max(0, cells)
        assert clip(out, cells, measure) == out
        if out != line and out:
            kept = list(clusters(out))[:-1]
            assert out.endswith("…")
            assert kept == list(clusters(line))[: len(kept)]


@given(nasty, st.integers(0, 50), st.sampled_from([cell_len, east_asian]))
def test_a_padded_line_has_exactly_the_width(raw: str, cells: int, measure: Measure) -> None:
    for line in (safe_line(raw), raw):
        assert measure(pad(line, cells, measure)) == cells


@given(nasty)
def test_clusters_are_the_whole_text(raw: str) -> None:
    assert "".join(clusters(raw)) == raw


@pytest.mark.parametrize(
    "whole",
    [FAMILY, FLAG, KEYCAP, "e\u0301", "👍🏽", "한", "\u1112\u1161\u11ab", "🏳️\u200d🌈", "🏷️", "각\u11a8", "\r\n", "की"],
)
def test_a_cluster_is_kept_or_dropped_whole(whole: str) -> None:
    assert list(clusters(f"a{whole}{whole}b")) == ["a", whole, whole, "b"]
    for cells in range(2, 8):
        out = clip(f"a{whole}{whole}bcdefgh", cells, cell_len)
        assert out.removesuffix("…").removeprefix("a").replace(whole, "").strip("bcdefg") == ""


def test_a_clip_of_nothing_and_of_no_room() -> None:
    assert clip("abc", 0, cell_len) == ""
    assert clip("abc", 1, cell_len) == "…"
    assert clip("abc", 3, cell_len) == "abc"
    assert clip("日本語", 5, cell_len) == "日本…"
    assert clip("日本語", 4, cell_len) == "日…"
    assert clip("abc", 1, east_asian) == ""  # where the ellipsis is two cells wide
    assert pad("日本語", 4, cell_len) == "日… "


@given(nasty, st.integers(0, 60))
def test_head_and_tail_are_bounded_and_stable(raw: str, limit: int) -> None:
    for cut in (head, tail):
        out = cut(raw, limit)
        assert len(out) <= max(limit, 0)
        assert cut(out, limit) == out


def test_head_and_tail_say_how_much_was_cut() -> None:
    lines = "line\n" * 1000
    assert head(lines, 100).endswith("\n[… 4900 more characters]")
    assert tail(lines, 100).startswith("[4900 characters before …]\n")
    assert tail("x" * 100 + FAMILY, 30) == "[77 characters before …]\n"
    assert head("short", 5) == tail("short", 5) == "short"


@pytest.mark.parametrize("unit", ["a", "é", "\u0301", "🇩", "\x1b[2J", "\u202e", "ᄀ", "\u200d", "👩\u200d", "ﾞ"])
def test_a_huge_line_is_cut_without_being_read(unit: str) -> None:
    huge = "x" + unit * 3_000_000
    assert len(safe_line(huge)) <= 2000
    assert cell_len(clip(huge, 80, cell_len)) <= 80
    assert len(tail(huge, 500)) <= 500
    assert len(head(huge, 500)) <= 500
