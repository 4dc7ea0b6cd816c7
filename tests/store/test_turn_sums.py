"""What results told of money is there at a start without reading all of them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.core import events as ev
from supervisor.core.model import TicketSnapshot
from supervisor.core.usage import Prices
from supervisor.store import turn_sums
from supervisor.store.database import connect
from supervisor.store.tickets import append
from tests.store import ledgers

if TYPE_CHECKING:
    from pathlib import Path

    from sqlite_utils import Database

SONNET = {"inputTokens": 1_000, "costUSD": 0.003}
DEARER = {"inputTokens": 1_000, "costUSD": 0.006}
HAIKU = {"inputTokens": 1_000, "costUSD": 0.001}
SILENT = {"inputTokens": 0, "costUSD": 0.5}
TURNS: tuple[tuple[str, dict[str, Any] | None, float], ...] = (
    ("001", {"sonnet": SONNET, "haiku": HAIKU}, 0.2),
    ("002", None, 0.7),
    ("001", {"sonnet[1m]": DEARER, "haiku": SILENT}, 0.1),
    ("002", {}, 0.0),
)


def _play(db: Database) -> None:
    for ident, model in (("001", None), ("002", "opus")):
        snapshot = TicketSnapshot(ident, ident, model=model)
        ledgers.tx(db, append, ev.TicketAdded(ident, 1.0, title=ident, order=0), snapshot)
        for name, usage, largest in TURNS:
            if name == ident:
                turn = ev.TurnEnded(
                    ident, 2.0, 1, None, "success", "completed", False, 1, 0.1, prices=usage, largest_call_usd=largest
                )
                ledgers.tx(db, append, turn, snapshot)


def _check(db: Database) -> None:
    prices = Prices()
    prices.learn(turn_sums.prices(db))
    assert prices.of("sonnet") == pytest.approx(6e-6), "the latest counts"
    assert prices.of("haiku") == pytest.approx(1e-6), "one without tokens tells no price"
    assert turn_sums.largest_calls(db) == {"": 0.2, "opus": 0.7}


def test_results_are_summed_up_as_they_come(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "state.db")) as db:
        assert (turn_sums.prices(db), turn_sums.largest_calls(db)) == ({}, {})
        _play(db)
        _check(db)


def test_what_an_earlier_version_wrote_is_summed_up_once(tmp_path: Path) -> None:
    with closing(connect(tmp_path / "state.db")) as db:
        _play(db)
        db.execute("DROP TABLE model_prices")
        db.execute("DROP TABLE largest_calls")
        db.execute("DELETE FROM _sqlite_migrations WHERE name = '0008_turn_sums'")
    with closing(connect(tmp_path / "state.db")) as db:
        _check(db)


def test_a_start_reads_no_turns(tmp_path: Path) -> None:
    """However many there are, the events are left alone."""
    with closing(connect(tmp_path / "state.db")) as db:
        _play(db)
        asked: list[str] = []
        db.conn.set_trace_callback(asked.append)
        turn_sums.prices(db)
        turn_sums.largest_calls(db)
        db.conn.set_trace_callback(None)
    assert asked
    assert not [sql for sql in asked if "events" in sql]
