"""Processes: they die with us, they are ended with everything they started, and nobody else is touched."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from supervisor.core.model import AttemptRecord, Mode
from supervisor.engine import recovery
from supervisor.engine.process import (
    MARK,
    ProcessId,
    command_line,
    descendants,
    end_all,
    families,
    identify,
    is_alive,
    marked,
    stop,
    wait_gone,
    write_launcher,
)
from tests.e2e.terminal import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")]
AWAY = "setsid sleep 600 & echo $!; wait"
"""Starts a child in a session of its own, as the CLI does with commands, and tells its pid."""


@contextmanager
def started(script: str, **env: str) -> Iterator[tuple[ProcessId, list[ProcessId]]]:
    """Start a shell that prints pids, one a line, and return it and those processes once they are what they will be.

    A child's pid is known before it has become another program than the shell.
    """
    shell = subprocess.Popen(
        ["sh", "-c", script], stdout=subprocess.PIPE, text=True, env={**os.environ, **env}, start_new_session=True
    )
    me = identify(shell.pid)
    children: list[ProcessId] = []
    try:
        assert shell.stdout is not None
        children += [identify(int(shell.stdout.readline())) for _ in range(script.count("echo $!"))]
        wait_until(lambda: not any("echo" in command_line(child.pid) for child in children), 10.0)
        yield me, children
    finally:
        for one in (me, *children):
            if is_alive(one):
                os.kill(one.pid, signal.SIGKILL)
        shell.wait()
        assert shell.stdout is not None
        shell.stdout.close()


async def test_stop_ends_a_process_and_its_children_in_other_sessions() -> None:
    with started(AWAY) as (shell, (child,)):
        assert descendants(shell.pid) == [child]
        assert families([shell, replace(shell, start=1)]) == {shell: [child], replace(shell, start=1): []}
        assert await stop(shell)
        assert not is_alive(child)


async def test_stop_kills_what_does_not_listen_and_what_it_starts_meanwhile() -> None:
    script = f'trap "setsid sleep 600 & echo \\$!" TERM; {AWAY}; while :; do sleep 600; done'
    with started(AWAY) as _, started(script) as (shell, children):
        assert await stop(shell, grace_s=0.5)
        assert [one for one in children if is_alive(one)] == []


async def test_stop_reaches_a_process_that_was_frozen() -> None:
    with started('trap "exit 0" TERM; sleep 600 & echo $!; wait') as (shell, _):
        os.kill(shell.pid, signal.SIGSTOP)
        with anyio.fail_after(4):
            assert await stop(shell)


async def test_a_pid_that_belongs_to_somebody_else_by_now_is_left_alone() -> None:
    with started(AWAY) as (shell, (child,)):
        for other in (replace(shell, start=(shell.start or 0) - 1), replace(shell, boot_id="another")):
            assert not is_alive(other)
            assert await stop(other)
            assert await end_all([other])
        assert is_alive(shell)
        assert is_alive(child)


async def test_what_an_agent_has_left_is_found_by_its_mark() -> None:
    ours, other = str(uuid.uuid4()), str(uuid.uuid4())
    with started(AWAY, **{MARK: ours}) as (shell, (child,)), started(AWAY, **{MARK: other}) as (stranger, _):
        os.kill(shell.pid, signal.SIGKILL)
        assert await wait_gone(shell, 5)
        assert is_alive(child), "it has lost its parent"
        assert marked({ours}) == [child]
        assert marked(set()) == []
        assert await end_all(marked({ours}))
        assert not is_alive(child)
        assert is_alive(stranger)


async def test_who_was_gone_when_it_was_named_is_nobody_later() -> None:
    """Its pid may be given out again at any time."""
    with started(AWAY) as (shell, (child,)):
        gone = replace(shell, start=None)
        assert not is_alive(gone)
        assert await stop(gone)
        assert await end_all([gone])
        assert is_alive(child)
    assert identify(shell.pid).start is None


@pytest.mark.parametrize("named", [True, False], ids=["ours", "another"])
async def test_without_start_times_a_survivor_is_told_by_its_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """As on macOS: a pid from before, and the CLI's own register, prove nothing."""
    session = str(uuid.uuid4())
    attempt = AttemptRecord("001", 1, Mode.FRESH, session, 1.0)
    with started("sleep 600 & echo $!; wait") as (_, (child,)):
        bare = replace(child, start=None)
        monkeypatch.setattr(recovery, "is_alive", lambda process: process == bare)
        monkeypatch.setattr(recovery, "identify", lambda _: bare)
        monkeypatch.setattr(recovery, "ProcessId", lambda *_: bare)
        if named:
            monkeypatch.setattr(recovery, "command_line", lambda pid: f"claude --resume {session}" * (pid == child.pid))
        (tmp_path / "sessions").mkdir()
        (tmp_path / "sessions" / "1.json").write_text(json.dumps({"pid": child.pid, "sessionId": session}))
        by_row = recovery.survivors(tmp_path / "none", [replace(attempt, pid=child.pid, boot_id=child.boot_id)])
        by_register = recovery.survivors(tmp_path, [attempt])
        assert by_row == by_register == ([bare] if named else [])
        assert command_line(child.pid).strip() == "sleep 600"


WAYS = {"setpriv": shutil.which, "python": lambda _: None}
"""How the launcher asks for the signal: by a tool, or where that is missing by Python."""


@pytest.mark.parametrize("way", WAYS)
async def test_who_is_launched_dies_with_us(tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "setpriv" and not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    monkeypatch.setattr(shutil, "which", WAYS[way])
    program = tmp_path / "a program"
    program.write_text('#!/bin/sh\necho "$$ $(ps -o pgid= -p $$) $1"\nexec sleep 600\n')
    program.chmod(0o700)
    launcher = write_launcher(tmp_path / "launcher", program)
    assert list(tmp_path.glob(".launcher*")) == [], "it is written in one step"
    code = f"import subprocess; subprocess.Popen([{str(launcher)!r}, 'a b']).wait()"
    parent = await anyio.open_process([sys.executable, "-c", code], stdin=subprocess.DEVNULL)
    try:
        assert parent.stdout is not None
        with anyio.fail_after(30):
            line = await BufferedByteReceiveStream(parent.stdout).receive_until(b"\n", 1000)
        pid, group, given = line.decode().split(maxsplit=2)
        launched = identify(int(pid))
        assert (group, given) == (pid, "a b"), "it leads a group of its own, and gets its arguments as they are"
        assert is_alive(launched)
    finally:
        parent.kill()
        await parent.aclose()
    assert await wait_gone(launched, 5)
