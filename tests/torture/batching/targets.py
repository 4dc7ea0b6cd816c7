"""Finds the processes of a tortured batch by the mark in their environment, says what each is, and hurts it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.engine.process import MARK as AGENTS_MARK
from supervisor.engine.process import ProcessId, descendants, identify, is_alive
from tests.torture.batching.scenario import MARK

_AGENT, _EFFECT = b"_bundled/claude", b"effect.sh"
"""What tells an agent, and the command of an effect, by its command line."""
_VARIABLES = (
    (b"SUPERVISOR_EFFECT_KEY=", "effect"),
    (f"{AGENTS_MARK}=".encode(), "command"),
    (b"SUPERVISOR_TICKET=", "check"),
)
"""What tells in the environment by whom a process was started; the first that fits."""

if TYPE_CHECKING:
    import signal


@dataclass(frozen=True, slots=True)
class Found:
    """One living process of a round."""

    process: ProcessId
    kind: str
    """``agent``, ``command`` (of an agent), ``effect``, ``check`` (or setup), ``git`` or ``other``.

    What an effect's command starts is ``helper``: it stands for the other system, which nobody here can kill.
    """
    line: str
    """Its command line, cut."""

    def __str__(self) -> str:
        return f"{self.kind} {self.process.pid} ({self.line})"


def find(mark: str) -> list[Found]:
    """Return the living processes that carry the mark of a round."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for entry in Path("/proc").iterdir():
        variables = _read(entry / "environ").split(b"\0") if entry.name.isdigit() else []
        if wanted in variables:
            process = identify(int(entry.name))
            words = _read(entry / "cmdline")
            if is_alive(process):
                found.append(Found(process, _kind(words, variables), _shown(words)))
    return found


def lone_commands(mark: str) -> list[Found]:
    """Return the commands of agents that are not below any agent any more."""
    found = find(mark)
    below = {child for one in found if one.kind == "agent" for child in descendants(one.process.pid)}
    return [one for one in found if one.kind == "command" and one.process not in below]


def _kind(words: bytes, variables: list[bytes]) -> str:
    if _AGENT in words:
        return "agent"
    for part, kind in _VARIABLES:
        if any(variable.startswith(part) for variable in variables):
            return "helper" if kind == "effect" and _EFFECT not in words else kind
    return "git" if words.split(b"\0")[0].rpartition(b"/")[2] == b"git" else "other"


def _shown(words: bytes) -> str:
    return words.replace(b"\0", b" ").decode(errors="replace").strip()[:100]


def _read(path: Path) -> bytes:
    with suppress(OSError):
        return path.read_bytes()
    return b""


def send(process: ProcessId, number: signal.Signals, *, group: bool = False) -> bool:
    """Send a signal to that very process, or to its group; return whether it was there to get it."""
    with suppress(ProcessLookupError):
        if is_alive(process):
            if group:
                os.killpg(os.getpgid(process.pid), number)
            else:
                os.kill(process.pid, number)
            return True
    return False
