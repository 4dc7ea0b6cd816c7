"""What results have told of money, summed up as they come: the price of each model, and the largest single call.

A start reads these few rows, however many turns a batch has had. They follow from the events, and are written in the
same transaction.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from supervisor.core.usage import priced

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlite_utils import Database as Connection

    from supervisor.core import events as ev

    Usage = Mapping[str, Mapping[str, float]]


def follow(db: Connection, turn: ev.TurnEnded) -> None:
    """Take in one result. The caller holds the transaction."""
    _learn(db, turn.prices or {})
    if turn.largest_call_usd > 0:
        db.execute(
            "INSERT INTO largest_calls (model, usd) SELECT coalesce(model, ''), ? FROM tickets WHERE id = ?"
            " ON CONFLICT (model) DO UPDATE SET usd = max(usd, excluded.usd)",
            [turn.largest_call_usd, turn.ticket],
        )


def _learn(db: Connection, usage: Usage) -> None:
    for model, use in priced(usage).items():
        db.execute(
            "INSERT INTO model_prices (model, usage) VALUES (?, ?)"
            " ON CONFLICT (model) DO UPDATE SET usage = excluded.usage",
            [model, json.dumps(dict(use))],
        )


def prices(db: Connection) -> Usage:
    """Return the latest ``model_usage`` of each model that told its price."""
    rows = db.query("SELECT model, usage FROM model_prices")
    return {row["model"]: cast("Mapping[str, float]", json.loads(row["usage"])) for row in rows}


def largest_calls(db: Connection) -> dict[str, float]:
    """Return USD of the largest single API call reported, by the model that its ticket names (empty for none)."""
    return {row["model"]: float(row["usd"]) for row in db.query("SELECT model, usd FROM largest_calls")}


def fill(db: Connection) -> None:
    """Take in all results among the events, as an earlier version or a repair has left them.

    The caller holds the transaction.
    """
    told = db.query(
        "SELECT json_extract(body, '$.prices') AS prices FROM events"
        " WHERE type = 'TurnEnded' AND json_valid(body) AND json_type(body, '$.prices') = 'object' ORDER BY seq"
    )
    latest: dict[str, Mapping[str, float]] = {}
    for row in told:
        latest |= priced(json.loads(row["prices"]))
    _learn(db, latest)
    db.execute(
        "INSERT INTO largest_calls (model, usd)"
        " SELECT coalesce(t.model, ''), max(json_extract(e.body, '$.largest_call_usd')) AS usd"
        " FROM events e JOIN tickets t ON t.id = e.ticket WHERE e.type = 'TurnEnded' AND json_valid(e.body)"
        " GROUP BY 1 HAVING usd > 0"
        " ON CONFLICT (model) DO UPDATE SET usd = max(usd, excluded.usd)"
    )
