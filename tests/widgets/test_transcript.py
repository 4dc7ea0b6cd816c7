"""Transcripts as lines: what entries look like, wrapping, folding, and the bounded list that grows at both ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from supervisor.core.model import Entry, EntryKind
from tests.screens.scenes import HOSTILE
from widgets.cells import Cell, joined, width_of
from widgets.transcript_layout import PROMPT_LINES, lay_out, wrap
from widgets.transcript_lines import MAX_LINES, TranscriptLines

KINDS = list(EntryKind)


def entry(kind: EntryKind, text: str, seq: int = 0, **more: object) -> Entry:
    return Entry(seq, more.pop("at", 0.0), kind, text, **more)  # type: ignore[arg-type]


def words(lines: list[Cell]) -> list[str]:
    return [joined(line).rstrip() for line in lines]


def shown(kind: EntryKind, text: str, width: int = 40, **more: object) -> list[str]:
    return words(lay_out(entry(kind, text, 0, **more), width))


def test_speech_is_led_and_indented() -> None:
    assert shown(EntryKind.TEXT, "one two three four", 12) == ["› one two", "  three four"]


def test_blank_lines_are_squeezed_in_speech_and_dropped_in_prompts() -> None:
    assert shown(EntryKind.TEXT, "a\n\n\n\nb") == ["› a", "", "  b"]
    assert shown(EntryKind.PROMPT, "a\n\n\n\n- b") == ["» a", "  - b"]


def test_paragraphs_of_prompts_are_wrapped_for_this_width_and_lists_stay() -> None:
    assert shown(EntryKind.PROMPT, "one two\nthree\n\n- four\n- five\n    six", 20) == [
        "» one two three",
        "  - four",
        "  - five",
        "      six",
    ]


def test_long_prompts_are_folded() -> None:
    lines = shown(EntryKind.PROMPT, "\n".join(str(i) for i in range(40)))
    assert len(lines) == PROMPT_LINES
    assert lines[-1] == "  … 35 more lines"


def test_thinking_is_one_line() -> None:
    assert shown(EntryKind.THINKING, "hm\nwell") == ["~ hm⏎well"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Bash pytest -q", "$ pytest -q"),
        ("Edit a b.py", "✎ a b.py"),
        ("Read a.py", "◦ Read a.py"),
        ("Bash", "$ Bash"),
        ("mcp__effects__deploy", "◦ mcp__effects__deploy"),
    ],
)
def test_a_call_is_one_line_with_a_sign(text: str, line: str) -> None:
    assert shown(EntryKind.TOOL, text) == [line]


def test_the_ending_is_a_rule_with_its_errors_below() -> None:
    lines = shown(EntryKind.ENDING, "success · 4 turns", 30, detail="one\ntwo", is_error=True)
    assert lines == ["── success · 4 turns ─────────", "   one", "   two"]


def test_notes_that_are_errors_carry_a_sign() -> None:
    assert shown(EntryKind.NOTE, "compacted") == ["· compacted"]
    assert shown(EntryKind.NOTE, "verify failed", is_error=True, detail="E 1\n") == ["! verify failed", "  E 1"]


def test_nested_entries_stand_behind_a_line() -> None:
    assert shown(EntryKind.TEXT, "found it", nested=True) == ["  │ › found it"]


texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=200))


@given(kind=st.sampled_from(KINDS), text=texts, detail=texts, nested=st.booleans(), width=st.integers(12, 100))
def test_no_line_is_wider_than_the_view_or_controls_it(
    kind: EntryKind, text: str, detail: str, nested: bool, width: int
) -> None:
    for line in lay_out(entry(kind, text, detail=detail, nested=nested, is_error=nested), width):
        assert width_of(line) <= width
        assert not set(joined(line)) & set("\x1b\x07\x00\x9b\u202e\n\r\t\ud83d\u2028")


@given(text=st.text(alphabet="ab 修é🏷\u0301", max_size=120), width=st.integers(2, 30))
def test_wrapping_loses_nothing_but_blanks(text: str, width: int) -> None:
    lines = wrap([text], width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(line) <= width for line in lines)


def test_wrapping_breaks_at_blanks_and_keeps_indents() -> None:
    assert wrap(["    return total"], 20) == ["    return total"]
    assert wrap(["    return total"], 12) == ["    return", "total"]
    assert wrap(["ab修复 cd"], 6) == ["ab修复", "cd"]
    assert wrap(["修复修复"], 4) == ["修复", "修复"]
    assert wrap([""], 4) == [""]


def conversation(count: int) -> list[Entry]:
    return [entry(EntryKind.TEXT, f"line {number} " + "x" * 100, number) for number in range(count)]


def test_results_go_on_the_line_of_their_call() -> None:
    lines = TranscriptLines(60)
    lines.append([entry(EntryKind.TOOL, "Bash pytest -q", 0, tool_use_id="a")])
    lines.append([entry(EntryKind.TOOL, "Read b.py", 1, tool_use_id="b")])
    changed = lines.append([entry(EntryKind.RESULT, "14 passed\nin 0.3 s", 2, at=1.2, tool_use_id="a")])
    assert changed == [0]
    assert words(lines.lines) == ["$ pytest -q   ✓ 14 passed  +1 line  1.2 s", "◦ Read b.py"]


def test_rules_and_the_words_of_edits_are_left_out() -> None:
    lines = TranscriptLines(60)
    lines.append([entry(EntryKind.TOOL, "Bash x", 0, tool_use_id="a")])
    lines.append([entry(EntryKind.TOOL, "Edit b", 1, tool_use_id="b")])
    lines.append([entry(EntryKind.RESULT, "------\nRan 3 tests\n\nOK", 2, tool_use_id="a")])
    lines.append([entry(EntryKind.RESULT, "The file b has been updated.", 3, tool_use_id="b")])
    assert words(lines.lines) == ["$ x   ✓ Ran 3 tests  +1 line", "✎ b   ✓"]


def test_a_result_that_is_an_error_is_told_below() -> None:
    lines = TranscriptLines(60)
    lines.append([entry(EntryKind.TOOL, "Bash pytest", 0, tool_use_id="a")])
    lines.append([entry(EntryKind.RESULT, "F.\nE 1\nE 2\nE 3", 1, tool_use_id="a", is_error=True)])
    assert words(lines.lines) == ["$ pytest   ✗", "  F.", "  E 1", "  … 2 more lines"]


def test_a_result_without_its_call_stands_alone() -> None:
    lines = TranscriptLines(60)
    lines.append([entry(EntryKind.RESULT, "fine", 7, tool_use_id="gone")])
    assert words(lines.lines) == ["✓ fine"]


def test_only_the_tail_is_laid_out_at_first_and_the_rest_on_demand() -> None:
    entries = conversation(1000)
    lines = TranscriptLines(80)
    lines.begin(entries)
    at_first = len(lines.lines)
    assert at_first < 200
    while lines.has_older:
        lines.load_older()
    at_once = TranscriptLines(80)
    at_once.append(entries)
    assert lines.lines == at_once.lines
    assert lines.first_number == at_first - len(lines.lines)
    assert lines.owner(0) == 0


def test_a_page_does_not_part_a_result_from_its_call() -> None:
    entries = conversation(300)
    entries[200] = entry(EntryKind.TOOL, "Bash x", 200, tool_use_id="a")
    for number in range(201, 300):
        entries[number] = entry(EntryKind.RESULT, "y" * 400, number, tool_use_id="a")
    lines = TranscriptLines(80)
    lines.begin(entries)
    assert words(lines.lines)[0].startswith("$ x")


def test_lines_are_bounded_and_numbers_stay() -> None:
    lines = TranscriptLines(80)
    number = 0
    for part in range(20):
        lines.append(conversation(1000)[part * 50 : part * 50 + 50] * 10)
        number += lines.trim()
    assert len(lines.lines) <= MAX_LINES
    assert lines.first_number == number > 0
    assert len(lines._entries) <= MAX_LINES


def test_another_width_lays_out_the_same_entries() -> None:
    lines = TranscriptLines(80)
    lines.begin(conversation(1000))
    narrow = lines.reflowed(30)
    assert narrow.next_seq == lines.next_seq
    assert narrow.has_older == lines.has_older
    assert narrow.owner(0) == lines.owner(0)
    assert len(narrow.lines) > len(lines.lines)
    assert narrow.reflowed(80).lines == lines.lines
