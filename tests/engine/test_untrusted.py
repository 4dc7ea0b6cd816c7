"""Whatever the agent's side writes: the stream goes on, and what comes out is what the types say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk._internal.message_parser import parse_message

from supervisor.core import events as ev
from supervisor.core.sessions import is_usable_id, session_of, summarise
from supervisor.engine import transcripts
from supervisor.engine.agent import SessionStart
from supervisor.engine.session import ClaudeSession
from supervisor.engine.untrusted import as_json, bounded, listed, number, status, whole

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

RESULT = {
    "type": "result", "subtype": "success", "duration_ms": 1, "duration_api_ms": 1, "is_error": False, "num_turns": 1,
    "session_id": "s1", "terminal_reason": "completed",
}  # fmt: skip


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"k": [value]}
    return value


@pytest.mark.parametrize("value", [deep(450), ["x"] * 100_000, {"k": "y" * 100_000}])
def test_of_a_large_or_deep_value_no_more_is_read_than_is_kept(value: object) -> None:
    assert len(bounded(value, 500)) < 530
    assert as_json(value, 500).endswith("… more")


def test_text_is_cut_and_can_be_stored() -> None:
    assert bounded("a\ud83d\0", 10) == "a\ufffd␀"
    assert bounded("abc", 2) == "ab\n… 1 more characters"
    assert bounded(None) == ""
    assert bounded(True) == "true"


def test_lists_and_figures_that_are_none() -> None:
    assert listed("one", 5) == ["one"]
    assert listed([1, 2, 3], 2) == [1, 2]
    assert listed({"a": 1}, 2) == listed(7, 2) == []
    assert [number(v) for v in (1, 2.5, True, "1", float("nan"), 10**400, None)] == [1.0, 2.5] + [None] * 5
    assert (whole(2.9), whole("2"), whole(float("inf"))) == (2, 0, 0)
    assert [status(v) for v in (529, True, 10**30, "529", None)] == [529, None, None, None, None]


class Client:
    """Stands for the SDK's client: parses each message with the SDK's own parser, and goes on after it raised."""

    def __init__(self, *lines: dict[str, Any]) -> None:
        self._lines = iter(lines)

    async def receive_messages(self) -> AsyncIterator[Any]:
        for line in self._lines:
            yield parse_message(line)


async def _read(tmp_path: Path, *lines: dict[str, Any], prompt: str | None = None) -> ClaudeSession:
    session = ClaudeSession(SessionStart("001", 1, tmp_path, tmp_path, "s1"), lambda: 1.0)
    session._client = Client(*lines)  # type: ignore[assignment]
    if prompt is not None:
        session._translator.expect(prompt)
    await session.read()
    return session


async def _events(tmp_path: Path, *lines: dict[str, Any]) -> list[ev.Event]:
    session = await _read(tmp_path, *lines)
    assert session.failure is None
    return session.drain()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "line",
    [
        {"type": "assistant", "message": ["not an object"]},
        {"type": "user", "message": "hello"},
        {"type": "rate_limit_event", "rate_limit_info": None, "uuid": "u", "session_id": "s1"},
        {**RESULT, "deferred_tool_use": 7},
        {"type": "assistant", "message": {}},
    ],
)
async def test_a_message_the_sdk_cannot_parse_is_told_and_passed_over(tmp_path: Path, line: dict[str, Any]) -> None:
    told, turn = await _events(tmp_path, line, RESULT)
    assert isinstance(told, ev.Noted)
    assert told.is_error
    assert isinstance(turn, ev.TurnEnded)


SPEAKS = {
    "type": "assistant", "message": {"content": [{"type": "text", "text": "On it."}], "model": "m"},
    "parent_tool_use_id": None,
}  # fmt: skip
UNREADABLE = {
    "a field is missing": {k: v for k, v in RESULT.items() if k != "is_error"},
    "a field of another type": {**RESULT, "deferred_tool_use": 7},
    "it says whom it answers": {"type": "result", "user_message_uuids": ["p0", "p1"]},
}


@pytest.mark.anyio
@pytest.mark.parametrize("line", UNREADABLE.values(), ids=UNREADABLE)
async def test_a_result_that_cannot_be_parsed_ends_the_stream_at_once(tmp_path: Path, line: dict[str, Any]) -> None:
    """Nobody waits for it until the agent counts as silent, and what comes after it is not heard."""
    session = await _read(tmp_path, SPEAKS, line, SPEAKS, prompt="p1")
    assert session.failure is not None
    assert session.failure.message.startswith("the agent's result cannot be read: ")
    assert not session.failure.own_mistake
    assert not session.answered
    spoke, told = session.drain()
    assert isinstance(spoke, ev.AgentSpoke)
    assert isinstance(told, ev.Noted)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "ghost",
    [{"type": "result", "user_message_uuid": "p0"}, {"type": "result", "origin": {"kind": "task-notification"}}],
    ids=["another prompt's", "nobody's"],
)
async def test_an_unreadable_result_of_something_else_is_passed_over(tmp_path: Path, ghost: dict[str, Any]) -> None:
    session = await _read(tmp_path, ghost, RESULT, {"type": "result"}, prompt="p1")
    assert session.failure is None
    assert session.answered
    assert isinstance(session.drain()[-1], ev.Noted), "one that comes too late ends nothing either"


@pytest.mark.anyio
async def test_a_result_of_wrong_types_is_still_a_result(tmp_path: Path) -> None:
    strange = {
        "subtype": ["success"], "session_id": {"a": 1}, "num_turns": 10**400, "total_cost_usd": float("nan"),
        "errors": 7, "permission_denials": "no", "api_error_status": 10**30, "user_message_uuids": [[1]], "result": [1],
    }  # fmt: skip
    (turn,) = await _events(tmp_path, {**RESULT, **strange})
    assert isinstance(turn, ev.TurnEnded)
    assert (turn.num_turns, turn.total_cost_usd, turn.errors, turn.api_error_status) == (0, None, (), None)
    assert json.loads(turn.text) == [1]


def test_a_summary_of_wrong_types_claims_nothing() -> None:
    message = parse_message({**RESULT, "subtype": {}, "num_turns": "3", "total_cost_usd": "0.5", "session_id": ["s"]})
    summary = summarise([message], 0.1)
    assert (summary.subtype, summary.turns, summary.cost_usd, summary.session_id) == (None, 0, 0.0, None)
    assert session_of([message, parse_message(RESULT)]) == "s1"


def test_only_a_plain_word_is_a_session_id() -> None:
    assert is_usable_id("7122c59a-77a1-450b-bfc3-8550c1d2d59e")
    assert not any(map(is_usable_id, ["", "--resume", "../x", "a b", "a\0", "é", "x" * 101, 7, None, ["s1"]]))


def test_a_damaged_transcript_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    said = {
        "id": "m1",
        "model": 7,
        "usage": {"output_tokens": 10**400},
        "content": [{"type": "text", "text": "a\ud83d"}],
    }
    line = {"type": "assistant", "uuid": "p1", "timestamp": "0001-01-01T00:00:00", "message": said}
    path = tmp_path / "projects" / "-x" / "s[1].jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(["[" * 100_000, json.dumps(line), '{"cut']), "utf-8")
    assert transcripts.find(tmp_path, "s[1]") == path
    assert transcripts.find(tmp_path, "?*") is None
    facts = transcripts.read(path, "p1", 0.0)
    assert facts.has_prompt
    assert facts.last_words == "a\ufffd"
    assert not facts.usage.empty
