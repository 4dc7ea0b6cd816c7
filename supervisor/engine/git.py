"""Running git, and names that git accepts.

Owns the one way this package starts git: without a terminal, in a process group of its own, with a deadline, and
ended with everything it started when its caller is cancelled.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import anyio

from supervisor.core.errors import WorktreeError
from supervisor.engine.process import end_group

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anyio.abc import ByteReceiveStream, Process

GIT_DEADLINE_S = 600.0
"""A checkout of a large repository takes minutes; a hook that waits for a person takes for ever."""

_ENV = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
_MAX_SLUG = 60
_ASKED_S = 2.0
"""How long a git that is not wanted any more may take to clean up."""


def slug(name: str) -> str:
    """Return a name that is safe as a file name and as a part of a branch name, and differs for differing names.

    git refuses ``~ ^ : ? * [ \\``, ``..``, ``@{``, a leading or trailing dot and ``.lock``; file systems have their own
    ideas about case, length and Unicode. Whatever had to be changed is told apart by a short hash.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
    safe = re.sub(r"\.{2,}", "-", safe).strip("-.")[:_MAX_SLUG].rstrip("-.")
    safe = re.sub(r"\.lock$", "-lock", safe, flags=re.IGNORECASE)
    if safe and safe == name:
        return safe
    return f"{safe or 'ticket'}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


def branch_of(batch: str, ticket: str) -> str:
    """Return the name of the branch that a ticket of a batch works on."""
    return f"supervise/{slug(batch)}/{slug(ticket)}"


@dataclass(frozen=True, slots=True)
class GitOutput:
    """What one git did."""

    command: str
    code: int
    """Its exit code; below zero the signal that ended it."""
    out: bytes
    err: bytes
    cut: bool = False
    """It printed more than was asked for, and was ended."""

    def checked(self) -> GitOutput:
        """Return itself. Raises WorktreeError with git's own words if it failed."""
        if self.code and not self.cut:
            ended = f"exit {self.code}" if self.code > 0 else f"it was ended by signal {-self.code}"
            words = self.err.decode(errors="replace").strip() or ended
            raise WorktreeError(f"git {self.command}: {words}", "see the message of git")
        return self


def git_config(values: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that sets configuration values for one git, on top of those that ours sets already."""
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdecimal() else 0
    env = {"GIT_CONFIG_COUNT": str(first + len(values))}
    for number, (key, value) in enumerate(values.items(), first):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env


async def git(
    cwd: Path, *args: str, check: bool = True, env: Mapping[str, str] | None = None, dies_with_us: bool = False
) -> str:
    """Run git and return what it printed, without the last newline. Raises WorktreeError with git's own words.

    A cancelled or overdue git is ended with everything it started.

    Args:
        cwd: where it runs.
        args: its arguments, the command first.
        check: raise if its exit code is not 0. One that a signal has ended answers nothing, and always raises.
        env: variables on top of our environment.
        dies_with_us: see ``run_git``.
    """
    done = await run_git(cwd, *args, env=env, dies_with_us=dies_with_us)
    if check or done.code < 0:
        done.checked()
    return done.out.decode(errors="replace").rstrip("\n")


async def run_git(
    cwd: Path,
    *args: str | bytes,
    env: Mapping[str, str] | None = None,
    feed: bytes | None = None,
    limit: int | None = None,
    dies_with_us: bool = False,
) -> GitOutput:
    """Run git and return all it did, as bytes. An exit code that is not 0 is not an error here.

    Args:
        cwd: where it runs.
        args: its arguments, the command first.
        env: variables on top of our environment.
        feed: what it reads on its standard input.
        limit: most bytes wanted of what it prints; a git that prints more is ended and its output cut to that.
        dies_with_us: let the kernel tell it to end when we die, where that can be: one that fills a large directory
            would still be at it when the next supervisor makes the same one. It is asked, and cleans up after itself.

    Raises WorktreeError if git is missing or overdue.
    """
    command = os.fsdecode(args[0])
    try:
        with anyio.CancelScope(shield=True):  # a start that is cut short leaves a git that nobody knows of
            process = await anyio.open_process(
                [*(_tied() if dies_with_us else ()), "git", *args],
                cwd=cwd,
                stdin=subprocess.DEVNULL if feed is None else subprocess.PIPE,
                env={**os.environ, **_ENV, **(env or {})},
                start_new_session=True,
            )
    except FileNotFoundError:
        if not cwd.is_dir():
            raise WorktreeError(f"{cwd} is not there", "see who removed it, then resume the ticket") from None
        raise WorktreeError("git is not installed", "install git and try again") from None
    except NotADirectoryError:
        raise WorktreeError(f"{cwd} is not a directory", "move it away, then resume the ticket") from None
    try:
        with anyio.fail_after(GIT_DEADLINE_S):
            out, err = await _talk(process, feed, limit)
    except TimeoutError:
        raise WorktreeError(f"git {command} did not end in {GIT_DEADLINE_S:.0f} s", "look at its hooks") from None
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                await _end(process)
            await process.aclose()
    cut = limit is not None and len(out) > limit
    return GitOutput(command, process.returncode or 0, bytes(out[:limit]), bytes(err), cut)


@cache
def _tied() -> tuple[str, ...]:
    """Return the words before a command that tie its life to ours; none where that cannot be done."""
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    return (setpriv, "--pdeathsig", "TERM", "--") if setpriv else ()


async def _end(process: Process) -> None:
    """End a git with what it started. It is asked first: one that is killed leaves its locks in the repository."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
    with anyio.move_on_after(_ASKED_S):
        await process.wait()
    end_group(process.pid)


async def _talk(process: Process, feed: bytes | None, limit: int | None) -> tuple[bytearray, bytearray]:
    async def drain(source: ByteReceiveStream | None, into: bytearray, most: int | None) -> None:
        if source is not None:
            async for chunk in source:
                into += chunk
                if most is not None and len(into) > most:
                    return end_group(process.pid)
        return None

    async def write() -> None:
        if process.stdin is not None and feed is not None:
            try:
                await process.stdin.send(feed)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # it ended before it had read all; its exit code says why
            await process.stdin.aclose()

    out, err = bytearray(), bytearray()
    async with anyio.create_task_group() as group:
        group.start_soon(drain, process.stdout, out, limit)
        group.start_soon(drain, process.stderr, err, None)
        group.start_soon(write)
    await process.wait()
    return out, err


async def commits(repo: Path, *names: str) -> list[str]:
    """Return the commits that some names stand for, all asked for at once; empty for one that names none."""
    feed = "".join("{}^{{commit}}\n".format(name.replace("\n", " ")) for name in names)
    told = (await run_git(repo, "cat-file", "--batch-check", feed=feed.encode())).checked().out
    lines = [line.split(b" ") for line in told.split(b"\n")[: len(names)]]
    return [words[0].decode() if words[1:2] == [b"commit"] else "" for words in lines]


def named_commit(base: str, commit: str) -> str:
    """Return the commit that a base names, as ``commits`` found it. Raises WorktreeError where it names none."""
    if not commit:
        raise WorktreeError(f"base {base!r} names no commit", "name a branch, tag or commit of the repository")
    return commit
