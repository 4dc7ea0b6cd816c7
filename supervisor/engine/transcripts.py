"""The sessions' own files: where the CLI keeps a conversation, and what we look up in it.

``CLAUDE_CONFIG_DIR/projects/<encoded cwd>/<session id>.jsonl``. A session stays in the file it was begun in, also when
it is resumed from another directory, so it is found by its id alone.
"""

from __future__ import annotations

import glob
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from supervisor.core.usage import UsageMeter
from supervisor.engine.untrusted import bounded, number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(slots=True)
class TranscriptFacts:
    """What a session's file tells about a prompt and about the time since."""

    has_prompt: bool = False
    """The prompt of the given id was taken in."""
    last_words: str = ""
    """The agent's last text."""
    usage: UsageMeter = field(default_factory=UsageMeter)
    """Token usage of the messages since the given time."""
    total_usd: float | None = None
    """What the session had cost when a process of it last left in good order; None where none did."""


def find(config_dir: Path, session_id: str) -> Path | None:
    """Return the session's file, or None if it never reached the disk. Blocks: call it in a thread."""
    if not session_id or "/" in session_id:
        return None
    return next(iter((config_dir / "projects").glob(f"*/{glob.escape(session_id)}.jsonl")), None)


def read(path: Path, prompt_uuid: str | None, since: float) -> TranscriptFacts:
    """Read a session's file once. Blocks: call it in a thread. Damaged lines are skipped.

    Args:
        path: the session's file.
        prompt_uuid: the prompt to look for.
        since: seconds since the epoch from which usage counts.
    """
    facts = TranscriptFacts()
    for line in _lines(path):
        facts.has_prompt = facts.has_prompt or (prompt_uuid is not None and line.get("uuid") == prompt_uuid)
        message = line.get("message")
        if line.get("type") == "assistant" and isinstance(message, dict):
            _take_words(facts, message)
            _take_usage(facts, message, line, since)
        elif line.get("type") == "cost-state":  # written as it leaves, with what no result has reported (CLI 2.1.332)
            facts.total_usd = number(line.get("totalCostUSD"))
    for nested in path.with_suffix("").glob("subagents/*.jsonl"):
        for line in _lines(nested):
            message = line.get("message")
            if line.get("type") == "assistant" and isinstance(message, dict):
                _take_usage(facts, message, line, since)
    return facts


def _take_words(facts: TranscriptFacts, message: dict[str, Any]) -> None:
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
        if isinstance(text, str) and text.strip():
            facts.last_words = bounded(text)


def _take_usage(facts: TranscriptFacts, message: dict[str, Any], line: dict[str, Any], since: float) -> None:
    usage, ident = message.get("usage"), message.get("id")
    if isinstance(usage, dict) and isinstance(ident, str) and when(line) >= since:
        facts.usage.see(bounded(ident, 200), bounded(message.get("model"), 200), usage)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as source:
        for raw in source:
            try:
                line = json.loads(raw)
            except (ValueError, RecursionError):  # damaged, or nested too deeply
                continue
            if isinstance(line, dict):
                yield line


def when(line: dict[str, Any]) -> float:
    """Return when a line was written, in seconds since the epoch; 0 where it does not say."""
    told = line.get("timestamp")
    try:
        return datetime.fromisoformat(told.replace("Z", "+00:00")).timestamp() if isinstance(told, str) else 0.0
    except (ValueError, OverflowError):  # no time, or one that no calendar of ours reaches
        return 0.0
