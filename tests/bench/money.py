"""How well money and the API's patience are kept, over many random runs of scripted agents on virtual time.

Eight hungry tickets share one dollar on four slots, again and again; then twenty tickets come through a storm of
refusals. An agent may pass its cap by the call that crosses it, for which a reserve is kept; only what such calls cost
beyond that reserve may lie above the budget.
"""

from __future__ import annotations

import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio

from tests.bench.figures import Figure
from tests.engine import hungry, storm
from tests.engine.virtual import START

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

T = TypeVar("T")
SEEDS, STORMS = 50, 10


async def _each(run: Callable[[Path, int], Awaitable[T]], seeds: int) -> list[T]:
    found = []
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as root:
            found.append(await run(Path(root) / "world", seed))
    return found


def money(runs: Sequence[hungry.Figures]) -> list[Figure]:
    """Return what came of the hungry tickets."""
    over = [run.overshoot_usd for run in runs]
    beyond = max(o - run.beyond_usd for o, run in zip(over, runs, strict=True))
    used = [run.paid_usd / hungry.BUDGET_USD for run in runs]
    return [
        Figure("largest API call of all runs", max(r.largest_call_usd for r in runs), "USD"),
        Figure(f"most that was spent beyond a budget of {hungry.BUDGET_USD:.2f}", max(0.0, *over), "USD"),
        Figure("  the same without calls larger than their reserve", max(0.0, beyond), "USD", "<= 0.000001"),
        Figure("part of the budget that was used, median", statistics.median(used), ""),
        Figure("agents at work beside each other, least", min(r.most_beside for r in runs), "", ">= 4"),
        Figure("paid and not recorded, most", max(r.paid_usd - r.recorded_usd for r in runs), "USD", "<= 0.000001"),
    ]


def weather(runs: Sequence[storm.Figures]) -> list[Figure]:
    """Return what came of the storms."""
    due = storm.TICKETS * storm.CALLS * storm.CALL_USD
    return [
        Figure("tickets that come through a storm, of 20, least", min(r.done for r in runs), "", ">= 20"),
        Figure("requests that were refused, most", max(r.refused for r in runs), "", "<= 40"),
        Figure("time between two restarts, least", min(r.nearest_s for r in runs), "s", ">= 0.1"),
        Figure("starts faster than the governor allows", sum(r.too_fast for r in runs), "", "<= 0"),
        Figure("new sessions after a refusal", sum(r.fresh for r in runs), "", "<= 0"),
        Figure("paid twice, most", max(r.paid_usd - due for r in runs), "USD", "<= 0.000001"),
        Figure("from the storm's end to the batch's, most", max(r.seconds for r in runs) - storm.CALM + START, "s"),
    ]


def figures() -> list[Figure]:
    """Measure, and return the figures."""
    hungry_runs = anyio.run(partial(_each, hungry.run, SEEDS))
    return [*money(hungry_runs), *weather(anyio.run(partial(_each, storm.run, STORMS)))]
