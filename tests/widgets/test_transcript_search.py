"""Finding words in a transcript as it reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.diffs import Diff
from supervisor.core.model import EntryKind
from tests.screens.scenes import HOSTILE
from tests.widgets.entries import call, entry, result, text
from widgets.cells import Tone, joined
from widgets.transcript_finder import Finder
from widgets.transcript_lines import TranscriptLines
from widgets.transcript_search import Search, marked


def lines_of(*entries: object, width: int = 40) -> TranscriptLines:
    lines = TranscriptLines(width)
    lines.take(entries)  # type: ignore[arg-type]
    lines.lay_tail(100)
    return lines


def found(query: str, *entries: object, width: int = 40) -> list[tuple[int, int]]:
    lines = lines_of(*entries, width=width)
    return [(find.item.entry.seq, find.row) for find in Search(query).finds(lines)]


SAID = (
    entry(EntryKind.TEXT, "# Round\n\nThe **discount**\nis rounded", 0),
    call(1, "Bash pytest -q", detail='{"command": "pytest -q\\nls", "description": "Run the tests"}'),
    result(2, "F.\n1 failed"),
    call(3, "Edit x.py", key="b", diff=Diff("@@\n-old\n+round", 1, 1)),
)


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("round", [(0, 0), (0, 3), (3, 2)]),
        ("Round", [(0, 0)]),
        ("The discount", [(0, 2)]),
        ("discount is", [(0, 2)]),
        ("run the", [(1, 3)]),
        ("1 failed", [(1, 5)]),
        ("ls", [(1, 2)]),
        ("old", [(3, 1)]),
        ("nothing like it", []),
        ("", []),
        ("   ", []),
        ("[/]", []),
    ],
)
def test_what_is_found(query: str, places: list[tuple[int, int]]) -> None:
    assert found(query, *SAID) == places


def test_words_are_found_where_a_row_ends_between_them() -> None:
    said = entry(EntryKind.TEXT, "one two three four", nested=True)
    assert found("two three", said, width=14) == [(0, 0)]
    lines = lines_of(said, width=14)
    rows = lines.items[0].rows or []
    spans = Search("two three").spans(rows)
    assert [joined(rows[row])[begin:end] for row, begin, end in spans] == ["two", "three"]


def test_another_width_and_later_results_are_looked_at_again() -> None:
    lines = lines_of(*SAID[:2])
    search = Search("failed")
    assert search.finds(lines) == []
    lines.take(SAID[2:])
    assert [find.row for find in search.finds(lines)] == [5]
    lines.unlay_all(20)
    assert [find.row for find in search.finds(lines)] == [6]


@given(st.sampled_from(HOSTILE), st.sampled_from(EntryKind))
def test_what_is_hostile_can_be_looked_for(words: str, kind: EntryKind) -> None:
    lines = lines_of(entry(kind, f"I read {words}", detail=words, tool_use_id="a"), result(1, words))
    assert lines.items[0] in [find.item for find in Search("read").finds(lines)]
    for query in (words, words[:5]):
        assert {find.item for find in Search(query).finds(lines)} <= set(lines.items)


def test_a_finder_goes_round_and_begins_near_the_cursor() -> None:
    lines = lines_of(*map(text, range(5)))
    finder = Finder()
    assert finder.words == ""
    near = (lines.items[3], 0)
    find = finder.look_for("word", lines, near)
    assert find is not None
    assert find.item is lines.items[3]
    assert finder.words == "4/5"
    steps = [finder.step(by, lines, near) for by in (1, 1, -1, -1)]
    assert [lines.items.index(step.item) for step in steps if step is not None] == [4, 0, 4, 3]
    assert finder.look_for("word 1", lines, near) == finder.at
    assert finder.words == "1/1"
    assert finder.look_for("words", lines, near) is None
    assert finder.step(1, lines, near) is None
    assert finder.words == "nothing found"


def test_finds_that_are_gone_are_no_trap() -> None:
    lines = lines_of(*map(text, range(5)))
    finder = Finder()
    finder.look_for("word", lines, None)
    lines.forget(3, keep_used=False)
    find = finder.step(1, lines, None)
    assert find is not None
    assert find.item is lines.items[0]
    assert finder.words == "1/2"


def test_marks() -> None:
    row = (("ab", Tone.MUTED), ("cd", Tone.PLAIN))
    assert marked(row, [(1, 3)], Tone.MATCH) == (
        ("a", Tone.MUTED),
        ("b", Tone.MATCH),
        ("c", Tone.MATCH),
        ("d", Tone.PLAIN),
    )


@given(st.text(max_size=20), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=4))
def test_marking_changes_no_word(text: str, spans: list[tuple[int, int]]) -> None:
    apart = [span for i, span in enumerate(sorted(spans)) if i == 0 or span[0] >= max(s[1] for s in sorted(spans)[:i])]
    row = ((text[:7], Tone.MUTED), (text[7:], Tone.PLAIN))
    assert joined(marked(row, apart, Tone.MATCH)) == text


def test_the_find_one_is_at_stands_out() -> None:
    lines = lines_of(text(0), text(1))
    finder = Finder()
    finder.look_for("word", lines, None)
    tones = [{tone for part, tone in finder.mark(item, 0) if part == "word"} for item in lines.items]
    assert tones == [{Tone.FOUND}, {Tone.MATCH}]
