"""What was said before this run: the end of a session's own file, and what the store knows besides, as entries.

The file is the CLI's and its format is not documented (seen with CLI 2.1.332), so every line is read with care: what
is not understood is passed over. A session may have said 500 MB; the file is read from its end, and only as far back
as there is room for.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from supervisor.core.model import Entry, EntryKind, PromptKind
from supervisor.core.transcript import ENTRY_CHARS, TRANSCRIPT_CHARS
from supervisor.engine import transcripts
from supervisor.engine.backwards import lines_backwards
from supervisor.engine.translate import api_error, compaction, describe_call, describe_result, fallback
from supervisor.engine.untrusted import bounded, status, whole

if TYPE_CHECKING:
    from pathlib import Path

MOST_ENTRIES = 400
"""Most entries that are read back."""
_MOST_SUBAGENTS = 8
"""Files of subagents that are looked at, the latest first."""
_TELLING = re.compile(rb'"type":\s*"(?:user|assistant|system)"')
"""What a line must hold to be worth parsing; most of a file are records of requests."""
_NO_ANSWER = "<synthetic>"
"""The model of what the CLI itself put into the agent's mouth."""

Kinds = Mapping[str, PromptKind]
_Maker = Callable[[dict[str, Any], float, Kinds], Iterator[Entry]]


def load_history(
    config_dir: Path,
    session_id: str,
    kinds: Kinds | None = None,
    before: float = math.inf,
    told: Iterable[Entry] = (),
) -> tuple[Entry, ...]:
    """Return the end of a session's conversation. Blocks: call it in a thread. Never raises for what a file holds.

    Args:
        config_dir: The directory that the agents use as ``CLAUDE_CONFIG_DIR``.
        session_id: The session.
        kinds: Why each prompt of ours was sent, by its uuid.
        before: Seconds since the epoch; what was said later is left out, since it was heard live.
        told: What the store tells of the same time, oldest first, such as results of turns: the CLI does not write
            those down. What comes before the first thing the file tells is left out.

    Returns:
        At most 400 entries and as many characters as a transcript keeps, oldest first, numbered up to -1.
    """
    try:
        path = transcripts.find(config_dir, session_id)
        files = [] if path is None else [(path, False), *((nested, True) for nested in _subagents(path))]
    except (OSError, ValueError):
        return ()
    entries: list[Entry] = []
    for file, nested in files:
        entries += _tail(file, kinds or {}, before, nested)
    since = min((entry.at for entry in entries), default=-math.inf)
    entries += [entry for entry in told if since <= entry.at < before]
    entries.sort(key=lambda entry: entry.at)
    kept = _newest(reversed(entries))
    return tuple(replace(entry, seq=number - len(kept)) for number, entry in enumerate(reversed(kept)))


def _subagents(path: Path) -> list[Path]:
    files = list(path.with_suffix("").glob("subagents/*.jsonl"))
    return sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)[:_MOST_SUBAGENTS]


def _tail(path: Path, kinds: Kinds, before: float, nested: bool) -> list[Entry]:
    """Return what there is room for of one file, oldest first; none at all where it cannot be read."""
    kept: list[Entry] = []
    with suppress(OSError):
        kept = _newest(_entries_backwards(path, kinds, before))
    at = max((entry.at for entry in kept), default=0.0)
    for place, entry in enumerate(kept):
        # The order in the file is the truth; a clock that was set back, or a line without a time, must not change it.
        at = min(at, entry.at or at)
        kept[place] = replace(entry, at=at, nested=nested)
    return kept[::-1]


def _newest(entries: Iterator[Entry]) -> list[Entry]:
    """Return the first ones of entries that come newest first, as far as a transcript has room for them."""
    kept: list[Entry] = []
    chars = 0
    for entry in entries:
        chars += len(entry.text) + len(entry.detail) + (len(entry.diff.text) if entry.diff else 0) + 100
        if chars > TRANSCRIPT_CHARS or len(kept) == MOST_ENTRIES:
            break
        kept.append(entry)
    return kept


def _entries_backwards(path: Path, kinds: Kinds, before: float) -> Iterator[Entry]:
    for raw in lines_backwards(path):
        line = _parsed(raw)
        if line is None:
            continue
        at = transcripts.when(line)
        if at < before:
            yield from reversed(list(_entries(line, at, kinds)))


def _parsed(raw: bytes) -> dict[str, Any] | None:
    if not _TELLING.search(raw):
        return None
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) and not line.get("isMeta") and not line.get("isCompactSummary") else None


def _entries(line: dict[str, Any], at: float, kinds: Kinds) -> Iterator[Entry]:
    make = _MAKERS.get(str(line.get("type")))
    return make(line, at, kinds) if make is not None else iter(())


def _entry(at: float, kind: EntryKind, text: str, detail: str = "", **more: Any) -> Entry:
    return Entry(0, at, kind, text[:ENTRY_CHARS], detail[:ENTRY_CHARS], **more)


def _blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _user(line: dict[str, Any], at: float, kinds: Kinds) -> Iterator[Entry]:
    """A prompt, or results of tools. What a subagent is told stands with its call already."""
    message = line.get("message")
    words = message.get("content") if isinstance(message, dict) else None
    uuid = line.get("uuid")
    if isinstance(words, str) and not line.get("isSidechain"):
        kind = kinds.get(uuid) if isinstance(uuid, str) else None
        yield _entry(at, EntryKind.PROMPT, bounded(words), prompt=kind)
    results = [block for block in _blocks(line) if block.get("type") == "tool_result"]
    for block in results:
        text, diff = describe_result(block.get("content"), line.get("toolUseResult") if len(results) == 1 else None)
        failed, key = bool(block.get("is_error")), bounded(block.get("tool_use_id"), 200)
        yield _entry(at, EntryKind.RESULT, text, tool_use_id=key, is_error=failed, diff=diff)


def _assistant(line: dict[str, Any], at: float, _: Kinds) -> Iterator[Entry]:
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


def _system(line: dict[str, Any], at: float, _: Kinds) -> Iterator[Entry]:
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
