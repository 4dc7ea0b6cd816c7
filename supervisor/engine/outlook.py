"""Keeps the forecast of the batch up to date on the board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core import forecast

if TYPE_CHECKING:
    from supervisor.engine.context import Engine


async def announce(engine: Engine, slots: int) -> None:
    """Say what the batch will have cost and when it will have ended. Raises StoreError."""
    now, totals = engine.clock(), engine.board.announced
    found = forecast.forecast(engine.board.rows(), await engine.journal.store.work_times(now), slots, now)
    words = forecast.words(found, now, notional=totals.notional) if found is not None else ""
    if words != totals.forecast:
        engine.board.announce(forecast=words)
