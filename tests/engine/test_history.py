"""What a session's own file tells of an earlier run: recorded from the real CLI, damaged, endless, and wrong."""

from __future__ import annotations

import json
import os
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core import events as ev
from supervisor.core.diffs import Diff
from supervisor.core.model import Entry, EntryKind, Outcome, PromptKind
from supervisor.core.past import Stretch
from supervisor.core.transcript import ENTRY_CHARS, TRANSCRIPT_CHARS, Transcript, told
from supervisor.engine.backwards import BLOCK_BYTES, LINE_BYTES, MOST_BYTES, lines_backwards
from supervisor.engine.history import MOST_ENTRIES, load_history
from supervisor.engine.session_lines import Known
from supervisor.engine.stopped import CUT_OFF, WITHDRAWN
from supervisor.engine.translate import api_error

RECORDED = Path(__file__).parents[1] / "recorded/sessions"
(MAIN,) = RECORDED.glob("projects/*/*.jsonl")
SESSION = MAIN.stem


def load(config_dir: Path, *sessions: str | Stretch, known: Known | None = None, **more: Any) -> tuple[Entry, ...]:
    """Read sessions back, oldest first."""
    stretches = [Stretch(session) if isinstance(session, str) else session for session in sessions]
    return load_history(config_dir, stretches, known or Known(), **more)


def brief(entries: tuple[Entry, ...]) -> list[tuple[str, str]]:
    return [(entry.kind.value, entry.text.split("\n")[0][:40]) for entry in entries]


def told_at(at: float, text: str) -> Entry:
    return Entry(0, at, EntryKind.ENDING, text)


def test_what_the_store_tells_stands_where_it_happened() -> None:
    said = load(RECORDED, SESSION)
    middle = (said[5].at + said[6].at) / 2
    told = [told_at(said[0].at - 1, "before it"), told_at(middle, "a turn"), told_at(said[-1].at + 1, "the last turn")]
    found = load(RECORDED, SESSION, told=told)
    texts = [entry.text for entry in found]
    assert texts == ["before it", *(e.text for e in said[:6]), "a turn", *(e.text for e in said[6:]), "the last turn"]
    assert [entry.seq for entry in found] == list(range(-len(found), 0))
    assert [entry.text for entry in load(RECORDED, SESSION, before=said[-1].at, told=told)][-1] != "the last turn"


def test_without_a_file_there_is_what_the_store_tells(tmp_path: Path) -> None:
    told = [told_at(float(at), f"turn {at}") for at in range(MOST_ENTRIES + 10)]
    found = load(tmp_path, SESSION, told=told)
    assert len(found) == MOST_ENTRIES
    assert found[-1].text == told[-1].text


def test_events_become_lines_but_prompts_do_not() -> None:
    turn = ev.TurnEnded("t", 2.0, 1, "u", "success", "completed", False, 3, 0.25)
    events = [
        ev.PromptStored("t", 1.0, 1, "u", PromptKind.TASK, "Do it."),
        turn,
        ev.Verified("t", 3.0, 1, 0, "14 passed"),
        ev.TurnEnded("t", 4.0, 1, "v", "error_during_execution", None, True, 1, 0.1, errors=("it broke", "badly")),
        ev.AttemptEnded("t", 5.0, 1, Outcome.FAILED_RUN, "it broke; badly"),
    ]
    assert [(entry.at, entry.text) for entry in told(events)] == [
        (2.0, "success · completed · 3 turns · $0.25"),
        (3.0, "verify, round 1: passed"),
        (4.0, "error_during_execution · no terminal reason · 1 turn · $0.10"),
        (5.0, "attempt 1 ended"),
    ], "an ending that says the turn's errors again says them once"


