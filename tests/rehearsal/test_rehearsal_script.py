"""Steps, and where a conversation stands in them. Pure."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.rehearsal.script import (
    CLOSING,
    DEFAULT_STEPS,
    ScriptError,
    faults,
    locate,
    next_step,
    owner_of,
    parse_steps,
    summary,
    wants_summary,
)
from supervisor.rehearsal.steps import Step, tool_use_id
from supervisor.rehearsal.wire import content

TICKET = "001-rounding"

NOISE: list[dict[str, Any]] = [
    {"role": "user", "content": "continue"},
    {"role": "user", "content": [{"type": "text", "text": "done 1"}]},
    {"role": "assistant", "content": "No response requested."},
    {"role": "assistant", "content": [{"type": "text", "text": CLOSING}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_0123", "name": "Bash", "input": {}}]},
    {"role": "system", "content": [{"type": "text", "text": "Today is a good day."}]},
]

raw_steps = st.lists(st.sampled_from(["text", "tool", "tools", "status", "drop"]), max_size=8).map(
    lambda kinds: [raw_step(kind, place) for place, kind in enumerate(kinds)]
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["role", "content", "text", "id", "x"]), inner),
)


def raw_step(kind: str, place: int) -> dict[str, Any]:
    call = {"name": "Bash", "input": {"command": "ls"}}
    return {
        "text": {"text": f"done {place}"},
        "tool": {"tool": "Bash", "input": {"command": "ls"}},
        "tools": {"text": "both", "tools": [call, call]},
        "status": {"status": 529},
        "drop": {"drop": True, "text": "half"},
    }[kind]


def spoken(steps: tuple[Step, ...], ticket: str = TICKET) -> list[dict[str, Any]]:
    """What a conversation holds after these steps."""
    told = [(i, step) for i, step in enumerate(steps) if step.outage is None]
    return [{"role": "assistant", "content": content(step, ticket, i)} for i, step in told]


def test_every_key_is_read() -> None:
    step = parse_steps(
        [
            {
                "thinking": "hm",
                "text": "go",
                "tools": [{"name": "Read", "input": {"file_path": "a"}}, {"name": "Glob"}],
                "usage": {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4},
                "delay_s": 1,
                "chunk_s": 0.5,
                "headers": {"x-more": "1"},
            }
        ]
    )[0]
    assert [call.name for call in step.calls] == ["Read", "Glob"]
    assert (step.thinking, step.text, step.delay_s, step.chunk_s, step.outage) == ("hm", "go", 1.0, 0.5, None)
    assert list(step.usage.wire().values()) == [1, 2, 3, 4]
    assert step.headers == {"x-more": "1"}


def test_outages_are_read() -> None:
    error, drop, endless = parse_steps(
        [{"status": 529, "times": -1, "retry_after": 2, "text": "busy"}, {"drop": True, "times": 3}, {"endless": True}]
    )
    assert error.outage is not None
    assert (error.outage.error_type, error.outage.retry_after, error.text) == ("overloaded_error", 2, "busy")
    assert not error.outage.is_over(10**6)
    assert drop.outage is not None
    assert [drop.outage.is_over(n) for n in (2, 3)] == [False, True]
    assert endless.outage is not None
    assert endless.outage.times == 1


def test_size_pads_the_text() -> None:
    short, long = parse_steps([{"text": "a", "size": 1000}, {"text": "b" * 50, "size": 10}])
    assert len(short.text) == 1000
    assert "\n" not in short.text
    assert long.text == "b" * 50


@pytest.mark.parametrize(
    ("raw", "key", "words"),
    [
        ({"txt": "a"}, "txt", 'did you mean "text"?'),
        ({"text": "a", "zzz": 1}, "zzz", "known keys are"),
        ({"text": 3}, "text", "text that is not blank"),
        ({"text": "  "}, "text", "text that is not blank"),
        ({"tool": "Bash", "input": "ls"}, "input", "must be a table"),
        ({"text": "a", "input": {}}, "input", "nothing without tool"),
        ({"tool": "Bash", "input": {"when": date(2026, 1, 5)}}, "input", "what JSON knows"),
        ({"tools": [{"name": "Bash", "input": {"n": [float("inf")]}}]}, "tools[0].input", "what JSON knows"),
        ({"tools": []}, "tools", "array of tables"),
        ({"tools": [{"nam": "Bash"}]}, "tools[0].nam", 'did you mean "name"?'),
        ({"tools": [{"input": {}}]}, "tools[0].name", "is missing"),
        ({"tool": "Bash", "tools": [{"name": "Read"}]}, "tools", "cannot stand beside tool"),
        ({"text": "a", "usage": {"inputs": 1}}, "usage.inputs", 'did you mean "input"?'),
        ({"text": "a", "usage": {"input": -1}}, "usage.input", "whole number"),
        ({"text": "a", "usage": {"input": True}}, "usage.input", "whole number"),
        ({"text": "a", "delay_s": -0.1}, "delay_s", "number of seconds"),
        ({"text": "a", "delay_s": float("nan")}, "delay_s", "number of seconds"),
        ({"text": "a", "chunk_s": "1"}, "chunk_s", "number of seconds"),
        ({"size": 0}, "size", "whole number"),
        ({"status": 200}, "status", "whole number"),
        ({"status": 529, "times": 0}, "times", "1 or more, or -1"),
        ({"text": "a", "times": 2}, "times", "nothing without"),
        ({"text": "a", "retry_after": 2}, "retry_after", "nothing without status"),
        ({"status": 529, "tool": "Bash"}, "tool", "cannot stand beside status"),
        ({"status": 529, "drop": True}, "drop", "cannot stand beside status"),
        ({"drop": True, "tool": "Bash"}, "tool", "cannot stand beside drop"),
        ({"drop": "yes"}, "drop", "true or false"),
        ({"text": "a", "headers": {"x": 1}}, "headers.x", "one line of ASCII"),
        ({"text": "a", "headers": {"x": "a\r\nset: b"}}, "headers.x", "one line of ASCII"),
        ({"text": "a", "headers": {"x y": "1"}}, "headers.x y", "not a header name"),
        ({"thinking": "only"}, "", "needs text, a tool, or an outage"),
        ({}, "", "needs text, a tool, or an outage"),
    ],
)
def test_a_fault_names_its_key(raw: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ScriptError, match="step 2") as caught:
        parse_steps([{"text": "fine"}, raw])
    assert (caught.value.index, caught.value.key) == (1, key)
    assert words in caught.value.message


def test_all_faults_come_in_one_pass() -> None:
    found = faults([{"txt": "a", "delay_s": "x"}, "no table", {"text": "ok"}, {"status": 1}])
    assert [(fault.index, fault.key) for fault in found] == [(0, "txt"), (0, "delay_s"), (1, ""), (3, "status")]
    assert faults("text")[0].message.startswith("rehearsal must be")
    assert faults({"text": "a"})[0].message.startswith("rehearsal must be")


def test_words_that_mark_a_step_must_be_its_own() -> None:
    assert [fault.index for fault in faults([{"text": "done"}, {"text": " done "}])] == [1]
    assert [fault.index for fault in faults([{"text": "done", "tool": "Bash"}, {"text": "done"}])] == [1]
    assert [fault.index for fault in faults([{"text": "done"}, {"text": "done", "tool": "Bash"}])] == [1]
    assert faults([{"text": "done", "tool": "Bash"}, {"text": "done", "tool": "Bash"}]) == []
    assert faults([{"text": "busy", "status": 529}, {"text": "busy", "status": 529}]) == []


@given(raw=raw_steps, data=st.data())
def test_the_next_step_is_the_one_after_the_highest_mark(raw: list[dict[str, Any]], data: st.DataObject) -> None:
    steps = parse_steps(raw)
    done = data.draw(st.integers(0, len(steps)))
    said = spoken(steps[:done])
    kept = said[-1:] + data.draw(st.lists(st.sampled_from(said))) if said else []
    messages = data.draw(st.permutations(kept + data.draw(st.lists(st.sampled_from(NOISE)))))
    last = max((i for i in range(done) if steps[i].outage is None), default=-1)
    assert locate(steps, TICKET, messages) == last + 1


@given(raw=raw_steps, data=st.data())
def test_outages_that_are_over_are_passed(raw: list[dict[str, Any]], data: st.DataObject) -> None:
    steps = parse_steps(raw)
    served = data.draw(st.lists(st.integers(0, 2), min_size=len(steps), max_size=len(steps)))
    found = next_step(steps, TICKET, [], served.__getitem__)
    passed = steps[:found]
    assert all(step.outage and step.outage.is_over(n) for step, n in zip(passed, served, strict=False))
    if found < len(steps):
        assert steps[found].outage is None or served[found] == 0


def test_a_tool_result_alone_is_a_mark() -> None:
    steps = parse_steps([raw_step("tools", 0), raw_step("text", 1)])
    result = {"type": "tool_result", "tool_use_id": tool_use_id(TICKET, 0, 1), "content": "ok"}
    assert locate(steps, TICKET, [{"role": "user", "content": [result]}]) == 1


def test_marks_of_another_ticket_do_not_count() -> None:
    steps = parse_steps([raw_step("tool", 0), raw_step("tool", 1)])
    assert locate(steps, TICKET, spoken(steps, "002-search")) == 0


def test_what_the_user_says_is_no_mark() -> None:
    steps = parse_steps([raw_step("text", 0)])
    assert locate(steps, TICKET, [{"role": "user", "content": "done 0"}]) == 0


@given(raw=raw_steps.filter(bool), data=st.data())
def test_a_summary_carries_the_place_on(raw: list[dict[str, Any]], data: st.DataObject) -> None:
    steps = parse_steps(raw)
    messages = spoken(steps[: data.draw(st.integers(0, len(steps)))])
    written = summary(steps, TICKET, messages)
    compacted = [{"role": "user", "content": [{"type": "text", "text": f"This session continues.\n{written}"}]}]
    assert locate(steps, TICKET, compacted) == locate(steps, TICKET, messages)


def test_only_the_last_message_asks_for_a_summary() -> None:
    asks = {"role": "user", "content": "REMINDER: Do NOT call any tools. ... followed by a <summary> block."}
    assert wants_summary([NOISE[0], asks])
    assert not wants_summary([asks, NOISE[0]])


@given(json_values)
def test_no_json_breaks_the_search(messages: Any) -> None:
    steps = parse_steps([raw_step("text", 0), raw_step("tool", 1)])
    assert 0 <= locate(steps, TICKET, messages) <= 2
    assert wants_summary(messages) in (True, False)


@given(json_values)
def test_no_json_breaks_the_check(raw: Any) -> None:
    assert all(fault.message for fault in faults(raw))
    assert all(fault.message for fault in faults([raw]))


def test_a_fork_plays_its_ancestors_script() -> None:
    scripts = {"a": 1, "b.2": 1}
    assert [owner_of(name, scripts) for name in ("a", "a.2", "a.2.3", "b.2", "b.2.2")] == ["a", "a", "a", "b.2", "b.2"]
    assert [owner_of(name, scripts) for name in ("c", "c.2", "a.x", "b.3")] == ["c", "c.2", "a.x", "b.3"]


def test_the_default_script_is_playable() -> None:
    assert len(parse_steps(DEFAULT_STEPS)) == 2


def test_raw_steps_survive_json() -> None:
    raw = [raw_step("tools", 0), raw_step("status", 1)]
    assert parse_steps(json.loads(json.dumps(raw))) == parse_steps(raw)
