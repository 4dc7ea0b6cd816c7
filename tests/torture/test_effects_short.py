"""A few seconds of the torture, so that it cannot rot between its long runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(240)
@pytest.mark.skipif(sys.platform != "linux", reason="crashes are made with fork, signals and strace")
def test_crashes_neither_repeat_nor_lose_effects() -> None:
    command = [sys.executable, "-m", "tests.torture", "effects", "--seconds", "3", "--step", "32"]
    # A process of its own: it forks, and this one may have threads.
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no effect was applied twice, none was lost" in done.stdout
