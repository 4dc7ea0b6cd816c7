"""However it is stopped: no agent left, terminal restored, state true, exit code right; and it goes on afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.control_client import ask
from supervisor.engine.process import ProcessId, descendants, is_alive
from tests.e2e.terminal import Terminal, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.cli, pytest.mark.timeout(240)]
ROOT = Path(__file__).parents[2]
PATIENT = "import sys; from supervisor import cli; from supervisor.engine import turns\n"
PATIENT += "turns.RESULT_GRACE_S = 1000.0\nsys.exit(cli.main())"
"""Waits for an agent's ending longer than any test does."""


def _agents(pid: int) -> list[ProcessId]:
    found = []
    for process in descendants(pid):
        try:
            words = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"_bundled/claude" in words:
            found.append(process)
    return found


def _status(home: Path) -> dict[str, Any]:
    argv = [sys.executable, "-m", "supervisor", "status", str(home / "tinyshop" / "tickets.toml"), "--json"]
    done = subprocess.run(
        [*argv, "--state-dir", str(home / ".supervisor")], cwd=ROOT, capture_output=True, check=True, timeout=30
    )
    data: dict[str, Any] = json.loads(done.stdout)
    return data


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Start the sample batch in a terminal and wait until agents are at work."""
    started: list[Terminal] = []

    def go(*more: str, program: tuple[str, str] = ("-m", "supervisor")) -> Terminal:
        argv = [sys.executable, *program, "rehearse", "--state-dir", str(tmp_path / "kept"), *more]
        terminal = Terminal(argv, ROOT, dict(os.environ))
        started.append(terminal)
        wait_until(lambda: len(_agents(terminal.process.pid)) >= 2 and _served(tmp_path / "kept") >= 3)
        return terminal

    yield go
    for terminal in started:
        terminal.close()


def _served(home: Path) -> int:
    log = home / "api" / "served.jsonl"
    return log.read_text().count('"served"') if log.exists() else 0


def _check_rest(home: Path, agents: list[ProcessId]) -> None:
    assert [a for a in agents if is_alive(a)] == [], "an agent is left"
    status = _status(home)
    assert status["running"] is False
    assert {t["state"] for t in status["tickets"]} <= {"queued", "done", "needs_you"}, "nothing claims to be running"
    assert any(t["state"] == "queued" and t["session_id"] for t in status["tickets"]), (
        "the interrupted keep their session"
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
@pytest.mark.parametrize("how", ["screen", "headless"])
def test_a_signal(start: Callable[..., Terminal], tmp_path: Path, number: signal.Signals, code: int, how: str) -> None:
    terminal = start(*(["--headless"] if how == "headless" else []))
    agents = _agents(terminal.process.pid)
    os.kill(terminal.process.pid, number)
    assert terminal.wait(60) == code
    assert terminal.settings() == terminal.before
    if how == "screen":
        assert b"\x1b[?1049l" in terminal.output, "the alternate screen was left"
        assert b"\x1b[?25h" in terminal.output, "the cursor is visible again"
    _check_rest(tmp_path / "kept", agents)


def test_q_asks_and_quits(start: Callable[..., Terminal], tmp_path: Path) -> None:
    terminal = start()
    agents = _agents(terminal.process.pid)
    terminal.keys("q")
    wait_until(lambda: b"interrupted" in terminal.output)
    assert terminal.process.poll() is None, "it asks first"
    terminal.keys("\r")
    assert terminal.wait(60) == 130, "as for SIGINT: what was at work goes on at the next start"
    told = terminal.output.rpartition(b"\x1b[?1049l")[2].decode()
    again = f"start again with: supervise rehearse --state-dir {tmp_path / 'kept'}"
    assert "15 tickets: " in told, "on the screen that was there before"
    assert again in told.replace("\r\n", "")
    assert terminal.settings() == terminal.before
    _check_rest(tmp_path / "kept", agents)


def test_a_closed_terminal(start: Callable[..., Terminal], tmp_path: Path) -> None:
    terminal = start()
    agents = _agents(terminal.process.pid)
    terminal.hang_up()
    assert terminal.wait(60) == 129
    _check_rest(tmp_path / "kept", agents)


def test_a_second_signal_waits_for_no_agent_and_leaves_none(start: Callable[..., Terminal], tmp_path: Path) -> None:
    """An agent that is frozen hears no interrupt: the first signal would wait for it, the second does not."""
    terminal = start("--headless", program=("-c", PATIENT))
    agents = _agents(terminal.process.pid)
    for agent in agents:
        os.kill(agent.pid, signal.SIGSTOP)
    os.kill(terminal.process.pid, signal.SIGTERM)
    wait_until(lambda: (ask(tmp_path / "kept" / ".supervisor", {"do": "status"}) or {})["stopping"])
    assert terminal.process.poll() is None, "it waits for its agents"
    os.kill(terminal.process.pid, signal.SIGTERM)
    assert terminal.wait(60) == 143
    _check_rest(tmp_path / "kept", agents)


BROKEN = """
import os
import sys
from pathlib import Path
from supervisor import cli
from widgets.summary_bar import SummaryBar
flag, whole = Path(sys.argv.pop(1)), SummaryBar.render_line
def render_line(self, y):
    if flag.exists():
        password = "only " + "a local"
        raise RuntimeError("the painter fell over " + os.environ["PAINT_TOKEN"])
    return whole(self, y)
