"""The facts of the real CLI that the rehearsal leans on (seen with claude-agent-sdk 0.2.189, CLI 2.1.332)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    Message,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from supervisor.rehearsal.harness import RehearsalServer
from supervisor.rehearsal.script import CLOSING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Play = Callable[..., Awaitable[list[Message]]]

pytestmark = [pytest.mark.anyio, pytest.mark.cli]


def results(messages: list[Message]) -> list[ResultMessage]:
    return [message for message in messages if isinstance(message, ResultMessage)]


def blocks(messages: list[Message], kind: type) -> list[Any]:
    listed = [
        m.content for m in messages if isinstance(m, AssistantMessage | UserMessage) and isinstance(m.content, list)
    ]
    return [block for content in listed for block in content if isinstance(block, kind)]


def texts(messages: list[Message]) -> list[str]:
    said = [message for message in messages if isinstance(message, AssistantMessage)]
    return [block.text for block in blocks(said, TextBlock)]


def retries(messages: list[Message]) -> list[object]:
    told = [message for message in messages if isinstance(message, SystemMessage)]
    return [message.data["error_status"] for message in told if message.subtype == "api_retry"]


def steps_served(server: RehearsalServer) -> list[int | None]:
    return [line.step for line in server.served() if line.event == "served"]


async def test_tools_run_in_the_worktree_with_relative_paths(tmp_path: Path, play: Play) -> None:
    work = tmp_path / "work"
    (work / "a.txt").write_text("one\n")
    (work / "b.txt").write_text("two\n")
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "three"}
    script = [
        {
            "thinking": "Two files.",
            "text": "Both.",
            "tools": [{"name": "Read", "input": {"file_path": name}} for name in ("a.txt", "b.txt")],
        },
        {"tool": "Edit", "input": edit},
        {"tool": "Write", "input": {"file_path": "new/c.txt", "content": "four\n"}},
        {"tool": "Bash", "input": {"command": "python3 -m unittest --help"}},
        {"text": "All done."},
    ]
    async with RehearsalServer(tmp_path, {"t": script}) as server:
        messages = await play(server.base_url("t"), "go", "more", allowed_tools=["Bash(python3 -m unittest:*)"])
    assert [result.subtype for result in results(messages)] == ["success", "success"]
    assert (work / "a.txt").read_text() == "three\n"
    assert (work / "new/c.txt").read_text() == "four\n"
    assert [block.thinking for block in blocks(messages, ThinkingBlock)] == ["Two files."]
    assert [block.name for block in blocks(messages, ToolUseBlock)] == ["Read", "Read", "Edit", "Write", "Bash"]
    assert not any(block.is_error for block in blocks(messages, ToolResultBlock))
    assert texts(messages)[-2:] == ["All done.", CLOSING]
    assert steps_served(server) == [0, 1, 2, 3, 4, 5]


async def test_an_overloaded_api_recovers(tmp_path: Path, play: Play) -> None:
    script = [{"status": 529, "times": 2, "retry_after": 0}, {"text": "up again"}]
    async with RehearsalServer(tmp_path, {"t": script}) as server:
        messages = await play(server.base_url("t"), "go")
    assert retries(messages) == [529, 529]
    assert texts(messages) == ["up again"]
    assert steps_served(server) == [0, 0, 1]


async def test_an_api_error_that_stays(tmp_path: Path, play: Play) -> None:
    async with RehearsalServer(tmp_path, {"t": [{"status": 400, "times": -1, "text": "no"}]}) as server:
        (result,) = results(await play(server.base_url("t"), "go"))
    assert (result.is_error, result.terminal_reason, result.api_error_status) == (True, "api_error", 400)
    # The CLI drops one beta header after the other before it gives up, so a single 400 is never seen by an operator.
    assert len(steps_served(server)) > 1


async def test_a_dropped_connection_is_tried_again(tmp_path: Path, play: Play) -> None:
    script = [{"drop": True, "text": "this will never be said to its end"}, {"text": "after the drop"}]
    async with RehearsalServer(tmp_path, {"t": script}) as server:
        messages = await play(server.base_url("t"), "go")
    assert retries(messages) == [None]
    assert texts(messages) == ["after the drop"]
    assert [line.event for line in server.served()] == ["served", "cut", "served", "finished"]


async def test_an_endless_turn_is_interrupted_and_the_script_goes_on(
    tmp_path: Path, options: Callable[..., ClaudeAgentOptions], play: Play
) -> None:
    script = [{"text": "first"}, {"endless": True}, {"text": "second"}, {"text": "third"}]
    async with RehearsalServer(tmp_path, {"t": script}) as server:
        async with ClaudeSDKClient(options(server.base_url("t"), include_partial_messages=True)) as client:
            await client.query("go")
            said = [message async for message in client.receive_response()]
            await client.query("go on")
            stopped = await interrupted(client)
        assert texts(said) == ["first"]
        assert (stopped.subtype, stopped.terminal_reason) == ("error_during_execution", "aborted_streaming")
        resumed = await play(server.base_url("t"), "and now", resume=stopped.session_id)
        forked = await play(server.base_url("t.2"), "or so", resume=stopped.session_id, fork_session=True)
    assert texts(resumed) == ["second"]
    assert texts(forked) == ["third"]
    assert steps_served(server) == [0, 1, 2, 3]


async def interrupted(client: ClaudeSDKClient) -> ResultMessage:
    """Interrupt once words are streaming; returns the turn's result."""
    async for message in client.receive_response():
        if isinstance(message, StreamEvent) and "text_delta" in str(message.event):
            break
    await client.interrupt()
    with anyio.fail_after(30):
        (result,) = results([message async for message in client.receive_response()])
    return result