def test_a_recorded_session() -> None:
    entries = load(RECORDED, SESSION)
    assert brief(entries) == [
        ("prompt", "Do it."),
        ("text", "I **delegate**."),
        ("tool", "Task look"),
        ("text", "I have looked into it; there is nothing "),
        ("result", "I have looked into it; there is nothing "),
        ("note", "API 529: retry 1/1 in 0.5 s"),
        ("thinking", "Let me see."),
        ("text", "I look."),
        ("tool", "Bash echo hi; exit 3"),
        ("result", "Exit code 3"),
        ("tool", "Write new.txt"),
        ("result", "File created successfully at: new.txt (f"),
        ("tool", "Edit new.txt"),
        ("result", "The file new.txt has been updated succes"),
        ("tool", "Read new.txt"),
        ("result", "1\tone"),
        ("text", "All done."),
    ]
    assert [entry.seq for entry in entries] == list(range(-17, 0))
    assert [entry.text for entry in entries if entry.nested] == ["I have looked into it; there is nothing to add."]
    assert entries[9].is_error
    assert entries[11].diff == Diff("@@ -0,0 +1,2 @@\n+one\n+two", 2, 0)
    assert entries[13].diff == Diff("@@ -1,2 +1,3 @@\n one\n+and a half\n two", 1, 0)
    assert {entry.tool_use_id for entry in entries if entry.kind is EntryKind.TOOL} == {
        entry.tool_use_id for entry in entries if entry.kind is EntryKind.RESULT
    }
    assert all(a.at <= b.at for a, b in pairwise(entries))


def test_prompts_get_their_kind_and_what_was_heard_live_is_left_out() -> None:
    prompt = next(line for line in map(json.loads, MAIN.read_text("utf-8").splitlines()) if line["type"] == "user")
    entries = load(RECORDED, SESSION, known=Known({prompt["uuid"]: PromptKind.TASK}))
    assert entries[0].prompt is PromptKind.TASK
    earlier = load(RECORDED, SESSION, before=entries[9].at)
    assert brief(earlier) == brief(entries[:9])


def test_what_was_added_to_a_prompt_is_kept_apart(tmp_path: Path) -> None:
    text = "hello\n\n---\n\nThe previous turn was cut off: it was interrupted."
    write(tmp_path, [{"type": "user", "uuid": "u", "message": {"content": text}}])
    (found,) = load(tmp_path, "s", known=Known({"u": PromptKind.MESSAGE}))
    assert (found.text, found.detail) == ("hello", "The previous turn was cut off: it was interrupted.")
    (found,) = load(tmp_path, "s", known=Known({"u": PromptKind.VERIFY}))
    assert (found.text, found.detail) == (text, "")


def test_it_fits_before_a_transcript() -> None:
    transcript = Transcript()
    transcript.add(9e9, EntryKind.TEXT, "live")
    history = load(RECORDED, SESSION)
    assert transcript.prepend(history) == 17
    assert transcript.since()[:17] == history


@pytest.mark.parametrize("session", ["", "../..", "no-such-session", "*", "a\0b", "x" * 5000])
def test_a_session_that_is_not_there(session: str) -> None:
    assert load(RECORDED, session) == ()


def write(home: Path, lines: list[Any], session: str = "s") -> Path:
    path = home / f"projects/-x/{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def says(text: object, number: int = 0, **more: object) -> dict[str, Any]:
    stamp = f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}.000Z"
    block = {"type": "text", "text": text}
    return {"type": "assistant", "timestamp": stamp, "message": {"role": "assistant", "content": [block]}, **more}


