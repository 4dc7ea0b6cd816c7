"""The witness log: one JSON line per served request and one when it has ended. Never a prompt, never a key.

It is the only memory of the rehearsal server: a server that starts on the same log goes on where the last one was.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WitnessEvent = Literal["served", "finished", "cut", "error"]


@dataclass(frozen=True, slots=True)
class Served:
    """One line of the log. A request is one ``served`` line and, unless the server died, one of the others."""

    at: float
    """Seconds since the epoch."""
    ticket: str
    session: str | None
    """The CLI's ``X-Claude-Code-Session-Id`` header."""
    step: int | None
    """Index of the step; the script's length once it is over, None for subagents and side requests."""
    event: WitnessEvent
    status: int
    """HTTP status of the answer."""
    usage: dict[str, int] | None
    """Tokens the answer claims, in the API's names; None if it claims none."""
    agent: str | None
    """The ``x-claude-code-agent-id`` header of a subagent's request."""
    key: str | None
    """Twelve hex digits of the API key's SHA-256."""


class Witness:
    """Appends to the log and counts what it holds."""

    def __init__(self, path: Path) -> None:
        self._counts = Counter((line.ticket, line.step) for line in read_log(path) if line.event == "served")
        # O_APPEND keeps lines whole; unbuffered, so a line is there before the first byte of its answer.
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        if _is_torn(path):
            os.write(self._file, b"\n")

    def count(self, ticket: str, step: int) -> int:
        """Return how many requests of a ticket were answered with that step."""
        return self._counts[ticket, step]

    def serve(self, line: Served) -> None:
        """Log a request that is about to be answered."""
        self._counts[line.ticket, line.step] += 1
        self._append(line)

    def end(self, line: Served, event: WitnessEvent) -> None:
        """Log how a served request ended."""
        self._append(replace(line, at=time.time(), event=event))

    def _append(self, line: Served) -> None:
        os.write(self._file, json.dumps(asdict(line)).encode() + b"\n")


def read_log(path: Path) -> Iterator[Served]:
    """Yield the lines of a log; a missing log is empty, a torn line is passed over."""
    if not path.exists():
        return
    names = {field.name for field in fields(Served)}
    for raw in path.read_bytes().splitlines():
        try:
            line = json.loads(raw)
        except ValueError:
            continue
        if isinstance(line, dict) and names <= line.keys():
            yield Served(**{name: line[name] for name in names})


def fingerprint(key: str | None) -> str | None:
    """Return enough of a key's SHA-256 to tell keys apart."""
    return hashlib.sha256(key.encode()).hexdigest()[:12] if key else None


def _is_torn(path: Path) -> bool:
    written = path.read_bytes()
    return bool(written) and not written.endswith(b"\n")
