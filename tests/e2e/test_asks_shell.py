"""Asks over a kill: a supervisor in a process of its own dies with an open ask, and other shells answer it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from supervisor.control_client import ask
from supervisor.engine import offline
from supervisor.rehearsal.witness import read_log
from tests.e2e.stage import make_repo
from tests.e2e.terminal import wait_until

pytestmark = [pytest.mark.cli, pytest.mark.timeout(240)]
ROOT = Path(__file__).parents[2]
TICKETS = """
[defaults]
model = "sonnet"
[[ticket]]
id = "001-ask"
prompt = "Work."
[[ticket.rehearsal]]
tool = "Bash"
input = { command = "touch one", description = "Make it" }
[[ticket.rehearsal]]
tool = "Bash"
input = { command = "touch one", description = "Make it" }
text = "As allowed."
[[ticket.rehearsal]]
text = "All done."
[[ticket]]
id = "002-busy"
prompt = "Work."
[[ticket.rehearsal]]
endless = true
text = "and so on"
[[ticket.rehearsal]]
text = "Done at last."
"""


class Rehearsal:
    """A headless rehearsal in a process of its own; a second ``start`` goes on with what the first one left."""

    def __init__(self, root: Path) -> None:
        self.file = make_repo(root / "repo") / "tickets.toml"
        self.file.write_text(TICKETS)
        self.keep = root / "kept"
        self.state_dir = self.keep / ".supervisor"

    def start(self) -> subprocess.Popen[str]:
        """Start it."""
        argv = ("rehearse", str(self.file), "--headless", "--json", "--state-dir", str(self.keep))
        return subprocess.Popen(
            [sys.executable, "-m", "supervisor", *argv],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def wait_for_request(self, ticket: str) -> None:
        """Wait until the API has begun to answer a ticket: its outage counts as met from then on."""
        wait_until(lambda: any(one.ticket == ticket for one in read_log(self.keep / "api" / "served.jsonl")), 60)

    def ask(self, **request: Any) -> dict[str, Any]:
        """Ask a running supervisor, or what it has left."""
        answer = ask(self.state_dir, request)
        if answer is not None:
            return answer

        async def go() -> dict[str, Any]:
            return await offline.answer(self.state_dir, request)

        return anyio.run(go)


def _until(process: subprocess.Popen[str], **wanted: str) -> None:
    """Read what it prints until the tickets are in these states."""
    assert process.stdout is not None
    said = ""
    for said in process.stdout:
        line = json.loads(said)
        name = line.get("ticket", "").partition("-")[2]
        if name in wanted and wanted[name] == line["state"]:
            del wanted[name]
        if not wanted:
            return
    raise AssertionError(f"it ended without {wanted}: {said}")


def test_an_open_ask_survives_a_kill_and_is_answered_without_a_supervisor(tmp_path: Path) -> None:
    rehearsal = Rehearsal(tmp_path)
    first = rehearsal.start()
    try:
        _until(first, ask="needs_you", busy="running")
        rehearsal.wait_for_request("002-busy")
        (open_,) = rehearsal.ask(do="asks")["asks"]
        assert (open_["state"], open_["detail"], open_["ticket"]) == ("open", "Bash touch one", "001-ask")
    finally:
        first.kill()
        first.communicate()
    (kept,) = rehearsal.ask(do="asks")["asks"]
    assert (kept["ask"], kept["state"]) == (open_["ask"], "resting"), "nobody waits any more"
    bad = rehearsal.ask(do="answer", ask="001", kind="reply", message="yes")
    assert bad["error"] == "a permission takes allow or deny, not a reply"
    given = rehearsal.ask(do="answer", ask="001", kind="allow", version=kept["version"], actor="me")
    assert (given["state"], given["answer"]) == ("answered", "allow")
    late = rehearsal.ask(do="answer", ask=kept["ask"], kind="deny", version=kept["version"])
    assert (late["kind"], late["error"]) == ("AskRefused", "it was answered already: allowed")
    second = rehearsal.start()
    try:
        _until(second, ask="done", busy="done")
        second.communicate(timeout=60)
    finally:
        second.kill()  # nothing, where it has ended as it should
        second.wait()
    assert second.returncode == 0
