"""``python -m tests.torture WHAT``: each WHAT is a module of this package with a ``main(arguments)``."""

from __future__ import annotations

import sys
from importlib import import_module

WHATS = {
    "effects": "effects: applied at most once, none lost, under every crash we can make",
    "batch": "batch: all of it killed at random: nothing lost, nothing done twice, nobody left behind",
    "soak": "soak: thousands of turns in one supervisor, and nothing that grows",
    "restart": "restart: killed at many moments and started again, nothing paid for twice",
    "fuzz": "fuzz: spoiled messages, files and transcripts, none of which may break anything",
    "mutants": "mutants: faults planted into the ledger, each of which must be caught",
}


def main() -> int:
    """Run what was asked for and return its exit code."""
    if len(sys.argv) < 2 or sys.argv[1] not in WHATS:
        print("usage: python -m tests.torture WHAT [options]", *WHATS.values(), sep="\n  ", file=sys.stderr)
        return 2
    return int(import_module(f"tests.torture.{sys.argv[1]}").main(sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(main())
