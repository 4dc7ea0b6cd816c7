"""Where a session's conversation may be cut: the sound points, and what a copy up to one of them holds. Pure.

Reads the lines of a session's file, of which only these facts are used (CLI 2.1.332): each message names the one
before it by ``parentUuid``; a reply of the model is one line for each of its blocks, all with one ``message.id``; the
result of a tool hangs on its own call, so that of parallel calls only the last is on the way back from the end; a
compaction begins the chain anew, and names what it stands for by ``logicalParentUuid``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from supervisor.core.tools import tool_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LINKS = frozenset({"user", "assistant", "attachment", "system", "progress"})
"""Kinds of lines that make the chain; the others are notes of the CLI's own."""
_WORDS = 200
_SYNTHETIC = "<synthetic>"
"""The model's name on what the CLI says in its place."""
_NOT_A_PROMPT = ("[Request interrupted by user", "<command-name>", "<local-command-")


class CutKind(StrEnum):
    """What a sound point follows."""

    REPLY = "reply"
    """The agent had said what it had to say."""
    TOOLS = "tools"
    """All tools that were called had returned."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A sound point: a conversation that ends here can be gone on with."""

    uuid: str
    """The last message that is kept."""
    at: float
    """When that was written; 0 where the file does not say."""
    kind: CutKind
    words: str
    """What the agent said, or the tools it called. Untrusted and bounded; may hold many lines."""
    prompt_number: int
    """How many prompts stand before it."""


@dataclass(slots=True)
class _Line:
    """What is kept in memory of one line of the file."""

    place: int
    uuid: str
    parent: str
    at: float
    reply: str = ""
    """Id of the model's reply that the line is a block of."""
    words: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    """Id and name of the tools it calls."""
    results: tuple[str, ...] = ()
    """Ids of the calls it answers."""
    is_prompt: bool = False
    is_synthetic: bool = False
    is_over: bool = False
    """The reply is known to end with no call of a tool."""


class Conversation:
    """One session's conversation, as its file tells it: the branch that was written last, from its first message on."""

    def __init__(self, lines: Iterable[object]) -> None:
        """Read the file's lines, parsed, in the file's order. Damaged ones, and those of subagents, are passed over."""
        self._lines: dict[str, _Line] = {}
        self._replies: dict[str, list[_Line]] = {}
        self._callers: dict[str, list[_Line]] = {}
        self._answers: dict[str, _Line] = {}
        for place, raw in enumerate(lines):
            line = _read(place, raw)
            if line is not None and line.uuid not in self._lines:
                self._take(line)
        last = next(reversed(self._lines.values()), None)
        self._branch = {line.uuid: line for line in self._whole(last)} if last is not None else {}
        self.prompts = tuple(line.uuid for line in self._branch.values() if line.is_prompt)
        """The prompts, oldest first; the first one has the number 1."""
        self.cuts = tuple(self._sound())
        """The sound points, oldest first."""

    def _take(self, line: _Line) -> None:
        self._lines[line.uuid] = line
        if line.reply:
            reply = self._replies.setdefault(line.reply, [])
            reply.append(line)
            self._callers.update((ident, reply) for ident, _ in line.calls)
        for ident in line.results:
            self._answers.setdefault(ident, line)

    def __contains__(self, uuid: object) -> bool:
        """Return whether a message is part of it."""
        return uuid in self._branch

    def sound_at(self, uuid: str) -> Cut | None:
        """Return the last sound point up to a message, that message included; None where there is none.

        For a prompt that is the point before it.
        """
        line = self._branch.get(uuid)
        if line is None:
            return None
        return next((cut for cut in reversed(self.cuts) if self._lines[cut.uuid].place <= line.place), None)

    def kept(self, cut: Cut) -> frozenset[str]:
        """Return the messages that a copy up to a cut holds.

        What was compacted stays in it, so that the copy can be cut before that again.
        """
        last = self._lines[cut.uuid]
        return frozenset(line.uuid for line in self._whole(last) if line.place <= last.place)

    def _whole(self, last: _Line) -> list[_Line]:
        """Return the branch that a line ends: the way back from it, and what hangs on that, in the file's order."""
        way = {line.uuid: line for line in self._back(last)}
        blocks = [block for line in way.values() if line.reply for block in self._replies[line.reply]]
        answered = {ident for line in way.values() for ident in line.results}
        others = (ident for block in blocks for ident, _ in block.calls if ident not in answered)
        beside = [*blocks, *(self._answers[ident] for ident in others if ident in self._answers)]
        found = way | {line.uuid: line for line in beside}
        return sorted(found.values(), key=lambda line: line.place)

    def _back(self, line: _Line | None) -> Iterator[_Line]:
        """Yield a line and all that stand before it, newest first."""
        seen: set[str] = set()
        while line is not None and line.uuid not in seen:
            seen.add(line.uuid)
            yield line
            line = self._lines.get(line.parent)

    def _sound(self) -> Iterator[Cut]:
        """Yield the points of the branch at which no call of a tool is open and no reply is cut in two."""
        last, open_calls, prompts = next(reversed(self._branch.values()), None), set[str](), 0
        for line in self._branch.values():
            prompts += line.is_prompt
            reply = self._replies.get(line.reply, [])
            if reply and line is reply[0]:
                open_calls |= {ident for block in reply for ident, _ in block.calls}
            open_calls.difference_update(line.results)
            if open_calls:
                continue
            if line.results:
                words = self._words(self._callers.get(line.results[-1], []))
                yield Cut(line.uuid, line.at, CutKind.TOOLS, words, prompts)
            elif reply and line is reply[-1] and _is_answer(reply, may_go_on=line is last):
                yield Cut(line.uuid, line.at, CutKind.REPLY, self._words(reply), prompts)

    def _words(self, reply: list[_Line]) -> str:
        said = "\n".join(block.words for block in reply if block.words)
        tools = ", ".join(tool_words(name) for block in reply for _, name in block.calls)
        return ": ".join(part for part in (tools, said) if part)[:_WORDS]