SummaryBar.render_line = render_line
sys.exit(cli.main())
"""


def test_a_screen_that_fails_takes_nothing_with_it(tmp_path: Path) -> None:
    flag, home = tmp_path / "flag", tmp_path / "kept"
    argv = [sys.executable, "-c", BROKEN, str(flag), "rehearse", "--state-dir", str(home)]
    terminal = Terminal(argv, ROOT, {**os.environ, "PAINT_TOKEN": "r3d-and-blue"})
    try:
        wait_until(lambda: len(_agents(terminal.process.pid)) >= 2 and _served(home) >= 3)
        agents = _agents(terminal.process.pid)
        flag.touch()
        assert terminal.wait(60) == 70
        assert terminal.settings() == terminal.before
        left, _, said = bytes(terminal.output).rpartition(b"\x1b[?1049l")
        assert left, "the alternate screen was left"
        assert b"the painter fell over [PAINT_TOKEN]" in said, "the fault is told once the screen has gone"
        assert b"render_line" in said, "with its place"
        assert b"only a local" not in said, "variables may hold anything"
    finally:
        terminal.close()
    _check_rest(home, agents)


def test_put_into_the_background_and_back(start: Callable[..., Terminal], tmp_path: Path) -> None:
    terminal = start()
    pid, agents = terminal.process.pid, _agents(terminal.process.pid)
    os.kill(pid, signal.SIGTSTP)
    wait_until(lambda: _is_stopped(pid))
    wait_until(lambda: terminal.settings() == terminal.before)
    wait_until(lambda: terminal.output.rfind(b"\x1b[?1049l") > terminal.output.rfind(b"\x1b[?1049h"))
    assert any(is_alive(agent) for agent in agents), "agents go on meanwhile"
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: terminal.output.rfind(b"\x1b[?1049h") > terminal.output.rfind(b"\x1b[?1049l"))
    assert not _is_stopped(pid)
    os.kill(pid, signal.SIGTERM)
    assert terminal.wait(60) == 143
    assert terminal.settings() == terminal.before
    _check_rest(tmp_path / "kept", agents)


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_kill_and_start_again_goes_on_in_the_same_sessions(start: Callable[..., Terminal], tmp_path: Path) -> None:
    terminal = start("--headless")
    agents = _agents(terminal.process.pid)
    os.kill(terminal.process.pid, signal.SIGKILL)
    terminal.wait(10)
    before = {t["id"]: t["session_id"] for t in _status(tmp_path / "kept")["tickets"] if t["session_id"]}
    again = [sys.executable, "-m", "supervisor", "rehearse", "--state-dir", str(tmp_path / "kept"), "--headless"]
    done = subprocess.run(again, cwd=ROOT, capture_output=True, text=True, timeout=150)
    assert done.returncode == 3, done.stdout + done.stderr
    assert [a for a in agents if is_alive(a)] == []
    after = {t["id"]: t for t in _status(tmp_path / "kept")["tickets"]}
    assert {i: after[i]["session_id"] for i in before} == before
    assert "recovered: " in done.stdout
    assert after["001-rounding"]["state"] == "done"
