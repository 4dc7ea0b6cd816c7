"""The recorded streams, as the SDK hands them out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import claude_agent_sdk
from claude_agent_sdk._internal.message_parser import parse_message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HERE = Path(__file__).parent
CASES = tuple(sorted(path.stem for path in HERE.glob("*.jsonl")))


@dataclass(frozen=True, slots=True)
class Recorded:
    """One call of the real CLI. See ``record.py``."""

    session_id: str
    prompt_uuid: str
    resumed: bool
    interrupted: bool
    wire: tuple[dict[str, Any], ...]
    raised: dict[str, Any] | None

    def messages(self) -> list[Any]:
        """Return what the SDK makes of the lines: it keeps some for itself, and passes over kinds it does not know."""
        lines = (line for line in self.wire if line.get("sdk_host_only") is not True)
        return [message for message in map(parse_message, lines) if message is not None]

    def error(self) -> Exception | None:
        """Return what ``query`` raised."""
        if self.raised is None:
            return None
        told = dict(self.raised)
        words = told.pop("message").split(" (exit code", 1)[0]
        kind = getattr(claude_agent_sdk, told.pop("type"))
        if kind is claude_agent_sdk.ResultError:
            return kind(words, told, exit_code=told["exit_code"])  # type: ignore[no-any-return]
        return kind(words, exit_code=told["exit_code"])  # type: ignore[no-any-return]

    async def play(self, *, yields: bool = True) -> AsyncIterator[Any]:
        """Yield and raise what ``query`` did."""
        for message in self.messages() if yields else ():
            yield message
        error = self.error()
        if error is not None:
            raise error


def load(case: str) -> Recorded:
    """Read a recording."""
    head, *lines = [json.loads(line) for line in (HERE / f"{case}.jsonl").read_text("utf-8").splitlines()]
    told = {name: head[name] for name in ("session_id", "prompt_uuid", "resumed", "interrupted", "raised")}
    return Recorded(**told, wire=tuple(lines))
