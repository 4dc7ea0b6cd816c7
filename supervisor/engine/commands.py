"""Commands the batch names (setup, verify): no shell, a process group of their own, a deadline and a bounded output."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from supervisor.core.redaction import Redactor
from supervisor.engine.process import end_command, end_group

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from anyio.abc import ByteReceiveStream

    from supervisor.core.redaction import RedactedStream

_GUARD = 'exec 3<&0 </dev/null; (read _ <&3; kill -KILL 0) & "$@" 3<&-; exit $?'
"""Runs a command while its own standard input, which we hold, is open.

When we die, however that happens, the pipe closes and the whole process group is killed: a setup that outlives its
supervisor would work in a worktree that the next one uses.
"""
_LAST_WORDS_S = 1.0
"""How long output is read after the command has ended: something that left its group may keep the pipe open."""
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
    argv: Sequence[str],
    cwd: Path,
    log: Path,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    clear: Redactor | None = None,
) -> Finished:
    """Run a command to its end. A cancelled caller ends the command too.

    Args:
        argv: the program and its arguments.
        cwd: where it starts.
        log: where all of its output goes, behind what is there already.
        timeout_s: seconds after which it is ended.
        env: its environment, on top of ours.
        clear: takes out of its output what must not be written down.
    """
    await anyio.to_thread.run_sync(lambda: log.parent.mkdir(parents=True, exist_ok=True))
    with log.open("ab", buffering=0) as file:
        try:
            with anyio.CancelScope(shield=True):  # a start that is cut short leaves a command that nobody knows of
                process = await anyio.open_process(
                    ["/bin/sh", "-c", _GUARD, "sh", *argv], cwd=cwd, stdin=subprocess.PIPE, stderr=subprocess.STDOUT,
                    env={**os.environ, **(env or {})}, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            return Finished(127, f"{argv[0]}: {error.strerror or error}")
        code: int | None = None
        said = _Said(file, (clear or Redactor({})).stream())
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(said.take, process.stdout)
                with anyio.move_on_after(timeout_s):
                    code = await process.wait()
                end_group(process.pid)  # whoever has left it may hold the pipe for ever
                group.cancel_scope.deadline = anyio.current_time() + _LAST_WORDS_S
        finally:
            await end_command(process)
            with anyio.CancelScope(shield=True):
                await said.end()
    return Finished(code, said.tail())


class _Said:
    """What a command says: all of it goes to a file, and its end is remembered."""

    def __init__(self, file: BinaryIO, clear: RedactedStream) -> None:
        self._file = file
        self._clear = clear
        self._tail = bytearray()
        self._size = 0

    async def take(self, source: ByteReceiveStream | None) -> None:
        """Read to the end. Reading goes on where the disk takes no more, or the command would wait for us."""
        if source is not None:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                async for chunk in source:
                    await self._keep(self._clear.feed(chunk))

    async def end(self) -> None:
        """Keep what was held back."""
        await self._keep(self._clear.end())

    def tail(self) -> str:
        """Return the end of it; what is not UTF-8 is replaced."""
        text = self._tail.decode(errors="replace")
        return f"…{text}" if self._size > TAIL_BYTES else text

    async def _keep(self, data: bytes) -> None:
        self._size += len(data)
        self._tail = (self._tail + data)[-TAIL_BYTES:]
        with suppress(OSError):
            await anyio.to_thread.run_sync(self._file.write, data)
