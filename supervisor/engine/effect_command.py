"""Runs one effect command: no shell, a process group of its own, a small environment, and a gate before it.

The command waits for a first line on its standard input until its process is written down, so a claim always names what
may still be running. If we die before that, the pipe closes and the command never runs.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from supervisor.core.redaction import Redactor
from supervisor.engine.process import end_command, identify

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from anyio.abc import ByteReceiveStream

    from supervisor.core.redaction import RedactedStream

_GATE = 'read -r go || exit 65; exec "$@"'
"""A shell reads a pipe byte by byte, so the rest of the input is still there for the command."""
_LAST_WORDS_S = 1.0
"""How long output is read after the command has ended: something it left behind may keep the pipe open for ever."""
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What every command needs to find its way; anything else it asks for by name."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    exit_code: int
    output: str
    """Standard output, without the last line break; what is not UTF-8 is replaced."""
    error: str


def environment(names: Sequence[str], *, key: str, ticket: str) -> dict[str, str]:
    """Return a command's whole environment."""
    passed = {name: os.environ[name] for name in (*_PASSED_ON, *names) if name in os.environ}
    return {**passed, "SUPERVISOR_EFFECT_KEY": key, "SUPERVISOR_TICKET": ticket}


async def run(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    given: bytes,
    most: int,
    note: Callable[[int, int | None], Awaitable[None]] | None,
    clear: Redactor | None = None,
) -> Ran:
    """Run a command to its end.

    Args:
        argv: the program and its arguments; the program must exist.
        cwd: where it starts.
        env: its whole environment.
        given: its standard input.
        most: bytes kept of its output and of its errors; the rest is read and dropped.
        note: writes the process down before it is let go; None for a command that changes nothing.
        clear: takes secrets out of what it says, before that is cut: half of one could not be told any more.

    A cancelled or overdue command is killed with everything it started.
    """
    process = await anyio.open_process(
        ["/bin/sh", "-c", _GATE, "sh", *argv], cwd=cwd, env=dict(env), stdin=subprocess.PIPE, start_new_session=True
    )
    output, error = bytearray(), bytearray()
    clear = clear or Redactor({})
    try:
        if note is not None:
            await note(process.pid, identify(process.pid).start)
        async with anyio.create_task_group() as group:
            group.start_soon(_keep, process.stdout, output, most, clear.stream())
            group.start_soon(_keep, process.stderr, error, most, clear.stream())
            group.start_soon(_give, process.stdin, b"go\n" + given)
            code = await process.wait()
            group.cancel_scope.deadline = anyio.current_time() + _LAST_WORDS_S
    finally:
        await end_command(process)
    return Ran(code, _text(output), _text(error))


async def _keep(source: ByteReceiveStream | None, into: bytearray, most: int, clear: RedactedStream) -> None:
    if source is not None:
        try:
            async for chunk in source:
                into += clear.feed(chunk)[: max(0, most - len(into))]
        finally:
            into += clear.end()[: max(0, most - len(into))]


async def _give(sink: anyio.abc.ByteSendStream | None, given: bytes) -> None:
    """A command that does not read its input is no fault."""
    if sink is None:
        return
    try:
        await sink.send(given)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass
    finally:
        await sink.aclose()


def _text(raw: bytearray) -> str:
    return raw.decode(errors="replace").rstrip("\n")
