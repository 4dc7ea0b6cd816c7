"""Spoiled texts of a tickets.toml: each loads, or is refused with an error that names the file."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from supervisor import config
from supervisor.core.text import safe_line
from supervisor.rehearsal.script import faults as step_faults
from tests.torture.fuzzing import shapes
from tests.torture.fuzzing.checks import BrokenPromiseError, MemoryWatch, Tally, conforms, shrink, smaller_bytes
from tests.torture.fuzzing.scramble_toml import TomlScrambler

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECONDS_EACH = 2.0
MARGIN_BYTES = 300_000


def load(path: Path, data: bytes) -> str:
    """Write a file and read it as ``supervise check`` does; return what came of it. Raises what must not happen."""
    path.write_bytes(data)
    try:
        spec = config.load(path, check_steps=step_faults)
    except config.ConfigError as refused:
        faults = str(refused).splitlines()
        if not faults or any(not fault.startswith(f"{path}: ") for fault in faults):
            raise BrokenPromiseError("a fault does not name the file") from refused
        if any(safe_line(fault, 10_000) != fault for fault in faults):
            raise BrokenPromiseError("a fault is not safe to draw") from refused
        return "refused as no TOML" if "not valid TOML" in faults[0] or "not UTF-8" in faults[0] else "refused"
    conforms(spec)
    for line in (config.summary(spec), *config.notes(spec)):
        line.encode()
    return "loaded"


def run(folder: Path, seed: int, first: int, total: int) -> Tally:
    """Read ``total`` spoiled files, from number ``first`` on."""
    tally, good, path = Tally("files", SECONDS_EACH), shapes.batches(), folder / "tickets.toml"
    watch = MemoryWatch(total, MARGIN_BYTES, least=2_000)
    for number in range(first, first + total):
        rng = random.Random(f"files {seed} {number}")
        data = TomlScrambler(rng).spoil(rng.choice(good))
        tally.check(
            number,
            lambda data=data: load(path, data),  # type: ignore[misc]
            lambda still, data=data: _smallest(path, data, still),  # type: ignore[misc]
        )
        watch.look(number - first + 1)
    watch.stop(tally)
    return tally


def _smallest(path: Path, data: bytes, still: Callable[[BaseException], bool]) -> str:
    """Return the smallest file that causes the same fault."""

    def fails(candidate: bytes) -> bool:
        try:
            load(path, candidate)
        except BaseException as error:
            return still(error)
        return False

    return repr(shrink(data, smaller_bytes, fails))
