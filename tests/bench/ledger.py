"""What claiming and settling an effect costs, beside the bare disk in the same run."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import closing
from pathlib import Path

from supervisor.core.effects import EffectState
from supervisor.store.database import connect
from tests.bench.figures import Figure
from tests.store import ledgers

SECONDS = 3.0


def bare_rate(directory: Path, seconds: float) -> float:
    """Return how often a second a line can be appended to a file and be on the disk."""
    fd = os.open(directory / "raw", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    sync = getattr(os, "fdatasync", os.fsync)
    count, began = 0, time.monotonic()
    try:
        while time.monotonic() - began < seconds:
            os.write(fd, b"x" * 4096)
            sync(fd)
            count += 1
    finally:
        os.close(fd)
    return count / (time.monotonic() - began)


def ledger_rate(directory: Path, seconds: float) -> float:
    """Return how many durable transactions a second claims and settles make."""
    with closing(connect(directory / "state.db")) as db:
        epoch = ledgers.epoch(db)
        count, began = 0, time.monotonic()
        while time.monotonic() - began < seconds:
            held = ledgers.claim(db, epoch, op=f"op-{count}").record
            ledgers.settle(db, held, EffectState.DONE, outcome="ok")
            count += 2
        return count / (time.monotonic() - began)


def figures(seconds: float = SECONDS) -> list[Figure]:
    """Measure, and return the figures."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        bare, ours = bare_rate(Path(place), seconds), ledger_rate(Path(place), seconds)
    return [
        Figure("claims and settles, each durable", ours, "/s"),
        Figure("the bare disk (4 KiB and fdatasync)", bare, "/s"),
        Figure("claims and settles to the bare disk", ours / bare, "times", ">= 0.4"),
    ]
