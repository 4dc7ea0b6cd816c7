"""Scripts of a rehearsal: raw tables to steps, and which step a request is for.

A step is found by the marks that earlier steps left in the conversation, never by counting messages: the CLI inserts
assistant messages of its own, a compaction shortens the list, and a killed turn may or may not be in the transcript.
Pure.

One table is one answer of the API:

=============================  ========================================================================================
``text``, ``thinking``         what it says and thinks
``tool``, ``input``            one tool call; ``tools = [{name, input}, ...]`` for several at once
``usage``                      tokens: ``input``, ``output``, ``cache_read``, ``cache_write``
``delay_s``, ``chunk_s``       seconds before the first byte, and between streamed pieces
``size``                       pads the text to that many characters
``status``                     an HTTP error instead, with ``text``, ``error_type`` and ``retry_after``
``drop``, ``endless``          the connection drops half-way; the text goes on until the client leaves
``times``                      how many requests meet the error, the drop or the endless text; 1, or -1 for ever
``headers``                    more headers of the response
``effect``, ``outcome``        how the effect that the tool calls ends in the rehearsal: done, refused or unresolved
=============================  ========================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from supervisor.rehearsal.faults import ScriptFault, faults
from supervisor.rehearsal.steps import Outage, Step, ToolCall, Usage, tool_use_id

__all__ = [
    "CLOSING",
    "DEFAULT_STEPS",
    "ScriptError",
    "ScriptFault",
    "faults",
    "locate",
    "next_step",
    "owner_of",
    "parse_steps",
    "summary",
    "wants_summary",
]

CLOSING = "Nothing is left to do."
"""What the agent says once its script is over."""

DEFAULT_STEPS: tuple[Mapping[str, Any], ...] = (
    {
        "text": "This is a rehearsal, so I only look around and change nothing.",
        "tool": "Bash",
        "input": {"command": "ls", "description": "List the files"},
        "delay_s": 0.8,
        "chunk_s": 0.05,
    },
    {
        "text": "I have seen the files. With a real key I would now start on the ticket; its rehearsal ends here.",
        "delay_s": 1.2,
        "chunk_s": 0.05,
    },
)
"""Raw steps of a ticket that brings none of its own."""

COMPACTION = ("Do NOT call any tools", "<summary>")
PADDING = "and so on "
ENDLESS = "Still going. "
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
"""Type of the API's error object by HTTP status, as Anthropic's API documents it."""

_MARK = re.compile(r"toolu_[0-9a-f]{24}")


class ScriptError(ValueError):
    """A script that cannot be played.

    Attributes:
        index: position of the step, from 0.
        key: dotted place inside the step; empty when the step as a whole is meant.
        message: what is wrong.
    """

    def __init__(self, index: int, key: str, message: str) -> None:
        place = f"step {index + 1}" + (f", {key}" if key else "")
        super().__init__(f"{place}: {message}")
        self.index, self.key, self.message = index, key, message


def parse_steps(raw: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    """Turn raw tables into steps.

    Raises:
        ScriptError: the first fault; :func:`faults` tells all of them.
    """
    for fault in faults(raw):
        raise ScriptError(fault.index, fault.key, fault.message)
    return tuple(_step(table) for table in raw)


def locate(steps: Sequence[Step], ticket: str, messages: object) -> int:
    """Return the index of the step that comes next: one more than the highest whose mark is in the request.

    Args:
        steps: the whole script.
        ticket: id that the tool_use ids were minted for.
        messages: ``messages`` of the request, as untrusted JSON.

    Returns:
        0 to ``len(steps)``; the latter when the script is over. Outages leave no mark, see :func:`next_step`.
    """
    # A step without tools has an id too, by which a summary names it.
    ids = {tool_use_id(ticket, i, j): i for i, step in enumerate(steps) for j in range(len(step.calls) or 1)}
    texts = {step.mark: i for i, step in enumerate(steps) if step.mark}
    return max(_found(messages, ids, texts), default=-1) + 1


def next_step(steps: Sequence[Step], ticket: str, messages: object, served: Callable[[int], int]) -> int:
    """Return the step to serve: the located one, or the first after it whose outage is not over.

    Args:
        steps: the whole script.
        ticket: id that the tool_use ids were minted for.
        messages: ``messages`` of the request.
        served: how often a step has been served already, by index.
    """
    index = locate(steps, ticket, messages)
    while index < len(steps) and _is_over(steps[index], served(index)):
        index += 1
    return index


def wants_summary(messages: object) -> bool:
    """Say whether the CLI asks for a compaction, in the words of CLI 2.1.332; it sends tools with that as well."""
    last = messages[-1:] if isinstance(messages, list) else []
    texts = [block.get("text") for _, block in _blocks(last)]
    return any(isinstance(text, str) and all(words in text for words in COMPACTION) for text in texts)


def summary(steps: Sequence[Step], ticket: str, messages: object) -> str:
    """Return the answer to a compaction; it carries the mark of the last step, so that the script goes on after it."""
    done = locate(steps, ticket, messages)
    mark = f" Last step: {tool_use_id(ticket, done - 1, 0)}." if done else ""
    return f"<analysis>A rehearsal.</analysis>\n<summary>{done} scripted steps are done.{mark}</summary>"


def owner_of(ticket: str, scripts: Mapping[str, object]) -> str:
    """Return whose script is played: the ticket itself, or for a fork (``id.2``) its nearest known ancestor."""
    name = ticket
    while name not in scripts:
        name, dot, number = name.rpartition(".")
        if not (dot and number.isdecimal()):
            return ticket
    return name


def _is_over(step: Step, served: int) -> bool:
    return step.outage is not None and step.outage.is_over(served)


def _found(messages: object, ids: Mapping[str, int], texts: Mapping[str, int]) -> Iterator[int]:
    for role, block in _blocks(messages):
        words = block.get("text")
        if isinstance(words, str):
            # A compaction's summary carries the ids on as plain text.
            yield from (ids[mark] for mark in _MARK.findall(words) if mark in ids)
            if role == "assistant" and words.strip() in texts:
                yield texts[words.strip()]
        for key in ("id", "tool_use_id"):
            mark = block.get(key)
            if isinstance(mark, str) and mark in ids:
                yield ids[mark]


def _blocks(messages: object) -> Iterator[tuple[object, Mapping[str, Any]]]:
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, Mapping) else None
        blocks = [{"text": content}] if isinstance(content, str) else content
        for block in blocks if isinstance(blocks, list) else []:
            if isinstance(block, Mapping):
                yield message.get("role"), block


def _step(raw: Mapping[str, Any]) -> Step:
    return Step(
        text=_words(raw),
        thinking=raw.get("thinking", ""),
        calls=_calls(raw),
        usage=Usage(**raw.get("usage", {})),
        delay_s=float(raw.get("delay_s", 0)),
        chunk_s=float(raw.get("chunk_s", 0)),
        outage=_outage(raw),
        headers=dict(raw.get("headers", {})),
    )


def _words(raw: Mapping[str, Any]) -> str:
    text, size = str(raw.get("text", "")), int(raw.get("size", 0))
    if len(text) < size:
        text = f"{text} " if text else text
        text += (PADDING * (size // len(PADDING) + 1))[: size - len(text)]
    return text


def _calls(raw: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    listed = [{"name": raw["tool"], "input": raw.get("input", {})}] if "tool" in raw else raw.get("tools", [])
    return tuple(ToolCall(call["name"], call.get("input", {})) for call in listed)


def _outage(raw: Mapping[str, Any]) -> Outage | None:
    times = raw.get("times", 1)
    if raw.get("drop"):
        return Outage("drop", times)
    if raw.get("endless"):
        return Outage("endless", times)
    if "status" not in raw:
        return None
    status = raw["status"]
    kind = raw.get("error_type") or ERROR_TYPES.get(status, "api_error")
    return Outage("status", times, status, kind, raw.get("retry_after"))
