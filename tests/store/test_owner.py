"""Proof of death: never a guess, and never about a process that merely has the same number."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from supervisor.store.owner import is_proved_dead, this_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.core.effects import Owner

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="start times are read from /proc")


@contextmanager
def _child(program: str) -> Iterator[subprocess.Popen[str]]:
    """A process in a group of its own that has said it is ready."""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child
        if child.stdin is not None:
            child.stdin.close()


WAIT = "import sys; print('ready', flush=True); sys.stdin.read()"


def _named(pid: int, *, group: bool = False) -> Owner:
    with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
        start = int(stat.read().rpartition(")")[2].split()[19])
    return replace(this_process(), pid=pid, start=start, group=group)


def test_we_are_not_dead() -> None:
    me = this_process()
    assert me.pid == os.getpid()
    assert not is_proved_dead(me)


def test_a_process_is_dead_once_it_has_ended_reaped_or_not() -> None:
    with _child(WAIT) as child:
        named = _named(child.pid)
        assert not is_proved_dead(named)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert is_proved_dead(named), "a zombie runs nothing"
    assert is_proved_dead(named)


def test_a_stopped_process_is_not_dead() -> None:
    with _child(WAIT) as child:
        os.kill(child.pid, signal.SIGSTOP)
        assert not is_proved_dead(_named(child.pid))
        os.kill(child.pid, signal.SIGCONT)


def test_another_process_of_the_same_number_is_proof() -> None:
    me = this_process()
    assert me.start is not None
    assert is_proved_dead(replace(me, start=me.start - 1))
    assert not is_proved_dead(replace(me, start=None))


def test_a_new_boot_is_proof_and_an_unknown_one_is_not() -> None:
    me = this_process()
    assert is_proved_dead(replace(me, boot_id="another"))
    assert not is_proved_dead(replace(me, boot_id=None))


def test_nothing_is_proved_about_another_host_or_namespace() -> None:
    gone = replace(this_process(), pid=2**22 + 1, start=1)
    assert is_proved_dead(gone)
    assert not is_proved_dead(replace(gone, host="elsewhere"))
    assert not is_proved_dead(replace(gone, host="elsewhere", boot_id="another"))
    assert not is_proved_dead(replace(gone, namespace=1))


def test_a_group_is_dead_only_when_its_last_member_is() -> None:
    program = "import os, sys\nif os.fork() == 0:\n    print(os.getpid(), flush=True)\nsys.stdin.read()\n"
    with _child(program) as leader:
        group = _named(leader.pid, group=True)
        assert not is_proved_dead(group)
        leader.kill()
        os.waitid(os.P_PID, leader.pid, os.WEXITED | os.WNOWAIT)
        assert is_proved_dead(replace(group, group=False))
        assert not is_proved_dead(group), "its child goes on"
        leader.wait()
        assert not is_proved_dead(group)
        assert leader.stdin is not None
        assert leader.stdout is not None
        leader.stdin.close()
        leader.stdout.read()
        assert _soon(lambda: is_proved_dead(group))


def _soon(condition: object) -> bool:
    """The child has closed its output; until init has reaped it, it may still be about to become a zombie."""
    return any(condition() for _ in range(100_000))  # type: ignore[operator]
