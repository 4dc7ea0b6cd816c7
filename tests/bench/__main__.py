"""``python -m tests.bench [NAME …]``: the figures that the product is held against, as a table or as JSON.

Figures are compared within one run; what the machine does besides shows in all of them. Without names, everything but
``restart`` and ``agents`` is measured: they start real agents, and take a minute.
"""

from __future__ import annotations

import argparse
import json
from importlib import import_module

NAMES = ("board", "latency", "memory", "fold", "opening", "turns", "ledger", "money", "restart", "agents")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each figure")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(NAMES)}")
    for name in options.names or NAMES[:-2]:
        if not options.json:
            print(name)
        for figure in import_module(f"tests.bench.{name}").figures():
            told = {"bench": name, "what": figure.what, "value": figure.value, "unit": figure.unit}
            print(
                json.dumps({**told, "aim": figure.aim, "met": figure.met}) if options.json else figure.line(),
                flush=True,
            )


if __name__ == "__main__":
    main()
