"""Sessions' files as conversations that can be cut, and copies of them that end at a cut.

The copy is ours and not the SDK's: its ``fork_session`` (0.2.189) looks only where our own environment points, and
loses every message with a line separator of Unicode in it, and with it all that stands before. Nor is it made when
the agent starts: ``resume_session_at`` reads a file that has gone on by then, and shows the summary of a later
compaction to a copy that ends before it (CLI 2.1.332).
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from supervisor.core.cuts import Conversation, Cut

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TELLING = re.compile(rb'"type":\s*"(?:user|assistant|attachment|system|progress|content-replacement)"')
"""What a line must hold to be worth parsing; most of a file are records of requests."""
_REPLACED = "content-replacement"
"""Says what the CLI has put in the place of long results."""


def read(path: Path) -> Conversation:
    """Return the conversation of a session's file. Blocks: call it in a thread. Raises OSError."""
    return Conversation(line for line in _lines(path))


def copy(path: Path, conversation: Conversation, cut: Cut, session_id: str) -> None:
    """Write another session's file beside a session's own, with its messages up to a cut. Blocks: call it in a thread.

    It is there as a whole or not at all; one of that id that is there already is replaced. Messages keep their ids, as
    in the CLI's own forks. What the session had cost is left behind. Raises OSError.
    """
    kept = set(conversation.kept(cut))
    draft = path.with_name(f".{session_id}.new")
    with draft.open("w", encoding="ascii") as out:
        for line in _lines(path):
            told = line.get("uuid")
            uuid = told if isinstance(told, str) else ""
            if uuid in kept or line.get("type") == _REPLACED:
                kept.discard(uuid)
                # Without blanks: the CLI finds a session of another directory by the text of its lines.
                out.write(json.dumps(_moved(line, session_id), separators=(",", ":")) + "\n")
            if uuid == cut.uuid:
                break
        out.flush()
        os.fsync(out.fileno())
    draft.replace(path.with_name(f"{session_id}.jsonl"))


def _moved(line: dict[str, Any], session_id: str) -> dict[str, Any]:
    """Return a line as one of another session; as in the CLI's own forks it says whose requests it refers to."""
    moved = {**line, "sessionId": session_id}
    if "requestRef" in line and "requestSessionId" not in line:
        moved["requestSessionId"] = line.get("sessionId")
    return moved


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as source:
        for raw in source:
            if not _TELLING.search(raw):
                continue
            try:
                line = json.loads(raw)
            except (ValueError, RecursionError):  # damaged, still being written, or nested too deeply
                continue
            if isinstance(line, dict):
                yield line
