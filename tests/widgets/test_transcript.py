"""Entries as rows: what each kind looks like, folded and not, and that nothing is ever wider than the view."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.diffs import Diff, of_result
from supervisor.core.model import EntryKind, PromptKind
from tests.screens.scenes import HOSTILE
from tests.widgets.entries import call, entry, result, words
from widgets.cells import Tone, joined, width_of
from widgets.transcript_layout import PROMPT_ROWS, lay_out, opens_by_itself
from widgets.transcript_wrap import MOST_ROWS

PATCH = [" a", "-b", "+c", "+d", " e"]
HUNK = {"oldStart": 9, "oldLines": 3, "newStart": 9, "newLines": 4, "lines": PATCH}
DIFF = of_result({"filePath": "x.py", "structuredPatch": [HUNK]})
LONG = Diff("@@\n" + "\n".join(f"+line {i}" for i in range(20)), 20, 0)


def shown(kind: EntryKind, text: str, width: int = 40, *, is_open: bool = True, **more: object) -> list[str]:
    return words(lay_out(entry(kind, text, 0, **more), None, width, is_open))


def folded(kind: EntryKind, text: str, width: int = 40, **more: object) -> list[str]:
    return shown(kind, text, width, is_open=False, **more)


def called(words_: str, came: str | None = None, *, is_open: bool = False, width: int = 60, **more: Any) -> list[str]:
    tool = call(0, words_, detail=more.pop("detail", ""), diff=more.pop("diff", None))
    came_of_it = None if came is None else result(1, came, **more)
    return words(lay_out(tool, came_of_it, width, is_open))


def test_speech_is_led_indented_and_folds_to_its_first_row() -> None:
    assert shown(EntryKind.TEXT, "one two three four", 12) == ["› one two", "  three four"]
    assert folded(EntryKind.TEXT, "one\ntwo\nthree") == ["› one   +2 lines"]
    assert folded(EntryKind.TEXT, "one") == ["› one"]


def test_blank_lines_are_squeezed_in_speech_and_dropped_in_prompts() -> None:
    assert shown(EntryKind.TEXT, "a\n\n\n\nb") == ["› a", "", "  b"]
    assert shown(EntryKind.PROMPT, "a\n\n\n\n- b") == ["» a", "  - b"]


@pytest.mark.parametrize(
    ("kind", "who"),
    [
        (PromptKind.TASK, "task · "),
        (PromptKind.CONTINUE, "continue · "),
        (PromptKind.VERIFY, "verify · "),
        (PromptKind.MESSAGE, "you · "),
        (None, ""),
    ],
)
def test_prompts_say_whose_they_are(kind: PromptKind | None, who: str) -> None:
    assert shown(EntryKind.PROMPT, "Do it.", prompt=kind) == [f"» {who}Do it."]


def test_paragraphs_of_prompts_are_wrapped_for_this_width_and_lists_stay() -> None:
    assert shown(EntryKind.PROMPT, "one two\nthree\n\n- four\n- five\n    six", 20) == [
        "» one two three",
        "  - four",
        "  - five",
        "      six",
    ]


def test_long_prompts_are_folded() -> None:
    text = "\n".join(str(i) for i in range(40))
    assert len(folded(EntryKind.PROMPT, text)) == PROMPT_ROWS
    assert folded(EntryKind.PROMPT, text)[-1] == "  … 35 more lines"
    assert len(shown(EntryKind.PROMPT, text)) == 40


def test_what_the_supervisor_added_does_not_stand_among_the_operators_words() -> None:
    added = "The previous turn was cut off: it was interrupted.\n\nEffects:\n- deploy: done"
    mine: dict[str, Any] = {"prompt": PromptKind.MESSAGE, "detail": added}
    mark = "  · added by the supervisor: The previous turn was cut off…   +2 lines"
    assert folded(EntryKind.PROMPT, "hello", width=70, **mine) == ["» you · hello", mark]
    long = "\n".join(f"- case {n}" for n in range(20))
    assert folded(EntryKind.PROMPT, long, width=70, **mine)[-2:] == ["  … 15 more lines", mark]
    assert shown(EntryKind.PROMPT, "hello", width=70, **mine) == [
        "» you · hello",
        "  · added by the supervisor:",
        "    The previous turn was cut off: it was interrupted.",
        "",
        "    Effects:",
        "    - deploy: done",
    ]


def test_a_message_that_waits_says_so_and_is_folded_as_a_prompt() -> None:
    assert shown(EntryKind.PENDING, "Use semicolons.", 60) == ["◌ you, not given yet · Use semicolons."]
    text = "\n".join(str(i) for i in range(40))
    assert folded(EntryKind.PENDING, text)[0] == "◌ you, not given yet · 0"
    assert folded(EntryKind.PENDING, text)[-1] == "  … 35 more lines"
    assert len(shown(EntryKind.PENDING, text)) == 40


def test_thinking_is_one_row_until_it_is_unfolded() -> None:
    text = "one two three\nfour five\nsix"
    assert folded(EntryKind.THINKING, text, 60) == ["~ thinking, 3 lines  one two three four five six"]
    assert shown(EntryKind.THINKING, text) == ["~ one two three", "  four five", "  six"]
    assert folded(EntryKind.THINKING, "Hm.") == ["~ Hm."]
    assert folded(EntryKind.THINKING, "") == ["~ thinking"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Bash pytest -q", "$ pytest -q"),
        ("Edit a b.py", "✎ a b.py"),
        ("Read a.py", "◦ Read a.py"),
        ("Bash", "$ Bash"),
        ("mcp__effects__deploy", "◦ effect deploy"),
    ],
)
def test_a_call_is_one_row_with_a_sign(text: str, line: str) -> None:
    assert called(text) == [line]


@pytest.mark.parametrize(
    ("text", "came", "line"),
    [
        ("Bash pytest -q", "14 passed\nin 0.3 s", "$ pytest -q   ✓ 14 passed  +1 line  1.2 s"),
        ("Bash x", "------\nRan 3 tests\n\nOK", "$ x   ✓ Ran 3 tests  +1 line  1.2 s"),
        ("Bash true", "", "$ true   ✓ exit 0  1.2 s"),
        ("Edit b", "The file b has been updated.", "✎ b   ✓  1.2 s"),
        ("Read b", "1\tone\n2\ttwo", "◦ Read b   ✓ 2 lines  1.2 s"),
        ("Grep b", "Found 3 files", "◦ Grep b   ✓ Found 3 files  1.2 s"),
    ],
)
def test_what_came_of_a_call_is_on_its_row(text: str, came: str, line: str) -> None:
    assert called(text, came, at=1.2) == [line]


def test_a_failure_shows_the_end_of_its_output() -> None:
    came = "Exit code 1\nF.\nE 1\nE 2\n1 failed"
    assert called("Bash pytest", came, is_error=True) == [
        "$ pytest   ✗ exit 1",
        "  … 2 more lines",
        "  E 2",
        "  1 failed",
    ]
    assert called("Bash pytest", "no", is_error=True) == ["$ pytest   ✗", "  no"]


def test_an_unfolded_call_shows_its_input_and_all_of_its_output() -> None:
    detail = '{"command": "a\\nb", "description": "Run it", "timeout": 5}'
    assert called("Bash a", "one\n\ntwo", is_open=True, detail=detail) == [
        "$ a   ✓ one  +1 line",
        "  command: a",
        "    b",
        "  description: Run it",
        "  timeout: 5",
        "  one",
        "",
        "  two",
    ]
    assert called("Bash a", is_open=True, detail='{"command": "a"}') == ["$ a"]
    assert called("Bash a", is_open=True, detail="[cut") == ["$ a", "  [cut"]


def test_edits_are_diffs_with_signs_and_line_numbers() -> None:
    rows = called("Edit x.py", "updated", is_open=True, diff=DIFF)
    assert rows == ["✎ x.py +2 −1   ✓", "   9   a", "  10 - b", "  10 + c", "  11 + d", "  12   e"]
    tones = {joined(row).strip(): row[-1][1] for row in lay_out(call(0, "Edit x", diff=DIFF), None, 60, is_open=True)}
    assert tones["10 - b"] is Tone.REMOVED
    assert tones["10 + c"] is Tone.ADDED


def test_what_an_edit_did_replaces_what_it_was_to_do() -> None:
    tool = call(0, "Write x.py", diff=LONG)
    assert words(lay_out(tool, None, 40, is_open=False)) == ["✎ x.py +20"]
    assert not opens_by_itself(tool, None)
    assert words(lay_out(tool, result(1, diff=DIFF), 40, is_open=False)) == ["✎ x.py +2 −1   ✓"]
    assert opens_by_itself(tool, result(1, diff=DIFF))
    assert not opens_by_itself(tool, result(1, "no", is_error=True, diff=DIFF))


def test_hunks_are_parted_and_what_was_cut_is_counted() -> None:
    two = Diff("@@ -1,1 +1,1 @@\n-a\n+b\n@@ -90,1 +90,1 @@\n+c", 12, 1)
    assert called("Edit x", is_open=True, diff=two)[1:] == [
        "   1 - a",
        "   1 + b",
        "     ⋯",
        "  90 + c",
        "     … 10 more changed lines",
    ]


def test_the_ending_is_a_rule_with_its_errors_below() -> None:
    rows = shown(EntryKind.ENDING, "success · 4 turns", 30, detail="one\ntwo", is_error=True)
    assert rows == ["── success · 4 turns ─────────", "  one", "  two"]


def test_notes_that_are_errors_carry_a_sign() -> None:
    assert folded(EntryKind.NOTE, "compacted") == ["· compacted"]
    assert folded(EntryKind.NOTE, "verify failed", is_error=True, detail="E 1\n") == ["! verify failed", "  E 1"]
    assert shown(EntryKind.NOTE, "ended", detail="1\n2\n3\n4\n5") == ["· ended", *(f"  {i}" for i in range(1, 6))]


def test_nested_entries_stand_behind_a_line() -> None:
    assert shown(EntryKind.TEXT, "found it", nested=True) == ["  │ › found it"]


def test_a_result_without_its_call_stands_alone() -> None:
    assert folded(EntryKind.RESULT, "fine\nand more") == ["✓ fine   +1 line"]
    assert folded(EntryKind.RESULT, "fine") == ["✓ fine"]
    assert shown(EntryKind.RESULT, "a\nb", is_error=True) == ["✗ a", "  b"]


def test_endless_text_ends() -> None:
    rows = shown(EntryKind.TEXT, "x\n" * 5000)
    assert len(rows) == MOST_ROWS
    assert rows[-1].endswith("more lines")


texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=200), st.text(alphabet="`*#->| \nab1.修🏷", max_size=80))
diffs = st.none() | st.builds(Diff, texts, st.integers(0, 50), st.integers(0, 50))


@given(
    kind=st.sampled_from(EntryKind),
    text=texts,
    detail=texts,
    came=st.none() | texts,
    diff=diffs,
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    prompt=st.none() | st.sampled_from(PromptKind),
    width=st.integers(2, 100),
)
def test_no_row_is_wider_than_the_view_or_controls_it(
    kind: EntryKind,
    text: str,
    detail: str,
    came: str | None,
    diff: Diff | None,
    flags: tuple[bool, bool, bool],
    prompt: PromptKind | None,
    width: int,
) -> None:
    nested, is_error, is_open = flags
    tool = entry(kind, text, detail=detail, nested=nested, is_error=is_error, diff=diff, prompt=prompt)
    came_of_it = None if came is None else result(1, came, is_error=is_error)
    rows = lay_out(tool, came_of_it, width, is_open)
    assert rows
    for row in rows:
        assert width_of(row) <= width
        assert not set(joined(row)) & set("\x1b\x07\x00\x9b\u202e\n\r\t\ud83d\u2028")