async def test_a_message_of_two_million_characters(tmp_path: Path, play: Play) -> None:
    async with RehearsalServer(tmp_path, {"t": [{"size": 2_000_000}, {"text": "after it"}]}) as server:
        messages = await play(server.base_url("t"), "go", "more")
    assert [len(text) for text in texts(messages)] == [2_000_000, len("after it")]


async def test_a_compaction_does_not_lose_the_place(tmp_path: Path, play: Play) -> None:
    (tmp_path / "work/a.txt").write_text("one\n")
    script = [
        {"text": "first"},
        # More than any context window holds, so the CLI compacts before its next request.
        {"tool": "Read", "input": {"file_path": "a.txt"}, "usage": {"input": 3_000_000}},
        {"text": "second"},
    ]
    async with RehearsalServer(tmp_path, {"t": script}) as server:
        messages = await play(server.base_url("t"), "go", "more")
    assert any(isinstance(m, SystemMessage) and m.subtype == "compact_boundary" for m in messages)
    assert texts(messages) == ["first", "second"]
    assert steps_served(server) == [0, 1, None, 2]


async def test_a_subagent_leaves_the_script_alone(tmp_path: Path, play: Play) -> None:
    call = {"description": "look", "prompt": "look around", "subagent_type": "general-purpose"}
    async with RehearsalServer(tmp_path, {"t": [{"tool": "Agent", "input": call}, {"text": "back"}]}) as server:
        messages = await play(server.base_url("t"), "go")
    assert texts(messages)[-1] == "back"
    assert steps_served(server) == [0, None, 1]
    assert [bool(line.agent) for line in server.served() if line.event == "served"] == [False, True, False]


async def test_a_ticket_without_a_script_looks_around(tmp_path: Path, play: Play) -> None:
    (tmp_path / "work/seen.txt").write_text("")
    async with RehearsalServer(tmp_path, {}) as server:
        messages = await play(server.base_url("t"), "go", permission_mode="default")
    assert "seen.txt" in str(blocks(messages, ToolResultBlock)[0].content)
    assert "rehearsal ends here" in texts(messages)[-1]
