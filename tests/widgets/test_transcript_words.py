"""Wrapping, the little Markdown there is, and plain text for other programs."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from supervisor.core.diffs import Diff
from supervisor.core.model import EntryKind, PromptKind
from tests.screens.scenes import HOSTILE
from tests.widgets.entries import call, entry, pending, result, words
from widgets.cells import Tone, joined
from widgets.transcript_markdown import inline, render
from widgets.transcript_plain import plain, plain_transcript
from widgets.transcript_wrap import cut, flow, wrap


@given(text=st.text(alphabet="ab 修é🏷\u0301", max_size=120), width=st.integers(2, 30))
def test_wrapping_loses_nothing_but_blanks(text: str, width: int) -> None:
    rows = wrap([text], width)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(row) <= width for row in rows)


def test_wrapping_breaks_at_blanks_and_keeps_indents() -> None:
    assert wrap(["    return total"], 20) == ["    return total"]
    assert wrap(["    return total"], 12) == ["    return", "total"]
    assert wrap(["ab修复 cd"], 6) == ["ab修复", "cd"]
    assert wrap(["修复修复"], 4) == ["修复", "修复"]
    assert wrap([""], 4) == [""]
    assert wrap(["שלום עולם"], 5) == ["שלום", "עולם"]


@given(st.lists(st.text(alphabet="ab c", min_size=1), min_size=1), st.data())
def test_cutting_keeps_the_tones(parts: list[str], data: st.DataObject) -> None:
    cell = tuple((part, list(Tone)[i % 5]) for i, part in enumerate(parts))
    start = data.draw(st.integers(0, len(joined(cell))))
    end = data.draw(st.integers(start, len(joined(cell))))
    assert joined(cut(cell, start, end)) == joined(cell)[start:end]


def rendered(text: str, width: int = 20) -> list[str]:
    return words([row for line in render(text.split("\n"), width) for row in flow(line, width)])


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("# One **two** #", ["One two"]),
        ("- one two three four five", ["• one two three four", "  five"]),
        ("10. one two three four five", ["10. one two three", "    four five"]),
        ("> > said", ["│ │ said"]),
        ("---", ["─" * 20]),
        ("```py\n**x**\n\n\n    y\n```\nz", ["  **x**", "", "", "      y", "z"]),
        ("~~~\n```\nx", ["  ```", "  x"]),
        ("#hash -dash 1.2", ["#hash -dash 1.2"]),
        ("| a | **b** |", ["| a | b |"]),
        ("    four blanks go on and on", ["    four blanks go", "    on and on"]),
        ("# ", ["#"]),
    ],
)
def test_blocks(text: str, rows: list[str]) -> None:
    assert rendered(text) == rows


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a **b c** d", ["a ", "b c:strong", " d"]),
        ("use `x*y` now", ["use ", "x*y:code", " now"]),
        ("``a`b``", ["a`b:code"]),
        ("**a `b` c**", ["a :strong", "b:code", " c:strong"]),
        ("**修复**了", ["修复:strong", "了"]),
        ("2 ** 3 and a**2 + b**3", ["2 ** 3 and a**2 + b**3"]),
        ("__init__.py *args [a](b) <b>", ["__init__.py *args [a](b) <b>"]),
        ("**open and `open", ["**open and `open"]),
    ],
)
def test_inline(text: str, pieces: list[str]) -> None:
    found = [text if tone is Tone.PLAIN else f"{text}:{tone.value}" for text, tone in inline(text)]
    assert found == pieces


@given(st.text(alphabet="`*a \n#->", max_size=300))
def test_markdown_only_takes_away_its_signs(text: str) -> None:
    def letters(text: str) -> str:
        return "".join(char for char in text if char == "a")

    assert letters("".join(rendered(text, 10))) == letters(text) or "```" in text or "~~~" in text


def test_hostile_markdown_takes_no_time() -> None:
    began = time.process_time()
    for text in ("**a " * 5000, "`" * 20_000, " `" * 10_000, "# " + "# " * 10_000, "- " * 10_000, "> " * 10_000):
        rendered(text, 80)
    assert time.process_time() - began < 2


def test_plain_is_what_was_written() -> None:
    assert plain(entry(EntryKind.TEXT, "# **a**\n\x1b[2J"), None) == "# **a**\n␛[2J"
    diff = Diff("@@\n-a\n+b", 1, 1)
    assert plain(call(0, "Edit x.py", diff=diff), result(1, "updated")) == "✎ x.py\n@@\n-a\n+b"
    command = call(0, "Bash a", detail='{"command": "a\\nb"}')
    assert plain(command, result(1, "out", is_error=True)) == "$ a\ncommand: a\n  b\nout"


def test_plain_tells_what_the_supervisor_added() -> None:
    made = entry(EntryKind.PROMPT, "hello", detail="Effects:\n- deploy: done", prompt=PromptKind.MESSAGE)
    assert plain(made, None) == "hello\n(added by the supervisor:)\nEffects:\n- deploy: done"


def test_a_plain_transcript_has_times_and_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    said = entry(EntryKind.TEXT, "one\ntwo", at=3661.0, nested=True)
    asked = entry(EntryKind.PROMPT, "Do it.", prompt=PromptKind.VERIFY)
    assert plain_transcript([(asked, None), (said, None)]) == (
        "00:00:00  » verify: Do it.\n\n01:01:01      › one\n    two\n"
    )


def test_a_plain_transcript_ends_with_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert plain_transcript([(pending("Mind it."), None)]) == "00:00:00  ◌ not given yet, message: Mind it.\n"


@given(st.sampled_from(HOSTILE), st.sampled_from(EntryKind))
def test_plain_text_controls_no_terminal(text: str, kind: EntryKind) -> None:
    made = plain_transcript([(entry(kind, text, detail=text), result(1, text, is_error=True))])
    assert not set(made) & set("\x1b\x07\x00\x9b\u202e\r\t\ud83d\u2028")
