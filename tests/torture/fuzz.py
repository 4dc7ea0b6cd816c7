"""``python -m tests.torture fuzz``: what others write, spoiled in every way, and nothing may break. Exit 1 if it does.

Every input comes from the seed and its number alone, so ``--only lines --first 37498 --lines 1`` repeats one.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING

from tests.torture.fuzzing import files, lines, transcripts

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.torture.fuzzing.checks import Tally

PARTS: dict[str, Callable[[Path, int, int, int], Tally]] = {
    "lines": lines.run,
    "files": files.run,
    "transcripts": transcripts.run,
}


def main(arguments: list[str]) -> int:
    """Run the parts, print what came of each, and return the exit code."""
    options = _options(arguments)
    print(f"seed {options.seed}", flush=True)
    tallies = []
    for part in options.only or PARTS:
        tallies.append(run(part, options.seed, getattr(options, part), options.first))
        print(tallies[-1].report(), flush=True)
    broken = any(tally.faults for tally in tallies)
    print("SOMETHING BROKE" if broken else "nothing broke")
    return 1 if broken else 0


def run(part: str, seed: int, total: int, first: int = 0) -> Tally:
    """Try ``total`` inputs of a part, from number ``first`` on, in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        return copy_context().run(PARTS[part], Path(folder), seed, first, total)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture fuzz", description=__doc__)
    parser.add_argument("--lines", type=int, default=100_000, help="lines of the agent's stream (default: 100,000)")
    parser.add_argument("--files", type=int, default=10_000, help="texts of a tickets.toml (default: 10,000)")
    parser.add_argument("--transcripts", type=int, default=5_000, help="files of a session (default: 5,000)")
    parser.add_argument(
        "--seed", type=int, default=random.randrange(10**6), help="of all chance (default: another each time)"
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be given more than once")
    return parser.parse_args(arguments)
