"""``python -m tests.torture effects``: what crashes can do to effects, counted. Exit 1 when a promise was broken."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.torture import kills, powercut, syscalls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.torture.world import Tally

PHASES = ("kills", "syscalls", "faults", "powercut")


def main(arguments: list[str]) -> int:
    """Run the phases, print a line for each, and return the exit code."""
    options = _options(arguments)
    print(f"{'':32} {'crashes':>8} {'effects':>8} {'unresolved':>11} {'happened':>9} {'duplicates':>11} {'lost':>5}")
    tallies = []
    for phase in options.only or PHASES:
        with _folder() as folder:
            began = time.monotonic()
            tally = _run(phase, folder, options)
            tallies.append(tally)
            _print(tally, time.monotonic() - began)
    violated = [tally for tally in tallies if tally.violated]
    print("no effect was applied twice, none was lost" if not violated else "A PROMISE WAS BROKEN")
    return 1 if violated else 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture effects", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to kill at random moments")
    parser.add_argument("--step", type=int, default=1, help="try every STEPth system call and cut point only")
    parser.add_argument("--seed", type=int, default=1, help="of all that is random but the timing")
    parser.add_argument("--only", action="append", choices=PHASES, help="run this phase; may be given more than once")
    return parser.parse_args(arguments)


def _run(phase: str, folder: Path, options: argparse.Namespace) -> Tally:
    if phase == "kills":
        return kills.run(folder, options.seconds, options.seed)
    if phase == "powercut":
        return powercut.run(folder, options.step, options.seed)
    work = syscalls.kill_everywhere if phase == "syscalls" else syscalls.fail_everywhere
    return work(folder, options.step)


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _print(tally: Tally, seconds: float) -> None:
    if tally.skipped:
        print(f"{tally.name:32} skipped: {tally.skipped}")
        return
    print(
        f"{tally.name:32} {tally.crashes:8} {tally.effects:8} {tally.unresolved:11} {tally.happened:9}"
        f" {tally.duplicates:11} {tally.lost:5}   {seconds:.0f} s",
        flush=True,
    )
    for fault in tally.faults[:10]:
        print("  ", fault)
