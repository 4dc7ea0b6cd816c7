"""A batch's budget over many random runs: tickets that want more than there is, and die now and then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engine import hungry

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio
SEEDS = 50


async def test_eight_hungry_tickets_stay_within_one_dollar(tmp_path: Path) -> None:
    """Nothing is spent beyond it but what single calls cost beyond the reserve that was kept for each of them."""
    runs = [await hungry.run(tmp_path / str(seed), seed) for seed in range(SEEDS)]
    for run in runs:
        assert run.overshoot_usd <= run.beyond_usd + 1e-9, run
        assert run.beyond_usd <= hungry.SLOTS * run.largest_call_usd, run
        assert run.most_beside == hungry.SLOTS, "and yet they run side by side"
        assert run.recorded_usd >= run.paid_usd - 1e-9, "what is not known is guessed high"
        assert run.paid_usd >= 0.5, "and the money is used"


async def test_without_deaths_every_cent_is_known(tmp_path: Path) -> None:
    for seed in range(10):
        run = await hungry.run(tmp_path / str(seed), seed, kill_chance=0.0)
        assert run.recorded_usd == pytest.approx(run.paid_usd)