def test_lines_of_the_cli_itself_are_left_out_and_its_errors_are_notes(tmp_path: Path) -> None:
    write(
        tmp_path,
        [
            {"type": "user", "message": {"content": "caveat"}, "isMeta": True},
            {"type": "user", "message": {"content": "This session is continued"}, "isCompactSummary": True},
            says(
                "No response requested.", message={"model": "<synthetic>", "content": [{"type": "text", "text": "x"}]}
            ),
            says("API Error: 400", isApiErrorMessage=True, error="invalid_request"),
            {
                "type": "system",
                "subtype": "compact_boundary",
                "compactMetadata": {"trigger": "auto", "preTokens": 9000},
            },
            {"type": "system", "subtype": "model_fallback", "fallbackModel": "haiku"},
            {
                "type": "system",
                "subtype": "api_error",
                "error": {},
                "retryAttempt": 2,
                "maxRetries": 4,
                "retryInMs": 8000,
            },
            {"type": "system", "subtype": "never seen"},
            {"type": "user", "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]}},
        ],
    )
    assert [entry.text for entry in load(tmp_path, "s")] == [
        "API error: invalid_request",
        "the conversation was compacted (auto, 9000 tokens before)",
        "the model fell back to haiku",
        "API unreachable: retry 2/4 in 8.0 s",
    ]


def test_damage_is_passed_over(tmp_path: Path) -> None:
    deep = '{"type":"assistant","message":{"content":' + "[" * 100_000 + "]" * 100_000 + "}}"
    lines = [says("first"), "not json", '{"type":"user"', "[]", '"assistant"', deep, says("last")]
    path = write(tmp_path, lines)
    path.write_bytes(path.read_bytes() + b'\xff\xfe"type":"user"\n{"type":"assistant","message":{"cont')
    assert [entry.text for entry in load(tmp_path, "s")] == ["first", "last"]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    ["content", "id", "input", "is_error", "message", "model", "name", "subtype", "text", "thinking", "timestamp",
     "toolUseResult", "tool_use_id", "type", "uuid", "error", "compactMetadata", "isSidechain", "retryInMs"]
)  # fmt: skip
kinds = st.sampled_from(["text", "thinking", "tool_use", "tool_result", "compact_boundary", "api_error", "Edit"])
blocks = st.dictionaries(names, anything | kinds, max_size=6)
messages = st.fixed_dictionaries({"content": anything | st.lists(anything | blocks, max_size=3)})
wild = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system"])},
    optional={
        **dict.fromkeys(["error", "isApiErrorMessage", "retryInMs", "timestamp", "uuid"], anything),
        "message": anything | messages,
        "subtype": anything | kinds,
        "toolUseResult": anything | blocks,
    },
)


@given(lines=st.lists(wild | anything, max_size=8))
def test_no_line_makes_it_raise(lines: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("wild")
    write(home, [*lines, says("still there", 99)])
    entries = load(home, "s")
    assert "still there" in [entry.text for entry in entries]
    assert Transcript().prepend(entries) == len(entries)


def test_only_the_end_is_taken(tmp_path: Path) -> None:
    write(tmp_path, [says(f"word {number}", number) for number in range(1000)])
    entries = load(tmp_path, "s")
    assert [entry.text for entry in entries] == [f"word {number}" for number in range(1000 - MOST_ENTRIES, 1000)]
    write(tmp_path, [says("x" * 50_000, number) for number in range(100)])
    entries = load(tmp_path, "s")
    assert 10 < len(entries) < 30
    assert sum(len(entry.text) for entry in entries) < TRANSCRIPT_CHARS
    assert max(len(entry.text) for entry in entries) == ENTRY_CHARS


def test_what_is_told_goes_no_further_back_than_what_was_said(tmp_path: Path) -> None:
    lines = [says(f"word {number}", number) for number in range(MOST_ENTRIES + 10)]
    write(tmp_path, lines)
    first, last = (load(tmp_path, "s")[place].at for place in (0, -1))
    told = [told_at(first - 1, "not here"), told_at(last + 1, "the last turn")]
    assert [entry.text for entry in load(tmp_path, "s", told=told) if entry.kind is EntryKind.ENDING] == [
        "the last turn"
    ]
    write(tmp_path, lines[:5], "older")
    assert "word 0" not in [entry.text for entry in load(tmp_path, "older", "s", told=told)], "there would be a gap"
    write(tmp_path, [says("x" * 5_000, number) for number in range(100)])
    told = [told_at(first - 1, "not here")]
    assert {entry.kind for entry in load(tmp_path, "s", told=told)} == {EntryKind.TEXT}


def test_sessions_stand_one_after_the_other_each_word_once(tmp_path: Path) -> None:
    write(tmp_path, [says("one", 1), says("two", 2)], "a")
    write(tmp_path, [says("five", 5), says("six", 6)], "c")
    told = [told_at(load(tmp_path, "a")[-1].at + 1, "three"), told_at(load(tmp_path, "c")[0].at - 1, "four")]
    found = load(tmp_path, "a", "gone", "c", told=told)
    assert [entry.text for entry in found] == ["one", "two", "three", "four", "five", "six"]
    assert [entry.seq for entry in found] == list(range(-6, 0))


def test_another_copy_of_what_was_told_already_adds_only_what_is_new(tmp_path: Path) -> None:
    copied = [says("one", 1), says("two", 2)]
    write(tmp_path, [*copied, says("three", 3)], "a")
    write(tmp_path, [*copied, says("five", 5)], "b")
    begun = load(tmp_path, "a")[-1].at + 1
    assert [entry.text for entry in load(tmp_path, "a", Stretch("b", begun))] == ["one", "two", "three", "five"]


def test_an_older_session_comes_first_also_where_its_clock_was_ahead(tmp_path: Path) -> None:
    write(tmp_path, [says("one", 50), says("two", 51)], "a")
    write(tmp_path, [says("three", 10), says("four", 11)], "b")
    assert [entry.text for entry in load(tmp_path, "a", "b")] == ["one", "two", "three", "four"]


REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)
RAN = f"{REFUSED} Correction to the text above: this call was stopped while running, not refused before it ran."


