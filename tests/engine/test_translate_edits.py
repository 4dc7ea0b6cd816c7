"""What the translation of messages tells of edits, of subagents' reports, and of what the CLI does by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from claude_agent_sdk import AssistantMessage, SystemMessage, ToolResultBlock, ToolUseBlock, UserMessage

from supervisor.core import events as ev
from supervisor.core.diffs import Diff
from supervisor.engine.translate import Translator
from tests.recorded.load import load

EDIT = {"file_path": "x.py", "old_string": "a", "new_string": "b", "replace_all": False}
TOLD = {
    "filePath": "x.py",
    "structuredPatch": [{"oldStart": 7, "oldLines": 1, "newStart": 7, "newLines": 1, "lines": ["-a", "+b"]}],
}


def translated(*messages: Any) -> list[Any]:
    translator = Translator("001", 1, "s", lambda: 0.0)
    return [event for message in messages for event in translator.translate(message)]


def returned(*blocks: ToolResultBlock, told: Any = None) -> list[Any]:
    return translated(UserMessage(content=list(blocks), tool_use_result=told))


def test_an_edit_of_the_recorded_session_has_its_diff() -> None:
    events = translated(*load("success").messages())
    (called,) = [e for e in events if isinstance(e, ev.ToolCalled)]
    assert called.diff == Diff("@@\n+new", 1, 0)
    assert called.summary == "new.txt"
    assert "content" not in called.detail
    (came,) = [e for e in events if isinstance(e, ev.ToolReturned)]
    assert came.diff == Diff("@@ -0,0 +1,1 @@\n+new", 1, 0)


def test_the_input_of_an_edit_is_told_once() -> None:
    (called,) = translated(AssistantMessage(content=[ToolUseBlock("t", "Edit", EDIT)], model="m"))
    assert called.diff == Diff("@@\n-a\n+b", 1, 1)
    assert called.detail == '{\n "file_path": "x.py"\n}'
    (other,) = translated(AssistantMessage(content=[ToolUseBlock("t", "Other", EDIT)], model="m"))
    assert other.diff is None
    assert "old_string" in other.detail


def test_what_the_cli_says_beside_a_result_belongs_to_it_only_if_it_is_alone() -> None:
    (came,) = returned(ToolResultBlock("t", "updated"), told=TOLD)
    assert came.diff == Diff("@@ -7,1 +7,1 @@\n-a\n+b", 1, 1)
    both = returned(ToolResultBlock("t", "updated"), ToolResultBlock("u", "other"), told=TOLD)
    assert [event.diff for event in both] == [None, None]


@pytest.mark.parametrize("told", ["Error: no", 7, [], {"filePath": "x"}, {"agentId": "a", "content": "text"}])
def test_what_is_no_edit_is_no_diff(told: object) -> None:
    (came,) = returned(ToolResultBlock("t", "words"), told=told)
    assert (came.text, came.diff) == ("words", None)


def test_a_subagents_report_comes_without_the_words_around_it() -> None:
    told = {"agentId": "a", "content": [{"type": "text", "text": "Two callers."}]}
    (came,) = returned(ToolResultBlock("t", "[Subagent hand-back] The text below is\n  Two callers."), told=told)
    assert came.text == "Two callers."


def test_a_diff_is_cleaned_at_the_door() -> None:
    given = {"file_path": "x", "content": "a\0\ud83d"}
    (called,) = translated(AssistantMessage(content=[ToolUseBlock("t", "Write", given)], model="m"))
    called.diff.text.encode()
    assert "\0" not in called.diff.text


@pytest.mark.parametrize(
    ("subtype", "data", "words"),
    [
        ("compact_boundary", {}, "the conversation was compacted"),
        (
            "compact_boundary",
            {"compact_metadata": {"trigger": "auto", "pre_tokens": 120_000}},
            "the conversation was compacted (auto, 120000 tokens before)",
        ),
        ("model_fallback", {"fallback_model": "haiku"}, "the model fell back to haiku"),
        ("model_fallback", {}, "the model fell back to another one"),
    ],
)
def test_notes(subtype: str, data: dict[str, Any], words: str) -> None:
    (note,) = translated(SystemMessage(subtype=subtype, data=data))
    assert note.text == words


def test_a_message_without_results_says_nothing() -> None:
    assert returned(told=TOLD) == []
    assert translated(SimpleNamespace(subtype="init", data=None)) == []
