"""What one scripted step is, and the marks it leaves in a conversation. Pure; knows neither TOML nor HTTP."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

FOR_EVER = -1
"""``times`` of an outage that never ends."""

OutageKind = Literal["status", "drop", "endless"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of a scripted message."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens a step claims to have cost. The CLI makes money of them at the model's prices."""

    input: int = 1200
    output: int = 240
    cache_read: int = 0
    cache_write: int = 0

    def wire(self) -> dict[str, int]:
        """Return the usage object of the Messages API."""
        return {
            "input_tokens": self.input,
            "output_tokens": self.output,
            "cache_read_input_tokens": self.cache_read,
            "cache_creation_input_tokens": self.cache_write,
        }


@dataclass(frozen=True, slots=True)
class Outage:
    """A step that does not end in a message: an HTTP error, a dropped connection or an endless stream."""

    kind: OutageKind
    times: int = 1
    """How many requests meet it before the script moves on; ``FOR_EVER`` never does."""
    status: int = 0
    error_type: str = ""
    retry_after: float | None = None
    """Seconds, sent as the ``retry-after`` header."""

    def is_over(self, served: int) -> bool:
        """Say whether the outage is over once it has been served that many times."""
        return self.times != FOR_EVER and served >= self.times


@dataclass(frozen=True, slots=True)
class Step:
    """One response of the scripted Messages API."""

    text: str = ""
    """Already padded to ``size``. For a ``status`` outage it is the error's message."""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    delay_s: float = 0.0
    """Seconds before the first byte."""
    chunk_s: float = 0.0
    """Seconds between streamed deltas."""
    outage: Outage | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """The text by which a step without tools is found again; empty if it has none."""
        return "" if self.calls or self.outage else self.text.strip()


def tool_use_id(ticket: str, step: int, call: int) -> str:
    """Mint the id of a tool call, the same every time, so that any later request tells which step came before it."""
    digest = hashlib.sha256(f"{ticket}\0{step}\0{call}".encode()).hexdigest()
    return f"toolu_{digest[:24]}"
