"""``python -m tests.torture restart``: kill -9 at many moments, start again, and count what was paid for twice.

A small batch runs with the real CLI against the scripted API. The supervisor is killed when the API has served its n-th
request, and started again. Then: every ticket is done, in its own session; no step was served twice except the one that
was cut off; no agent of the first run lived when the second one connected.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supervisor.engine.process import ProcessId, is_alive
from supervisor.rehearsal.witness import read_log
from supervisor.store.database import connect_readonly
from tests.e2e.stage import make_repo

ROOT = Path(__file__).parents[2]
TICKETS = ("001", "002", "003")
_STEPS = """
[[ticket.rehearsal]]
text = "Reading for {0}."
tool = "Bash"
input = {{ command = "ls", description = "list" }}
delay_s = 0.2
chunk_s = 0.02
[[ticket.rehearsal]]
text = "Writing for {0}."
tool = "Write"
input = {{ file_path = "new.txt", content = "{0}" }}
delay_s = 0.2
chunk_s = 0.02
[[ticket.rehearsal]]
text = "Testing for {0}."
tool = "Bash"
input = {{ command = "cat new.txt", description = "test" }}
delay_s = 0.2
chunk_s = 0.02
[[ticket.rehearsal]]
text = "All done with {0}."
delay_s = 0.2
chunk_s = 0.02
"""


def batch_file() -> str:
    """Return the batch that is tortured."""
    head = '[batch]\nname = "torture"\nslots = 3\n[defaults]\nmodel = "sonnet"\npermission_mode = "acceptEdits"\n'
    head += 'allowed_tools = ["Bash"]\nbudget_usd = 5\n'
    return head + "".join(f'[[ticket]]\nid = "{t}"\nprompt = "Do {t}."\n{_STEPS.format(t)}' for t in TICKETS)


@dataclass(slots=True)
class Round:
    """One kill and one restart."""

    moment: int
    violations: list[str]
    modes: list[str]
    seconds: float


def _start(home: Path, file: Path) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "supervisor", "rehearse", str(file), "--state-dir", str(home), "--headless"]
    return subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _wait_for(home: Path, served: int, process: subprocess.Popen[str]) -> None:
    log, gap = home / "api" / "served.jsonl", threading.Event()
    while process.poll() is None:
        with suppress(OSError):
            if log.read_text().count('"served"') >= served:
                return
        gap.wait(0.005)


def _rows(home: Path, sql: str) -> list[dict[str, Any]]:
    db = connect_readonly(home / ".supervisor" / "state.db")
    try:
        return list(db.query(sql))
    finally:
        db.close()


def _agents(home: Path) -> list[ProcessId]:
    rows = _rows(home, "SELECT pid, pid_start, boot_id FROM attempts WHERE pid IS NOT NULL")
    return [ProcessId(r["pid"], r["pid_start"], r["boot_id"]) for r in rows]


def play(moment: int, directory: Path) -> Round:
    """Kill after the ``moment``-th served request, restart, and check."""
    begun = time.monotonic()
    repo = make_repo(directory / "repo")
    file = repo / "tickets.toml"
    file.write_text(batch_file())
    home = directory / "home"
    first = _start(home, file)
    _wait_for(home, moment, first)
    first.kill()
    first.communicate()
    agents, sessions = _agents(home), _sessions(home)
    with _start(home, file) as second:
        violations = _watch(second, agents)
    violations += _check(home, sessions, second.returncode)
    modes = [
        f"{r['ticket']}:{r['mode']}" for r in _rows(home, "SELECT * FROM attempts WHERE number > 1 ORDER BY ticket")
    ]
    return Round(moment, violations, modes, time.monotonic() - begun)


def _watch(second: subprocess.Popen[str], agents: list[ProcessId]) -> list[str]:
    """Read the second run's lines; when its first agent has connected, none of the first run's may be alive."""
    found, looked = [], False
    assert second.stdout is not None
    for line in second.stdout:
        if "  running  " in line and not looked:
            looked = True
            found = [f"agent {a.pid} of the first run is alive" for a in agents if is_alive(a)]
    return found


def _sessions(home: Path) -> dict[str, str]:
    rows = _rows(home, "SELECT id, session_id FROM tickets WHERE session_id IS NOT NULL")
    return {r["id"]: r["session_id"] for r in rows}


def _cut_off(home: Path) -> dict[str, int | None]:
    """Return for each ticket the last step served to an agent of the first run: it had moments left after the kill."""
    again = {r["ticket"]: r["started"] for r in _rows(home, "SELECT ticket, started FROM attempts WHERE number = 2")}
    log = read_log(home / "api" / "served.jsonl")
    return {r.ticket: r.step for r in log if r.event == "served" and r.at < again.get(r.ticket, 0.0)}


def _check(home: Path, sessions: dict[str, str], code: int) -> list[str]:
    found = [] if code == 0 else [f"exit code {code}"]
    for ticket in _rows(home, "SELECT id, state, session_id, spent_usd FROM tickets"):
        if ticket["state"] != "done":
            found.append(f"{ticket['id']} is {ticket['state']}")
        if sessions.get(ticket["id"], ticket["session_id"]) != ticket["session_id"]:
            found.append(f"{ticket['id']} changed its session")
    bad = _rows(home, "SELECT * FROM attempts WHERE outcome IS NULL OR mode NOT IN ('fresh', 'resume')")
    found += [f"attempt {r['ticket']}/{r['number']}: {r['mode']} {r['outcome']}" for r in bad]
    cut = _cut_off(home)
    served: dict[tuple[str, int | None], int] = {}
    for line in read_log(home / "api" / "served.jsonl"):
        if line.event == "served":
            served[line.ticket, line.step] = served.get((line.ticket, line.step), 0) + 1
    for (name, step), times in served.items():
        if times > (2 if cut.get(name) == step else 1):
            found.append(f"{name} step {step} was served {times} times")
    return found


def main(arguments: list[str]) -> int:
    """Play the rounds and print a table; return 1 on any violation."""
    parser = argparse.ArgumentParser("python -m tests.torture restart")
    parser.add_argument("--moments", type=int, default=10, help="kill at the 1st to the n-th served request")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    for name in [n for n in os.environ if n.startswith(("ANTHROPIC", "CLAUDE"))]:
        del os.environ[name]
    rounds = []
    for moment in range(1, options.moments + 1):
        with tempfile.TemporaryDirectory(prefix="torture-") as directory:
            rounds.append(play(moment, Path(directory)))
        last = rounds[-1]
        if not options.json:
            print(f"killed at request {moment:2}: {', '.join(last.modes) or 'nothing to go on with'}", *last.violations)
    violations = sum(len(r.violations) for r in rounds)
    figures = {"kills": len(rounds), "violations": violations, "seconds": round(sum(r.seconds for r in rounds))}
    print(json.dumps(figures) if options.json else f"{figures}")
    return 1 if violations else 0