def _is_answer(reply: list[_Line], *, may_go_on: bool) -> bool:
    """Return whether a reply says something, calls nothing, and is whole: the last one may still be under way."""
    if any(block.calls or block.is_synthetic for block in reply) or not any(block.words.strip() for block in reply):
        return False
    return not may_go_on or any(block.is_over for block in reply)


def _read(place: int, raw: object) -> _Line | None:
    if not isinstance(raw, dict) or raw.get("isSidechain") is True:
        return None
    uuid, kind = raw.get("uuid"), str(raw.get("type"))
    if kind not in _LINKS or not isinstance(uuid, str) or not uuid:
        return None
    parent = raw.get("parentUuid") or raw.get("logicalParentUuid")
    line = _Line(place, uuid, parent if isinstance(parent, str) else "", _when(raw.get("timestamp")))
    message = raw.get("message")
    if isinstance(message, dict):
        blocks = _blocks(message.get("content"))
        line.words = "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))[:_WORDS]
        if kind == "assistant":
            _take_reply(line, message, blocks)
        elif kind == "user":
            _take_user(line, raw, blocks)
    return line


def _take_reply(line: _Line, message: Mapping[str, Any], blocks: list[dict[str, Any]]) -> None:
    ident = message.get("id")
    line.reply = ident if isinstance(ident, str) and ident else line.uuid
    line.calls = tuple(
        (str(block.get("id")), str(block.get("name"))) for block in blocks if block.get("type") == "tool_use"
    )
    line.is_synthetic = message.get("model") == _SYNTHETIC
    line.is_over = message.get("stop_reason") not in (None, "tool_use")


def _take_user(line: _Line, raw: Mapping[str, Any], blocks: list[dict[str, Any]]) -> None:
    line.results = tuple(str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result")
    marked = any(raw.get(name) for name in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"))
    line.is_prompt = bool(blocks) and not line.results and not marked and not line.words.startswith(_NOT_A_PROMPT)


def _blocks(content: object) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _when(value: object) -> float:
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
