"""Untrusted words in cells."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from tests.screens.scenes import HOSTILE
from widgets.cells import LINE_CHARS, Tone, clip_pieces, drawable, drawable_lines, fit, joined


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_controls_a_terminal_is_drawn(text: str) -> None:
    line = drawable(text)
    assert not set(line) & set("\x1b\x07\x00\x9b\u202e\u2066\n\r\t\ud83d\u2028")
    assert len(line) <= LINE_CHARS


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("🏷️ x", "🏷 x"),
        ("1️⃣", "1\u20e3"),
        ("👍🏽!", "👍!"),
        ("👩‍👩‍👧‍👦.", "👩."),
        ("修复", "修复"),
        ("Fix [/", "Fix [/"),
    ],
)
def test_clusters_that_terminals_measure_in_different_ways_are_made_plain(text: str, drawn: str) -> None:
    assert drawable(text) == drawn


def test_a_long_line_is_cut_and_says_so() -> None:
    assert drawable("x" * 10_000_000) == "x" * (LINE_CHARS - 1) + "…"


def test_lines_are_kept_and_blank_ends_are_not() -> None:
    assert drawable_lines("\n\na\x1b[2J\r\nb\n\n") == ["a␛[2J", "b"]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("right", [False, True])
def test_fit_is_exact(text: str, right: bool) -> None:
    for cells in (0, 1, 2, 7, 40):
        assert cell_len(fit(drawable(text), cells, right=right)) == cells


def test_pieces_are_cut_with_an_ellipsis() -> None:
    pieces = (("ab", Tone.PLAIN), ("cdef", Tone.WARM), ("g", Tone.PLAIN))
    assert joined(clip_pieces(pieces, 7)) == "abcdefg"
    assert joined(clip_pieces(pieces, 4)) == "abc…"
    assert joined(clip_pieces(pieces, 6)) == "abcde…"
    assert joined(clip_pieces(pieces, 2)) == "a…"
    assert joined(clip_pieces(pieces, 0)) == ""
