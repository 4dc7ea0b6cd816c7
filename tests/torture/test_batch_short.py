"""The short form of ``python -m tests.torture batch``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.torture.batching.harness import Harness

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.cli
@pytest.mark.timeout(240)
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_nothing_is_lost_done_twice_or_left_behind(tmp_path: Path) -> None:
    report = Harness(tmp_path, seed=20, tickets=5, gap_s=0.8).play(8)
    assert report.violations == []
    assert report.books.tickets == 5
    assert sum(report.hits.values()) > 2
