"""How soon a batch is at work again after kill -9, beside what as many agents take to start by themselves."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio

from supervisor.engine.process import descendants, is_alive
from supervisor.rehearsal.witness import read_log
from tests.bench.figures import Figure
from tests.e2e.stage import Stage, make_repo, until
from tests.e2e.terminal import wait_until

TICKETS = 4
_NAMES = [f"{number:03}" for number in range(1, TICKETS + 1)]
_ROOT = Path(__file__).parents[2]
_TICKET = """
[[ticket]]
id = "{0}"
prompt = "Work."
model = "sonnet"
[[ticket.rehearsal]]
endless = true
times = -1
text = "and so on"
"""


def _start(home: Path, file: Path) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "supervisor", "rehearse", str(file), "--state-dir", str(home), "--headless"]
    return subprocess.Popen(argv, cwd=_ROOT, stdout=subprocess.DEVNULL)


def _wait_until_all_are_at_work(home: Path, since: float) -> None:
    """Return once every ticket's agent has had a request answered after a moment of the wall clock."""
    log = home / "api" / "served.jsonl"

    def are_at_work() -> bool:
        return log.exists() and len({line.ticket for line in read_log(log) if line.at > since}) == TICKETS

    wait_until(are_at_work, 120)


def again(root: Path) -> float:
    """Return the seconds from a start after kill -9 until every ticket's agent is at work."""
    file = make_repo(root / "repo") / "tickets.toml"
    file.write_text(f"[batch]\nslots = {TICKETS}\n" + "".join(map(_TICKET.format, _NAMES)))
    home, began = root / "home", time.time()
    processes = [_start(home, file)]
    try:
        _wait_until_all_are_at_work(home, began)
        left = descendants(processes[0].pid)
        processes[0].kill()
        processes[0].wait()
        wait_until(lambda: not any(map(is_alive, left)))  # or they would be taken for those of the second start
        began = time.time()
        processes.append(_start(home, file))
        _wait_until_all_are_at_work(home, began)
        return time.time() - began
    finally:
        for process in processes:
            process.kill()
            process.wait()


async def bare(root: Path) -> float:
    """Return the seconds that as many agents take from their start to their first request, without us."""
    stage = Stage(root)
    endless = [{"endless": True, "times": -1, "text": "and so on"}]
    async with stage.batch(stage.spec(), dict.fromkeys(_NAMES, endless)):
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC", "CLAUDE"))}
        launch = stage.launch()
        argv = [str(stage.cli), "-p", "Work.", "--model", "sonnet"]
        began, started = time.monotonic(), []
        try:
            for name in _NAMES:
                env = {**inherited, **launch.env(name)}
                started.append(await anyio.open_process(argv, cwd=stage.repo, env=env, stdout=subprocess.DEVNULL))
            await until(lambda: all(map(stage.served, _NAMES)), 120)
            return time.monotonic() - began
        finally:
            for process in started:
                process.kill()
                await process.aclose()


def figures() -> list[Figure]:
    """Measure, and return the figures."""
    with tempfile.TemporaryDirectory() as place:
        roots = [Path(place) / name for name in ("ours", "bare")]
        for root in roots:
            root.mkdir()
        whole, agents = again(roots[0]), anyio.run(bare, roots[1])
    return [
        Figure(f"kill -9, start again, {TICKETS} agents at work", whole, "s"),
        Figure("as many agents by themselves", agents, "s"),
        Figure("ours on top", whole - agents, "s", "<= 3"),
    ]
