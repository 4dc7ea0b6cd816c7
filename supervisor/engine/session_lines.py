"""What one line of a session's file says, as entries of a transcript.

The file is the CLI's and its format is not documented (seen with CLI 2.1.332), so every line is read with care: what
is not understood is passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from supervisor.core.model import Entry, EntryKind, PromptKind
from supervisor.core.prompt_parts import parted
from supervisor.core.transcript import ENTRY_CHARS
from supervisor.engine.stopped import stopped_words
from supervisor.engine.translate import api_error, compaction, describe_call, describe_result, fallback
from supervisor.engine.untrusted import bounded, status, whole

_TELLING = re.compile(rb'"type":\s*"(?:user|assistant|system)"')
"""What a line must hold to be worth parsing; most of a file are records of requests."""
_NO_ANSWER = "<synthetic>"
"""The model of what the CLI itself put into the agent's mouth."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the store knows of what a session's file holds."""

    kinds: Mapping[str, PromptKind] = field(default_factory=dict)
    """Why each prompt of ours was sent, by its uuid."""
    denied: frozenset[str] = frozenset()
    """Calls of tools that the operator denied while the agent waited."""


NOTHING = Known()
_Maker = Callable[[dict[str, Any], float, Known], Iterator[Entry]]


def parsed(raw: bytes) -> dict[str, Any] | None:
    """Return a line of the file; None where it tells nothing, or is damaged."""
    if not _TELLING.search(raw):
        return None
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) and not line.get("isMeta") and not line.get("isCompactSummary") else None


def entries_of(line: dict[str, Any], at: float, known: Known = NOTHING) -> Iterator[Entry]:
    """Return what a line says, as of ``at``, seconds since the epoch."""
    make = _MAKERS.get(str(line.get("type")))
    return make(line, at, known) if make is not None else iter(())


def _entry(at: float, kind: EntryKind, text: str, detail: str = "", **more: Any) -> Entry:
    return Entry(0, at, kind, text[:ENTRY_CHARS], detail[:ENTRY_CHARS], **more)


def _blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _user(line: dict[str, Any], at: float, known: Known) -> Iterator[Entry]:
    """A prompt, or results of tools. What a subagent is told stands with its call already."""
    message = line.get("message")
    words = message.get("content") if isinstance(message, dict) else None
    uuid = line.get("uuid")
    if isinstance(words, str) and not line.get("isSidechain"):
        kind = known.kinds.get(uuid) if isinstance(uuid, str) else None
        yield _entry(at, EntryKind.PROMPT, *map(bounded, parted(words, kind)), prompt=kind)
    results = [block for block in _blocks(line) if block.get("type") == "tool_result"]
    for block in results:
        text, diff = describe_result(block.get("content"), line.get("toolUseResult") if len(results) == 1 else None)
        failed, key = bool(block.get("is_error")), bounded(block.get("tool_use_id"), 200)
        text = stopped_words(text, is_denied=key in known.denied) if failed else text
        yield _entry(at, EntryKind.RESULT, text, tool_use_id=key, is_error=failed, diff=diff)


def _assistant(line: dict[str, Any], at: float, _: Known) -> Iterator[Entry]:
    message = line.get("message")
    if line.get("isApiErrorMessage"):
        yield _entry(at, EntryKind.NOTE, api_error(line.get("error")), is_error=True)
        return
    if isinstance(message, dict) and message.get("model") == _NO_ANSWER:
        return
    for block in _blocks(line):
        yield from _said(block, at)


def _said(block: dict[str, Any], at: float) -> Iterator[Entry]:
    match block.get("type"):
        case "text":
            text = bounded(block.get("text"))
            if text.strip():
                yield _entry(at, EntryKind.TEXT, text)
        case "thinking":
            yield _entry(at, EntryKind.THINKING, bounded(block.get("thinking")))
        case "tool_use" | "server_tool_use":
            name, key = bounded(block.get("name"), 200), bounded(block.get("id"), 200)
            summary, detail, diff = describe_call(name, block.get("input"))
            yield _entry(at, EntryKind.TOOL, f"{name} {summary}".rstrip(), detail, tool_use_id=key, diff=diff)


def _system(line: dict[str, Any], at: float, _: Known) -> Iterator[Entry]:
    match line.get("subtype"):
        case "compact_boundary":
            yield _entry(at, EntryKind.NOTE, compaction(line.get("compactMetadata")))
        case "model_fallback":
            yield _entry(at, EntryKind.NOTE, fallback(line))
        case "api_error":
            error = line.get("error")
            code = status(error.get("status")) if isinstance(error, dict) else None
            tries = f"{whole(line.get('retryAttempt'))}/{whole(line.get('maxRetries'))}"
            wait = whole(line.get("retryInMs")) / 1000
            cause = f"API {code}" if code else "API unreachable"
            yield _entry(at, EntryKind.NOTE, f"{cause}: retry {tries} in {wait:.1f} s")


_MAKERS: dict[str, _Maker] = {"user": _user, "assistant": _assistant, "system": _system}
