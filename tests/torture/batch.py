"""``python -m tests.torture batch``: a batch of real agents and real effects, killed at random until its time is up.

Supervisor, agents, their commands, effect commands and the scripted API are killed, told to end and frozen for a while.
The supervisor is started again and again, an operator settles what gets stuck, and in the end nothing may be lost, done
twice or left behind. Exit 1 when something was.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.torture.batching.checks import Books
from tests.torture.batching.harness import Harness, Report

GAP_S = 0.8
"""Mean time between two hits in the beginning; it grows by as much in every minute."""


def main(arguments: list[str]) -> int:
    """Torture batches for a while, print what was done and what came of it, and return the exit code."""
    options = _options(arguments)
    # What a shell puts aside may be deaf to these, and so would be all that it starts, until it listens by itself.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, lambda *_: None)
    print(f"seed {options.seed}", flush=True)
    end, reports = time.monotonic() + options.minutes * 60, list[Report]()
    while not reports or time.monotonic() < end - 60 * min(1.0, options.minutes / 2):
        reports.append(play(options.seed + len(reports), options.tickets, end - time.monotonic(), options.keep))
        print(story(len(reports), reports[-1]), flush=True)
    print(summary(reports))
    return 1 if any(report.violations for report in reports) else 0


def play(seed: int, tickets: int, seconds: float, keep: Path | None = None) -> Report:
    """Torture one batch for at most so many seconds, and then let it end."""
    home = Path(tempfile.mkdtemp(prefix="torture-", dir=keep))
    try:
        return Harness(home, seed, tickets, GAP_S).play(seconds)
    finally:
        if keep is None:
            shutil.rmtree(home, ignore_errors=True)


def story(number: int, report: Report) -> str:
    """Return what one batch went through, and its violations."""
    hits = sum(report.hits.values())
    told = f"batch {number}: {report.books.tickets} tickets, {report.lives} supervisors, {hits} hits"
    return "\n".join([f"{told}, {report.seconds:.0f} s", *(f"  VIOLATION {words}" for words in report.violations)])


def summary(reports: list[Report]) -> str:
    """Return the figures of all batches."""
    hits, operator, books = Counter[tuple[str, str]](), Counter[str](), Books()
    for report in reports:
        hits += report.hits
        operator += report.operator
        books.add(report.books)
    signals = sorted({name for _, name in hits})
    lines = [f"{'':12}" + "".join(f"{name:>9}" for name in signals)]
    kinds = sorted({kind for kind, _ in hits})
    lines += [f"{kind:12}" + "".join(f"{hits[kind, name]:9}" for name in signals) for kind in kinds]
    violations = sum(len(report.violations) for report in reports)
    return "\n".join(
        [
            *lines,
            f"{sum(hits.values())} hits in {sum(r.seconds for r in reports):.0f} s, "
            f"{sum(r.lives for r in reports)} supervisors, {len(reports)} batches",
            f"{books.tickets} tickets, {books.attempts} attempts, {books.cut} of them cut off, "
            f"{books.fallbacks} fallbacks to a fresh session",
            f"{books.effects} effects, {books.applied} applied; the operator: "
            + (", ".join(f"{count} {verb}" for verb, count in sorted(operator.items())) or "nothing to settle"),
            f"{books.served} answers served, {books.again} of them again; ${books.served_usd:.4f} served, "
            f"${books.recorded_usd:.4f} recorded, of which ${books.estimated_usd:.4f} estimated",
            f"violations: {violations}",
        ]
    )


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture batch", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to kill (default: 5)")
    parser.add_argument("--tickets", type=int, default=30, help="tickets of a batch (default: 30)")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of all chance but the timing")
    parser.add_argument("--keep", type=Path, help="an existing directory in which to keep what is made")
    return parser.parse_args(arguments)
