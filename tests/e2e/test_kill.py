"""Whoever is killed, and by whom: no agent and no command of one is left behind, and the ticket goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core.model import Outcome, State
from supervisor.engine.process import ProcessId, descendants, is_alive
from supervisor.store.database import connect_readonly
from tests.e2e.stage import Stage, agents, bash, is_written, make_repo, say, ticket, until, until_state
from tests.e2e.terminal import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


pytestmark = [
    pytest.mark.anyio,
    pytest.mark.cli,
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc"),
]
ROOT = Path(__file__).parents[2]
SECONDS = "611"
"""Tells our command from any other."""
COMMAND = bash(f"sleep {SECONDS}")


def _commands(pid: int) -> list[ProcessId]:
    """The commands that agents below a process run right now."""
    return [p for p in descendants(pid) if _line(p.pid).startswith(f"sleep {SECONDS}")]


def _line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


async def _at_work(stage: Stage) -> tuple[ProcessId, ProcessId]:
    """Wait until the agent runs its command, and its session's file says so; return both."""
    await until(lambda: _commands(os.getpid()) and is_written(stage.root, SECONDS), 60)
    (agent,), (command,) = agents(), _commands(os.getpid())
    return agent, command


FILE = f"""
[batch]
slots = 1
[[ticket]]
id = "001"
prompt = "Work."
model = "sonnet"
permission_mode = "acceptEdits"
allowed_tools = ["Bash"]
[[ticket.rehearsal]]
tool = "Bash"
input = {{ command = "sleep {SECONDS}", description = "work" }}
[[ticket.rehearsal]]
text = "All done."
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Start a rehearsal in a process of its own, or start it again; it is ended with the test."""
    file = make_repo(tmp_path / "repo") / "tickets.toml"
    file.write_text(FILE)
    argv = [sys.executable, "-m", "supervisor", "rehearse", str(file), "--headless", "--state-dir"]
    started: list[subprocess.Popen[str]] = []

    def go() -> subprocess.Popen[str]:
        process = subprocess.Popen([*argv, str(tmp_path / "kept")], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield go
    for process in started:
        process.kill()
        process.communicate()


def _family(supervisor: subprocess.Popen[str], root: Path) -> tuple[ProcessId, ProcessId]:
    """Wait until the agent runs its command, and its session's file says so; return both."""
    wait_until(lambda: _commands(supervisor.pid) and is_written(root, SECONDS), 60)
    (command,) = _commands(supervisor.pid)
    return next(p for p in descendants(supervisor.pid) if "_bundled/claude" in _line(p.pid)), command


def test_a_killed_supervisor_takes_its_agents_and_their_commands_along(
    start: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    supervisor = start()
    agent, command = _family(supervisor, tmp_path)
    left = [agent, command, *descendants(supervisor.pid)]
    supervisor.kill()
    wait_until(lambda: not any(map(is_alive, left)), 15)


def test_what_both_have_left_is_ended_by_the_next_start(
    start: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    """Neither the supervisor nor the agent is there to end the command, nor to know of it."""
    supervisor = start()
    agent, command = _family(supervisor, tmp_path)
    os.kill(supervisor.pid, signal.SIGSTOP)  # it would see its agent die
    for pid in (agent.pid, supervisor.pid):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(agent))
    assert is_alive(command)
    again = start()
    assert again.stdout is not None
    assert "recovered: 1 cut-off attempt closed" in again.stdout.readline()
    assert not is_alive(command), "before anything is started"
    again.communicate(timeout=60)
    assert again.returncode == 0
    db = connect_readonly(tmp_path / "kept" / ".supervisor" / "state.db")
    rows = list(db.query("SELECT outcome, session_id FROM attempts ORDER BY number"))
    db.close()
    assert [row["outcome"] for row in rows] == ["lost", "done"]
    assert len({row["session_id"] for row in rows}) == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_the_command_of_an_agent_that_was_killed_does_not_go_on(stage: Stage, number: signal.Signals) -> None:
    """As when memory runs out: the kernel kills the agent, and its command has a session of its own.

    An agent that is told to end takes its shell along, but not always what that was running.
    """
    async with stage.batch(stage.spec(ticket()), {"001": [COMMAND, say("All done.")]}) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            agent, command = await _at_work(stage)
            os.kill(agent.pid, number)
            await until(lambda: not is_alive(agent))
            await until(lambda: not is_alive(command))
        assert batch.board["001"].state is State.DONE
        attempts = await batch.engine.journal.store.attempts("001")
    assert [a.outcome for a in attempts] == [Outcome.CRASHED, Outcome.DONE]
    assert attempts[0].session_id == attempts[1].session_id


async def test_an_agent_that_does_not_hear_the_interrupt(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervisor.engine.turns.RESULT_GRACE_S", 1.0)
    async with stage.batch(stage.spec(ticket()), {"001": [COMMAND, say("All done.")]}) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            agent, command = await _at_work(stage)
            os.kill(agent.pid, signal.SIGSTOP)
            batch.submit("interrupt", ["001"])
            with anyio.fail_after(30):
                await until_state(batch, "001", State.PAUSED)
            assert not is_alive(agent)
            assert not is_alive(command)
        (attempt,) = await batch.engine.journal.store.attempts("001")
    assert attempt.outcome is Outcome.INTERRUPTED


async def test_a_turn_that_says_nothing_is_interrupted_and_gone_on_with(stage: Stage) -> None:
    endless: dict[str, Any] = {"endless": True, "text": "and so on"}
    spec = ticket(stall_minutes=0.03)
    async with stage.batch(stage.spec(spec), {"001": [endless, say("All done.")]}) as batch:
        await batch.pool.run()
        assert batch.board["001"].state is State.DONE
        first, second = await batch.engine.journal.store.attempts("001")
    assert (first.outcome, first.detail) == (Outcome.INTERRUPTED, "no message for 0.03 minutes")
    assert first.terminal_reason == "aborted_streaming", "it has heard the interrupt"
    assert (second.outcome, second.session_id) == (Outcome.DONE, first.session_id)


async def test_what_an_agent_uses_is_known(stage: Stage) -> None:
    async with stage.batch(stage.spec(ticket()), {"001": [COMMAND, say("All done.")]}) as batch:
        memory = batch.engine.memory
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            await _at_work(stage)
            await memory.look()
            assert 50_000_000 < memory.used["001"] < 2_000_000_000
            batch.request_stop()
        assert memory.used == {}
