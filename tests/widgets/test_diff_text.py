"""Diffs as lines: numbers, notes and hostile text; and two of them side by side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.screens.scenes import HOSTILE
from widgets.diff_text import GAP, LINE_CHARS, MOST_LINES, DiffText, parse, side_by_side

HEAD = "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n"
ONE = "@@ -1,4 +1,5 @@\n+new\n a\n-b\n+B\n+B2\n c\n d\n"
OTHER = "@@ -1,4 +1,4 @@\n a\n b\n-c\n+C\n d\n"


def rows(diff: DiffText) -> list[str]:
    return [f"{line.sign}{line.text}" for line in diff.lines]


def test_lines_have_the_numbers_of_before_and_of_now() -> None:
    diff = parse(f"{HEAD}{ONE}@@ -20,2 +21,2 @@ def f():\n t\n-u\n+U\n")
    assert [(line.sign, line.old, line.new) for line in diff.lines] == [
        ("+", 0, 1), (" ", 1, 2), ("-", 2, 0), ("+", 0, 3), ("+", 0, 4), (" ", 3, 5), (" ", 4, 6),
        ("@", 20, 21), (" ", 20, 21), ("-", 21, 0), ("+", 0, 22),
    ]  # fmt: skip
    assert diff.lines[7].text == "def f():"
    assert diff.digits == 2


def test_lines_that_look_like_headers_are_content_inside_of_a_hunk() -> None:
    diff = parse(f"{HEAD}@@ -1,2 +1,2 @@\n--- a/not a header\n+++ b/nor this\n @@ -1 +1 @@\n")
    assert rows(diff) == ["--- a/not a header", "+++ b/nor this", " @@ -1 +1 @@"]


def test_what_the_list_of_files_does_not_say_is_a_note() -> None:
    assert rows(parse("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n")) == [
        "!old mode 100644",
        "!new mode 100755",
    ]
    assert rows(parse("diff --git a/x b/x\nindex 1..2\nBinary files a/x and b/x differ\n")) == [
        "!Binary files a/x and b/x differ"
    ]
    assert rows(parse(f"{HEAD}@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n")) == [
        "-a",
        "+b",
        "!No newline at end of file",
    ]


def test_a_file_that_changed_its_kind_shows_both_of_its_diffs() -> None:
    first = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-text\n"
    then = "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+target\n"
    assert rows(parse(first + then)) == ["-text", "!new file mode 120000", "+target"]


def test_line_ends_and_tabs_are_shown() -> None:
    diff = parse(f"{HEAD}@@ -1,2 +1,2 @@\n-a\tb\r\n+a\rb\n")
    assert rows(diff) == ["-a  b", "+a␍b"]


def test_what_is_too_much_is_counted() -> None:
    diff = parse(f"{HEAD}@@ -0,0 +1,9000 @@\n" + "+line\n" * 9000)
    assert len(diff.lines) == MOST_LINES
    assert diff.left >= 9000 - MOST_LINES
    assert len(parse(f"@@ -0,0 +1 @@\n+{'x' * 5000}\n").lines[0].text) <= LINE_CHARS
    assert parse("").lines == ()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_hostile_is_left(text: str) -> None:
    line = text.replace("\n", " ")
    diff = parse(f"@@ -1,9 +1,9 @@ {line}\n-{line}\n+{line}\n")
    assert not set("".join(rows(diff))) & set("\x1b\x07\x00\x9b\u202e\u2066\ud83d\r\t")
    assert any(line.sign == "-" for line in diff.lines)


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    parse(text)
    parse(f"@@ -1 +1 @@\n{text}")


# Side by side


def test_lines_of_the_same_number_stand_on_the_same_row() -> None:
    left, right = side_by_side(parse(ONE), parse(OTHER))
    assert list(zip(rows(left), rows(right), strict=True)) == [
        ("+new", ""),
        (" a", " a"),
        ("-b", " b"),
        ("+B", ""),
        ("+B2", ""),
        (" c", "-c"),
        ("", "+C"),
        (" d", " d"),
    ]


def test_hunks_that_only_one_has_stand_alone() -> None:
    left, right = side_by_side(parse("@@ -50,2 +50,2 @@\n a\n-b\n+B\n"), parse("@@ -1,1 +1,2 @@\n x\n+y\n"))
    assert rows(left) == ["", "", "@", " a", "-b", "+B"]
    assert rows(right) == [" x", "+y", "", "", "", ""]


def test_new_files_are_compared_from_their_first_line() -> None:
    left, right = side_by_side(parse("@@ -0,0 +1,2 @@\n+a\n+b\n"), parse("@@ -0,0 +1,1 @@\n+a\n"))
    assert rows(left) == ["+a", "+b"]
    assert rows(right) == ["+a", ""]
    assert right.lines[1] is GAP


LINES = st.lists(st.sampled_from([" ", "-", "+"]), max_size=30)


@given(LINES, LINES, st.integers(1, 40), st.integers(1, 40))
def test_nothing_is_lost_and_order_is_kept(one: list[str], two: list[str], at: int, there: int) -> None:
    texts = [
        parse(f"@@ -{start},9 +{start},9 @@ f\n" + "".join(f"{sign}{n}\n" for n, sign in enumerate(signs)))
        for start, signs in ((at, one), (there, two))
    ]
    sides = side_by_side(texts[0], texts[1])
    assert len(sides[0].lines) == len(sides[1].lines)
    for text, side in zip(texts, sides, strict=True):
        assert [line for line in side.lines if line is not GAP] == list(text.lines)
