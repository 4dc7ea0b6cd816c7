"""Every verb that is told something, from another terminal, on a supervisor with real agents."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.store.glance import glance
from tests.e2e.stage import make_repo

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.cli, pytest.mark.timeout(240)]
ROOT = Path(__file__).parents[2]
FILE = """
[batch]
slots = 3
[defaults]
model = "sonnet"
budget_usd = 5
[[ticket]]
id = "001-work"
prompt = "Work."
permission_mode = "acceptEdits"
allowed_tools = ["Bash"]
[[ticket.rehearsal]]
text = "I write."
tool = "Write"
input = { file_path = "one.txt", content = "one" }
delay_s = 0
chunk_s = 0
[[ticket.rehearsal]]
text = "I write by a command."
tool = "Bash"
input = { command = "echo two > two.txt", description = "Write" }
delay_s = 0
chunk_s = 0
[[ticket.rehearsal]]
text = "First part done."
delay_s = 0
chunk_s = 0
[[ticket.rehearsal]]
text = "Heard."
delay_s = 0
chunk_s = 0
[[ticket.rehearsal]]
text = "And once more."
delay_s = 0
chunk_s = 0
[[ticket]]
id = "002-ask"
prompt = "Ask."
[[ticket.rehearsal]]
text = "May I?"
tool = "Bash"
input = { command = "touch asked", description = "Ask" }
delay_s = 0
chunk_s = 0
[[ticket.rehearsal]]
text = "And this?"
tool = "Bash"
input = { command = "touch again", description = "Ask" }
delay_s = 0
chunk_s = 0
[[ticket.rehearsal]]
text = "Fine."
delay_s = 0
chunk_s = 0
[[ticket]]
id = "003-busy"
prompt = "Never end."
[[ticket.rehearsal]]
endless = true
times = -1
text = "and so on"
"""


class Supervisor:
    """A rehearsal kept in a directory, with what it has said so far."""

    def __init__(self, root: Path) -> None:
        self.file = make_repo(root / "repo") / "tickets.toml"
        self.file.write_text(FILE)
        keep = root / "kept"
        self.state_dir = keep / ".supervisor"
        argv = ("rehearse", str(self.file), "--headless", "--json", "--state-dir", str(keep))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "supervisor", *argv],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def until(self, ticket: str, state: str) -> None:
        """Read what it prints until a ticket has come to a state since the last call."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said = json.loads(line)
            if said.get("ticket") == ticket and said["state"] == state:
                return
        raise AssertionError(f"it ended without {ticket} being {state}")

    def shell(self, *argv: str) -> str:
        """Run a command that is accepted, and return what it printed."""
        command = [sys.executable, "-m", "supervisor", *argv, "--state-dir", str(self.state_dir)]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ticket(self, ident: str) -> Any:
        """Return a ticket as it is on the disk."""
        with glance(self.state_dir) as seen:
            return next(t for t in seen.tickets() if t.id == ident)


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    """A supervisor with a ticket that is done, one that asks, and one that never ends."""
    found = Supervisor(tmp_path)
    yield found
    found.process.send_signal(signal.SIGTERM)
    found.process.communicate(timeout=60)


def test_every_told_verb_from_another_terminal(supervisor: Supervisor) -> None:
    run = supervisor.shell
    supervisor.until("001-work", "done")
    work = Path(supervisor.ticket("001-work").worktree)
    assert (work / "two.txt").exists()

    assert "accepted: goes on with it" in run("message", "001", "Do you hear me?")
    supervisor.until("001-work", "done")
    assert "accepted: budget $7.50" in run("budget", "001", "+2.50")
    assert supervisor.ticket("001-work").budget_usd == 7.5
    assert "accepted: priority 4" in run("priority", "003", "4")
    places = run("fork", "001", "--list").splitlines()
    assert [line.split("  ")[-1] for line in places][-1] == "Heard."
    assert "forked as 001-work.2" in run("fork", "001", "Try another way.", "--at", "1", "--budget", "2")
    supervisor.until("001-work.2", "done")
    child = supervisor.ticket("001-work.2")
    assert (child.parent, child.budget_usd) == ("001-work", 2.0)
    assert (work.parent / "001-work.2").is_dir()

    seen = run("rewind", "001", "--to", "1", "--dry-run")
    assert "one.txt" in seen
    assert "two.txt" in seen, "what a command did is covered too"
    assert (work / "two.txt").exists()
    run("rewind", "001", "--to", "1", "--yes")
    assert not (work / "one.txt").exists()
    assert not (work / "two.txt").exists()
    run("rewind", "001", "--undo", "--yes")
    assert (work / "two.txt").exists()
    assert "accepted: " in run("start-over", "001-work.2", "--yes")

    assert "Bash touch asked" in run("asks")
    assert "approved" in run("approve", "002")
    supervisor.until("002-ask", "needs_you")
    assert "denied" in run("deny", "002", "Not that one.")
    supervisor.until("002-ask", "done")
    asked = Path(supervisor.ticket("002-ask").worktree)
    assert (asked / "asked").exists()
    assert not (asked / "again").exists()

    assert run("slots", "5") == "5 slots\n"
    assert "no new tickets start" in run("starting", "off")
    assert "its turn stops" in run("cancel", "003")
    supervisor.until("003-busy", "cancelled")