def test_a_call_that_was_stopped_was_refused_by_nobody_but_where_the_operator_did(tmp_path: Path) -> None:
    def returned(ident: str, text: str, failed: bool = True) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": ident, "content": text, "is_error": failed}
        return {"type": "user", "message": {"content": [block]}}

    lines = [returned("a", REFUSED), returned("b", REFUSED), returned("c", RAN), returned("d", REFUSED, failed=False)]
    write(tmp_path, [*lines, returned("e", "Not now.")])
    found = load(tmp_path, "s", known=Known(denied=frozenset("be")))
    assert [entry.text for entry in found] == [WITHDRAWN, REFUSED, CUT_OFF, REFUSED, "Not now."]
    assert [entry.is_error for entry in found] == [True, True, True, False, True]


def test_a_clock_that_was_set_back_changes_no_order(tmp_path: Path) -> None:
    numbers = [50, 51, 10, 11, 12]
    write(
        tmp_path,
        [says(f"word {place}", number) for place, number in enumerate(numbers)] + [says("no time") | {"timestamp": 7}],
    )
    assert [e.text for e in load(tmp_path, "s")] == [*(f"word {place}" for place in range(5)), "no time"]


def test_a_huge_file_is_read_from_its_end(tmp_path: Path) -> None:
    path = write(tmp_path, [])
    with path.open("wb") as file:
        file.truncate(500 * 1024 * 1024)  # nothing on the disk: a file of holes
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + json.dumps(says("the end")).encode() + b"\n")
    tracemalloc.start()
    try:
        assert [entry.text for entry in load(tmp_path, "s")] == ["the end"]
        assert tracemalloc.get_traced_memory()[1] < 8 * LINE_BYTES
    finally:
        tracemalloc.stop()


@given(text=st.binary(max_size=200).map(lambda text: text.replace(b"a", b"\n")), block=st.integers(1, 20))
def test_lines_come_backwards(text: bytes, block: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("supervisor.engine.backwards.BLOCK_BYTES", block)
        told = list(lines_backwards(path))
    assert [line for line in told if line] == [line for line in reversed(text.split(b"\n")) if line]


def test_lines_over_blocks_and_beyond_all_sense(tmp_path: Path) -> None:
    path = tmp_path / "f"
    long, endless = b"a" * (BLOCK_BYTES * 3 + 5), b"b" * (LINE_BYTES + 10)
    path.write_bytes(b"\n".join([b"first", long, endless, b"last"]))
    assert [len(line) for line in lines_backwards(path)] == [4, len(long), 5]
    path.write_bytes(endless)
    assert list(lines_backwards(path)) == []
    path.write_bytes(b"x" * 10 + b"\n" + (b"y" * 1023 + b"\n") * (MOST_BYTES // 1024))
    assert b"x" * 10 not in list(lines_backwards(path))


@pytest.mark.parametrize(
    ("kind", "words"), [("unknown", "API error"), (None, "API error"), ("rate_limit", "API error: rate_limit")]
)
def test_a_kind_of_error_that_tells_nothing_is_left_out(kind: object, words: str) -> None:
    assert api_error(kind) == words
