"""A crash at every single system call, and a disk that fails at every write and sync: by strace's fault injection."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from supervisor.core.effects import Refused
from supervisor.core.errors import StoreError
from supervisor.store.effect_log import EffectLog
from tests.torture import children
from tests.torture.world import LEDGER, Tally, World, check

if TYPE_CHECKING:
    from pathlib import Path

FATES = (0, 3, 5, 7)
"""Numbers of effects that end in each of the ways ``World.effect`` knows."""
FAULTS = [
    (call, error, forever)
    for call, errors in {
        "pwrite64": ("EIO", "ENOSPC"),
        "fdatasync": ("EIO",),
        "fsync": ("EIO",),
        "ftruncate": ("EIO", "ENOSPC"),
    }.items()
    for error in errors
    for forever in (False, True)
]


def scenario(folder: Path) -> None:
    """Open, run each kind of effect, repeat one, and close. Faults of the disk are taken as a program would."""
    world = World(folder)
    with suppress(StoreError), EffectLog(folder / LEDGER) as log:
        for number in (*FATES, FATES[0]):
            with suppress(ConnectionError, Refused, StoreError, OSError):
                log.claim_then_run(f"k{number}", partial(world.effect, f"k{number}", number))


def kill_everywhere(folder: Path, step: int = 1) -> Tally:
    """Kill the scenario at each of its system calls. strace counts every kind of call for itself."""
    total = Tally("kill -9 at every system call")
    if shutil.which("strace") is None:
        total.skipped = "strace is not installed"
        return total
    points = [(call, n) for call, times in _calls(folder).items() for n in range(1, times + 1)]
    for call, n in points[::step]:
        total.crashes += _point(folder / f"{call}-{n}", f"{call}:signal=SIGKILL:when={n}", total) == -9
    return total


def fail_everywhere(folder: Path, step: int = 1) -> Tally:
    """Let each write and each sync of the scenario fail: once, and from then on."""
    total = Tally("EIO, ENOSPC at every write, sync")
    if shutil.which("strace") is None:
        total.skipped = "strace is not installed"
        return total
    calls = _calls(folder)
    points = [(*fault, n) for fault in FAULTS for n in range(1, calls[fault[0]] + 1)]
    for call, error, forever, n in points[::step]:
        _point(folder / f"{call}-{n}", f"{call}:error={error}:when={n}{'+' * forever}", total)
        total.crashes += 1
    return total


def _point(folder: Path, inject: str, total: Tally) -> int:
    """Run the scenario with one injection, start it again as an operator would, compare; return its exit code."""
    folder.mkdir()
    code = _traced(folder, ["-e", f"inject={inject}"])
    if code not in (0, -9):
        total.faults.append(f"{inject}: exit {code}: {(folder / 'broken').read_text()[-1000:]}")
    for _ in range(2):
        children.call(scenario, folder)
    tally = children.call(check, folder)
    tally.faults = [f"{inject}: {fault}" for fault in tally.faults]
    if tally.duplicates or tally.lost:
        tally.faults.append(f"{inject}: duplicates {tally.duplicates}, lost {tally.lost}")
    total.add(tally)
    shutil.rmtree(folder)
    return code


def _traced(folder: Path, options: list[str], output: str = os.devnull) -> int:
    """Run the scenario under strace, from its first system call on, and return its exit code."""
    ours, theirs = os.pipe(), os.pipe()
    pid = children.start(_hold_then_run, ours, theirs, folder, log=str(folder / "broken"))
    os.close(ours[0])
    command = ["strace", "-f", "-o", output, *options, "-p", str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as strace:
        assert strace.stderr is not None
        said = strace.stderr.readline()
        if "attached" not in said:
            children.kill(pid)
            raise RuntimeError(f"strace cannot attach: {said}")
        for end in (ours[1], *theirs):
            os.close(end)
        code = children.wait(pid)
    return code


def _hold_then_run(ours: tuple[int, int], theirs: tuple[int, int], folder: Path) -> None:
    """Wait until strace is attached: our end of the pipe is closed then."""
    os.close(ours[1])
    os.read(ours[0], 1)
    scenario(folder)


def _calls(folder: Path) -> Counter[str]:
    """Return how often the undisturbed scenario makes each system call."""
    counted = folder / "count"
    counted.mkdir()
    _traced(counted, ["-e", "trace=all"], str(counted / "trace"))
    lines = (counted / "trace").read_text().splitlines()
    calls = Counter(found[1] for line in lines if (found := re.match(r"\d+ +(\w+)\(", line)))
    del calls["exit_group"]
    return calls
