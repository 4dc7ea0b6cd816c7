"""Commands of the batch: bounded in time and output, and ended with everything they started."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.core.redaction import Redactor
from supervisor.engine import commands

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


async def _run(tmp_path: Path, *argv: str, seconds: float = 30.0) -> commands.Finished:
    return await commands.run(argv, tmp_path, tmp_path / "logs" / "x.log", seconds, {"SUPERVISOR_TICKET": "001"})


async def test_exit_code_and_output(tmp_path: Path) -> None:
    done = await _run(tmp_path, "sh", "-c", "echo out; echo err >&2; echo $SUPERVISOR_TICKET; pwd; exit 7")
    assert done.exit_code == 7
    assert done.output == f"out\nerr\n001\n{tmp_path}\n"


async def test_only_the_end_of_a_long_output_is_kept_and_all_of_it_logged(tmp_path: Path) -> None:
    await _run(tmp_path, "echo", "an earlier run")
    done = await _run(tmp_path, "sh", "-c", "seq 20000; echo the end")
    assert len(done.output) <= commands.TAIL_BYTES + 1
    assert done.output.startswith("…")
    assert done.output.endswith("20000\nthe end\n")
    assert (tmp_path / "logs" / "x.log").read_text().startswith("an earlier run\n1\n2\n")


async def test_a_program_that_is_missing(tmp_path: Path) -> None:
    done = await _run(tmp_path, "no-such-program")
    assert done.exit_code == 127
    assert "no-such-program" in done.output


async def test_a_deadline_ends_it_with_its_children(tmp_path: Path) -> None:
    done = await _run(tmp_path, "sh", "-c", "sleep 60 & echo $!; wait", seconds=0.5)
    assert done.exit_code is None
    child = int(done.output)
    with anyio.fail_after(30):
        while _runs(child):  # noqa: ASYNC110 - the kernel takes it away in its own time
            await anyio.sleep(0.01)


async def test_what_it_leaves_behind_is_ended_too(tmp_path: Path) -> None:
    done = await _run(tmp_path, "sh", "-c", "sleep 60 & echo $!")
    assert done.exit_code == 0
    child = int(done.output)
    with anyio.fail_after(30):
        while _runs(child):  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def test_it_has_no_input_to_wait_for(tmp_path: Path) -> None:
    assert (await _run(tmp_path, "cat", seconds=10.0)).exit_code == 0


async def test_secrets_are_neither_logged_nor_told(tmp_path: Path) -> None:
    clear, log = Redactor({"MY_TOKEN": "s3cr3t-value"}), tmp_path / "x.log"
    words = "printf s3cr3; sleep 0; printf 't-value and s3c'; exit 1"
    done = await commands.run(["sh", "-c", words], tmp_path, log, 30.0, clear=clear)
    assert done == commands.Finished(1, "[MY_TOKEN] and s3c")
    assert log.read_text() == done.output


async def test_what_leaves_its_group_with_the_pipe_is_not_waited_for(tmp_path: Path) -> None:
    with anyio.fail_after(30):
        done = await _run(tmp_path, "sh", "-c", "setsid sleep 60 & echo $!")
    os.kill(int(done.output), signal.SIGKILL)
    assert done.exit_code == 0


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_this_machine_has_proc() -> None:
    assert _runs(os.getpid())
