"""How well money and the API's patience are kept: many random runs of scripted agents, with figures.

Run ``python -m tests.bench.money``. Eight hungry tickets share one dollar on four slots, again and again; then twenty
tickets come through a storm of refusals. Everything is on virtual time, so a run takes a moment.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from tests.engine import hungry, storm
from tests.engine.virtual import START

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence


async def _each(run: Callable[[Path, int], Awaitable[Any]], seeds: int) -> list[Any]:
    found = []
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as root:
            found.append(await run(Path(root) / "world", seed))
    return found


def money(runs: Sequence[hungry.Figures]) -> dict[str, float]:
    """Return what came of the hungry tickets."""
    over = [r.overshoot_usd for r in runs]
    return {
        "runs": len(runs),
        "budget_usd": hungry.BUDGET_USD,
        "largest_call_usd": max(r.largest_call_usd for r in runs),
        "most_overshoot_usd": max(0.0, *over),
        "runs_over_budget": sum(o > 0 for o in over),
        "most_overshoot_beyond_the_reserves_usd": max(o - r.beyond_usd for o, r in zip(over, runs, strict=True)),
        "used_of_the_budget_median": statistics.median(r.paid_usd / hungry.BUDGET_USD for r in runs),
        "used_of_the_budget_least": min(r.paid_usd / hungry.BUDGET_USD for r in runs),
        "agents_beside_each_other_least": min(r.most_beside for r in runs),
        "kills": sum(r.kills for r in runs),
        "recorded_less_than_paid_most_usd": max(r.paid_usd - r.recorded_usd for r in runs),
    }


def weather(runs: Sequence[storm.Figures]) -> dict[str, float]:
    """Return what came of the storms."""
    return {
        "runs": len(runs),
        "tickets_done_least": min(r.done for r in runs),
        "requests_refused_most": max(r.refused for r in runs),
        "restarts_nearest_s": min(r.nearest_s for r in runs),
        "starts_faster_than_the_governor": sum(r.too_fast for r in runs),
        "new_sessions_after_a_refusal": sum(r.fresh for r in runs),
        "paid_twice_usd": max(r.paid_usd - storm.TICKETS * storm.CALLS * storm.CALL_USD for r in runs),
        "seconds_after_the_storm_most": max(r.seconds for r in runs) - (storm.CALM - START),
    }


def main() -> None:
    """Run both and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--each", action="store_true", help="print each run of the hungry tickets too")
    args = parser.parse_args()
    hungry_runs = anyio.run(partial(_each, hungry.run, args.seeds))
    storms = anyio.run(partial(_each, storm.run, max(1, args.seeds // 5)))
    found = {"money": money(hungry_runs), "weather": weather(storms)}
    if args.json:
        print(json.dumps(found))
        return
    for run in hungry_runs if args.each else ():
        print(asdict(run))
    for name, figures in found.items():
        print(name)
        for what, value in figures.items():
            print(f"  {what.replace('_', ' '):<44} {value:.4g}")


if __name__ == "__main__":
    main()
