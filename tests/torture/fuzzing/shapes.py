"""Inputs that are right: lines of the SDK's stream, lines of a session's own file, and texts of a tickets.toml."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.recorded.load import CASES, load

if TYPE_CHECKING:
    from tests.torture.fuzzing.scramble import Scrambler

ROOT = Path(__file__).resolve().parents[3]
LONGEST = 4_000_000
"""Most characters of a line."""
SESSION = "7122c59a-77a1-450b-bfc3-8550c1d2d59e"
PROMPT = "6dddb375-86da-405b-b727-651d90958e9d"
_IDS: dict[str, Any] = {"uuid": "eb480bb6-9dee-44ac-b08d-9b440065e403", "session_id": SESSION}
_USAGE = {
    "input_tokens": 12,
    "output_tokens": 340,
    "cache_creation_input_tokens": 5,
    "cache_read_input_tokens": 9000,
    "server_tool_use": {"web_search_requests": 0},
}
_EDIT = {"old_string": "a\nb\nc\n", "new_string": "a\nB\nc\n"}
_HUNK = {"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 3, "lines": [" a", "-b", "+B", " c"]}
_TOLD: tuple[dict[str, Any], ...] = (
    {"stdout": "x", "stderr": "", "interrupted": False},
    {"filePath": "a.py", "structuredPatch": [_HUNK, _HUNK], "originalFile": "a\nb\nc\n", **_EDIT},
    {"filePath": "b.py", "type": "create", "content": "one\ntwo\n", "structuredPatch": []},
    {"agentId": "a1", "status": "completed", "content": [{"type": "text", "text": "found it"}], "totalTokens": 9},
)
"""What the CLI says of a tool's result beside the result itself."""
_BLOCKS: tuple[dict[str, Any], ...] = (
    {"type": "text", "text": "I'll look at [/b] first."},
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls -la", "timeout": 5}},
    {"type": "tool_use", "id": "toolu_2", "name": "MultiEdit", "input": {"file_path": "a.py", "edits": [_EDIT, _EDIT]}},
    {"type": "tool_use", "id": "toolu_3", "name": "Edit", "input": {"file_path": "a.py", **_EDIT}},
    {"type": "tool_use", "id": "toolu_4", "name": "Write", "input": {"file_path": "b.py", "content": "one\ntwo\n"}},
    {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
    {"type": "advisor_tool_result", "tool_use_id": "srv_1", "content": {"type": "advisor_result", "text": "yes"}},
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done", "is_error": False},
    {"type": "redacted_thinking", "data": "AAAA"},
)
_RESULTS: tuple[dict[str, Any], ...] = (
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a\nb"},
    {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "x"}, {"type": "image"}]},
    {"type": "tool_result", "tool_use_id": "toolu_3", "content": None, "is_error": True},
    {"type": "text", "text": "[Request interrupted by user]"},
)
_SYSTEM: tuple[dict[str, Any], ...] = (
    {
        "subtype": "api_retry",
        "attempt": 1,
        "max_retries": 3,
        "retry_delay_ms": 530.5,
        "error_status": 529,
        "error": "x",
    },
    {"subtype": "compact_boundary", "compact_metadata": {"trigger": "auto", "pre_tokens": 150000}},
    {"subtype": "model_fallback", "fallback_model": "haiku", "model": "sonnet"},
    {"subtype": "status", "status": None, "permissionMode": "default"},
    {"subtype": "hook_started", "hook_event": "PreToolUse", "hook_name": "x"},
    {"subtype": "hook_response", "hook_event": "PreToolUse", "stdout": "", "exit_code": 0},
    {"subtype": "mirror_error", "key": {"project_key": "a", "session_id": SESSION}, "error": "no"},
    {"subtype": "task_started", "task_id": "t1", "description": "d", "task_type": "local_bash"},
    {"subtype": "task_progress", "task_id": "t1", "description": "d", "usage": {"total_tokens": 1}},
    {"subtype": "task_notification", "task_id": "t1", "status": "completed", "output_file": "/o", "summary": "s"},
    {"subtype": "task_updated", "task_id": "t1", "patch": {"status": "killed", "end_time": 1}},
    {"subtype": "background_tasks_changed", "tasks": [{"id": "t1"}]},
    {"subtype": "of_tomorrow", "news": [1, 2]},
)


def _assistant(content: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    message = {"id": "msg_1", "role": "assistant", "model": "claude-sonnet-5-5", "content": content, "usage": _USAGE}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, **_IDS, **more}


