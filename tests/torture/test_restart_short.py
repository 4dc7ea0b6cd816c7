"""The short form of ``python -m tests.torture restart``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.torture.restart import play

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.cli
@pytest.mark.timeout(240)
@pytest.mark.parametrize("moment", [2, 5, 9])
def test_nothing_is_paid_for_twice_after_a_kill(moment: int, tmp_path: Path) -> None:
    assert play(moment, tmp_path).violations == []
