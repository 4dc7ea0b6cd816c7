"""The short form of ``python -m tests.torture soak``, and that it finds what grows."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.torture.soak import MARGINS, Reading, grown

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import json, sys
from tests.torture.soak import grown, play, table
readings = play(0, 1, tickets=8, rounds=9, trace=False)
print(table(readings), file=sys.stderr)
found = {k: v for k, v in grown(readings).items() if k not in ("rss_kb", "heap_kb")}
print(json.dumps({"turns": readings[-1].turns, "grown": found}))
"""


@pytest.mark.timeout(240)
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_nothing_is_held_on_to() -> None:
    """In a process of its own: this one has threads and files of other tests. Memory needs longer to show anything."""
    done = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"turns": 72, "grown": {}}, done.stderr


@pytest.mark.parametrize("name", MARGINS)
def test_what_grows_is_found(name: str) -> None:
    level = Reading(0, 100_000, 10_000, 12_000, 10, 3, 5, 20)
    margin = MARGINS[name]
    leak = [replace(level, **{name: getattr(level, name) + (margin // 4 + 1) * n}) for n in range(12)]
    warm_up = [replace(level, **{name: getattr(level, name) + (margin + 9) * min(n, 3)}) for n in range(12)]
    peaks = [replace(level, **{name: getattr(level, name) + (margin + 9) * (n % 2)}) for n in range(12)]
    assert list(grown(leak)) == [name]
    assert grown(warm_up) == {}
    assert grown(peaks) == {}
