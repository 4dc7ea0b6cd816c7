"""The end of a command that is not its own: whatever ends us or our waiting ends it, with everything it started."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core.errors import WorktreeError
from supervisor.engine import commands
from supervisor.engine.git import git
from tests.engine.world import Pipe

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

pytestmark = pytest.mark.anyio
DEADLINE_S = 45.0
_SUPERVISOR = """\
import anyio, sys
from pathlib import Path
from supervisor.engine.commands import run
anyio.run(run, sys.argv[2:], Path(sys.argv[1]), Path(sys.argv[1]) / "log", 600.0)
"""


@pytest.mark.parametrize("child", [False, True], ids=["itself", "its-child"])
async def test_a_command_dies_with_a_killed_supervisor(tmp_path: Path, child: bool) -> None:
    """Also what it started and left behind."""
    pipe = Pipe(tmp_path / "pipe")
    command = ["sh", "-c", '"$@" & wait', "sh", *pipe.command] if child else pipe.command
    with anyio.fail_after(DEADLINE_S):
        supervisor = await anyio.open_process([sys.executable, "-c", _SUPERVISOR, str(tmp_path), *command])
        async with supervisor:
            await pipe.pid()
            os.kill(supervisor.pid, signal.SIGKILL)
            await pipe.end()


_GIT = """\
import anyio, sys
from functools import partial
from pathlib import Path
from supervisor.engine.git import git
anyio.run(partial(git, Path(sys.argv[1]), "worktree", "add", dies_with_us=True))
"""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="nothing ties a process to its parent here")
async def test_a_git_that_makes_a_worktree_dies_with_a_killed_supervisor(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path / "pipe")
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\n{pipe.command[-1]}\n")
    program.chmod(0o700)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with anyio.fail_after(DEADLINE_S):
        async with await anyio.open_process([sys.executable, "-c", _GIT, str(tmp_path)], env=env) as supervisor:
            await pipe.pid()
            os.kill(supervisor.pid, signal.SIGKILL)
            await pipe.end()


async def test_a_git_that_was_killed_answers_nothing(tmp_path: Path) -> None:
    """Not even a no: whoever asks whether there is a branch would make it again."""
    with pytest.raises(WorktreeError, match=r"git -c: it was ended by signal 9"):
        await git(tmp_path, "-c", "alias.die=!kill -KILL $PPID", "die", check=False)


async def test_a_git_that_is_not_wanted_any_more_may_clean_up(tmp_path: Path) -> None:
    pipe, mark = Pipe(tmp_path / "pipe"), tmp_path / "cleaned"
    script = f"trap 'touch {mark}; exit' TERM; exec 9>{tmp_path}/pipe; echo $$ >&9; while :; do sleep 0.01; done"
    with anyio.fail_after(DEADLINE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: git(tmp_path, "-c", f"alias.wait=!{script}", "wait", check=False))
            await pipe.pid()
            group.cancel_scope.cancel()
        await pipe.end()
    assert mark.exists()


CALLS: dict[str, Callable[[Path], Awaitable[object]]] = {
    "command": lambda path: commands.run(["sleep", "600"], path, path / "log", 600.0),
    "git": lambda path: git(path, "-c", "alias.wait=!exec sleep 600", "wait", check=False),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_start_that_is_cut_short_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[[Path], Awaitable[object]]
) -> None:
    """A wish may come between the start of a process and the moment we hold it."""
    started: list[Any] = []
    scope = anyio.CancelScope()
    really = anyio.open_process

    async def opened(*args: Any, **more: Any) -> Any:
        started.append(await really(*args, **more))
        scope.cancel()
        await anyio.lowlevel.checkpoint()
        return started[-1]

    monkeypatch.setattr(anyio, "open_process", opened)
    with scope:
        await call(tmp_path)
    with anyio.fail_after(DEADLINE_S):
        assert await started[0].wait() is not None
        await started[0].aclose()