def _made() -> list[dict[str, Any]]:
    """Return messages of the kinds that the SDK's parser knows and that no recording has."""
    system: list[dict[str, Any]] = [{"type": "system", **data, **_IDS} for data in _SYSTEM]
    windows = {"five_hour": {"utilization": 0.97}}
    limit = {"status": "rejected", "resetsAt": 1764000000, "rateLimitType": "five_hour", "unifiedWindows": windows}
    user = {"role": "user", "content": list(_RESULTS)}
    one = {"role": "user", "content": [_RESULTS[0]]}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}
    return [
        *system,
        *(_assistant([block]) for block in _BLOCKS),
        _assistant(list(_BLOCKS)),
        _assistant([_BLOCKS[0]], parent_tool_use_id="toolu_1"),
        _assistant([_BLOCKS[0]], error="rate_limit"),
        {"type": "user", "message": user, "parent_tool_use_id": None, "tool_use_result": _TOLD[0], **_IDS},
        *({"type": "user", "message": one, "parent_tool_use_id": None, "tool_use_result": t, **_IDS} for t in _TOLD),
        {"type": "user", "message": {"role": "user", "content": "hello"}, "parent_tool_use_id": None, **_IDS},
        {"type": "stream_event", "event": delta, "parent_tool_use_id": None, **_IDS},
        {"type": "rate_limit_event", "rate_limit_info": limit, **_IDS},
        {"type": "conversation_reset", "new_conversation_id": SESSION, **_IDS},
        {"type": "control_cancel_request", "request_id": "r1"},
        {"type": "keep_alive"},
        {"type": "of_tomorrow", "news": [1, 2], **_IDS},
    ]


def stream() -> list[dict[str, Any]]:
    """Return messages of the stream: all that were recorded, and one of every kind beside them."""
    recorded = [line for case in CASES for line in load(case).wire]
    return [*recorded, *_made(), *_results()]


def _results() -> list[dict[str, Any]]:
    """Return results with every field that a result may have."""
    results: list[dict[str, Any]] = [line for case in CASES for line in load(case).wire if line.get("type") == "result"]
    denial = {"tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "rm -rf /"}}
    whole = {
        "permission_denials": [denial],
        "errors": ["one", "two"],
        "api_error_status": 529,
        "user_message_uuid": PROMPT,
        "user_message_uuids": [PROMPT],
        "origin": {"kind": "task-notification"},
        "deferred_tool_use": {"id": "toolu_1", "name": "Bash", "input": {}},
        "structured_output": {"a": 1},
    }
    return [{**result, **whole} for result in results]


def transcript() -> list[dict[str, Any]]:
    """Return the lines of a session's own file, with a block of every kind and a compaction."""
    head = {"isSidechain": False, "sessionId": SESSION, "cwd": "/ticket/work", "version": "2.1.332"}
    times = (
        {
            "timestamp": f"2026-01-02T03:04:{n:02}.123Z",
            "uuid": f"line-{n}",
            "parentUuid": f"line-{n - 1}" if n else None,
        }
        for n in range(60)
    )
    said = [
        {"type": "user", "message": {"role": "user", "content": "Fix it."}, "promptId": PROMPT},
        *(_assistant([block]) for block in _BLOCKS),
        _assistant(list(_BLOCKS)),
        *({"type": "user", "message": {"role": "user", "content": list(_RESULTS)}, "toolUseResult": t} for t in _TOLD),
        {"type": "attachment", "attachment": {"type": "todo", "content": []}},
        {"type": "system", "subtype": "compact_boundary", "content": "compacted", "level": "info"},
    ]
    return [
        {"type": "summary", "summary": "Fix it", "leafUuid": "line-1"},
        {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION, "content": "Fix it."},
        {"type": "file-history-snapshot", "messageId": "line-0", "snapshot": {"trackedFileBackups": {}}},
        *({**head, **line, **time} for line, time in zip(said, times, strict=False)),
        {"type": "cost-state", "sessionId": SESSION, "totalCostUSD": 0.016, "modelUsage": {}},
    ]


def sessions() -> list[list[dict[str, Any]]]:
    """Return whole files of sessions, line by line: the made one, and those that the real CLI has written."""
    paths = sorted((ROOT / "tests" / "recorded" / "sessions").rglob("*.jsonl"))
    recorded = [[json.loads(line) for line in path.read_text("utf-8").splitlines()] for path in paths]
    return [transcript(), *recorded]


def batches() -> list[str]:
    """Return texts of a tickets.toml: mostly one with every key there is; the sample is ten times as long."""
    full = (ROOT / "tests" / "config" / "full.toml").read_text("utf-8")
    return [full, full, full, (ROOT / "tickets.toml").read_text("utf-8")]


def spoiled(scrambler: Scrambler, good: dict[str, Any]) -> str:
    """Return a spoiled message as a line. A line of tens of megabytes takes its time, and shows nothing new."""
    line = as_line(scrambler.message(good))
    return line if len(line) <= LONGEST else as_line(good)


def as_line(message: object) -> str:
    """Return a message as the CLI writes it, however deep."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10 * limit)
    try:
        return json.dumps(message)
    finally:
        sys.setrecursionlimit(limit)
