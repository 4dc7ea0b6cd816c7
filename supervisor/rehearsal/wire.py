"""A step in the words of the Messages API: whole messages, server-sent events, errors. Pure.

Shapes follow Anthropic's public API reference (Messages, streaming, errors).
"""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from supervisor.rehearsal.steps import Step, Usage, tool_use_id

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DELTAS = 400
"""Most deltas a block is cut into. The CLI needs 1 to 2 ms for each, so a 2 MB text must not come word by word."""

SIGNATURE = "cmVoZWFyc2Fs"
"""Stands for the signature of a thinking block, which nobody checks here."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One server-sent event."""

    data: bytes
    is_delta: bool = False


def content(step: Step, ticket: str, index: int) -> list[dict[str, Any]]:
    """Return the content blocks of a step; tool_use ids are minted from ticket, step and place."""
    blocks: list[dict[str, Any]] = []
    if step.thinking:
        blocks.append({"type": "thinking", "thinking": step.thinking, "signature": SIGNATURE})
    if step.text:
        blocks.append({"type": "text", "text": step.text})
    for place, call in enumerate(step.calls):
        mark = tool_use_id(ticket, index, place)
        blocks.append({"type": "tool_use", "id": mark, "name": call.name, "input": dict(call.input)})
    return blocks


def message(model: str, blocks: list[dict[str, Any]], usage: Usage) -> dict[str, Any]:
    """Return a whole message, as the API answers without ``stream``. Its id is new each time, as a paid answer's is."""
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": usage.wire(),
    }


def error(kind: str, words: str) -> dict[str, Any]:
    """Return the API's error object."""
    return {"type": "error", "error": {"type": kind, "message": words}}


def frames(whole: dict[str, Any]) -> Iterator[Frame]:
    """Yield a message as the events of a stream."""
    yield from opening(whole)
    for index, block in enumerate(whole["content"]):
        yield event("content_block_start", index=index, content_block=_empty(block))
        yield from (delta(index, **part) for part in _parts(block))
        yield event("content_block_stop", index=index)
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=stop, usage=whole["usage"])
    yield event("message_stop")


def opening(whole: dict[str, Any]) -> Iterator[Frame]:
    """Yield the first event of a stream, with nothing said yet."""
    usage = {**whole["usage"], "output_tokens": 1}
    yield event("message_start", message={**whole, "content": [], "stop_reason": None, "usage": usage})


def event(name: str, **data: object) -> Frame:
    """Return one event that is not a delta."""
    return Frame(_encode(name, data))


def delta(index: int, **part: object) -> Frame:
    """Return one delta of a content block."""
    return Frame(_encode("content_block_delta", {"index": index, "delta": part}), is_delta=True)


def _encode(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


def _empty(block: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, dict[str, Any]] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    return {**block, **empty[block["type"]]}


def _parts(block: dict[str, Any]) -> Iterator[dict[str, str]]:
    if block["type"] == "text":
        yield from ({"type": "text_delta", "text": piece} for piece in _pieces(block["text"]))
    elif block["type"] == "thinking":
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"]))
        yield {"type": "signature_delta", "signature": block["signature"]}
    else:
        written = json.dumps(block["input"])
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in _slices(written, 40))


def _pieces(text: str) -> Iterator[str]:
    """Yield words with the space after them, or larger pieces of a long text."""
    words = re.findall(r"\s*\S+\s*|\s+", text) if len(text) < 64 * MAX_DELTAS else []
    yield from words if 0 < len(words) <= MAX_DELTAS else _slices(text, 8)


def _slices(text: str, least: int) -> Iterator[str]:
    width = max(least, -(-len(text) // MAX_DELTAS))
    yield from (text[start : start + width] for start in range(0, len(text), width))
