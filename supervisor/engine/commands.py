"""Commands the batch names (setup, verify): no shell, a process group of their own, a deadline and a bounded output."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from supervisor.engine.process import end_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_GUARD = 'exec 3<&0 </dev/null; (read _ <&3; kill -KILL 0) & "$@" 3<&-; exit $?'
"""Runs a command while its own standard input, which we hold, is open.

When we die, however that happens, the pipe closes and the whole process group is killed: a setup that outlives its
supervisor would work in a worktree that the next one uses.
"""
TAIL_BYTES = 6_000
"""How much of the end of a command's output is shown and sent on; the log file has all of it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    exit_code: int | None
    """None when it ran out of time; 127 when it could not be started."""
    output: str
    """The end of its standard output and error, mixed as they came."""


async def run(
    argv: Sequence[str], cwd: Path, log: Path, timeout_s: float, env: Mapping[str, str] | None = None
) -> Finished:
    """Run a command to its end, its output going to ``log``. A cancelled caller ends the command too."""
    await anyio.to_thread.run_sync(lambda: log.parent.mkdir(parents=True, exist_ok=True))
    with log.open("ab") as sink:
        start = sink.tell()
        try:
            with anyio.CancelScope(shield=True):  # a start that is cut short leaves a command that nobody knows of
                process = await anyio.open_process(
                    ["/bin/sh", "-c", _GUARD, "sh", *argv], cwd=cwd, stdin=subprocess.PIPE, stdout=sink, stderr=sink,
                    env={**os.environ, **(env or {})}, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            return Finished(127, f"{argv[0]}: {error.strerror or error}")
        code: int | None = None
        try:
            with anyio.move_on_after(timeout_s):
                code = await process.wait()
        finally:
            await end_command(process)
    return Finished(code, await anyio.to_thread.run_sync(_tail, log, start))


def _tail(log: Path, start: int) -> str:
    with log.open("rb") as source:
        end = source.seek(0, os.SEEK_END)
        source.seek(max(start, end - TAIL_BYTES))
        text = source.read().decode(errors="replace")
    return f"…{text}" if end - start > TAIL_BYTES else text
