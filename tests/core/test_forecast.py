"""What is expected of the tickets that are left."""

from __future__ import annotations

import time

import pytest

from supervisor.core.forecast import forecast, words
from supervisor.core.model import State, TicketSnapshot

DONE, QUEUED, RUNNING, PARKED = State.DONE, State.QUEUED, State.RUNNING, State.PARKED


def _tickets(*told: tuple[State, float]) -> list[TicketSnapshot]:
    return [TicketSnapshot(f"{n:03}", state=state, spent_usd=usd) for n, (state, usd) in enumerate(told, 1)]


def test_nobody_knows_before_the_first_is_done_and_after_the_last() -> None:
    assert forecast(_tickets((RUNNING, 1.0), (QUEUED, 0.0)), {}, 2, 0.0) is None
    assert forecast(_tickets((DONE, 1.0), (State.FAILED, 1.0), (State.CANCELLED, 0.0)), {}, 2, 0.0) is None


def test_those_that_are_left_are_taken_to_be_like_those_that_are_done() -> None:
    tickets = _tickets((DONE, 1.0), (DONE, 2.0), (DONE, 6.0), (RUNNING, 0.5), (QUEUED, 0.0), (QUEUED, 0.0))
    work = {"001": 60.0, "002": 120.0, "003": 240.0, "004": 30.0}
    found = forecast(tickets, work, 2, 0.0)
    assert found is not None
    assert (found.finished, found.left) == (3, 3)
    assert found.cost_usd.expected == pytest.approx(9.5 + 1.5 + 2.0 + 2.0)
    assert [found.cost_usd.low, found.cost_usd.high] == pytest.approx([9.5 + 0.5 + 2.0, 9.5 + 17.5])
    assert found.seconds.expected == pytest.approx((90 + 120 + 120) / 2)
    assert [found.seconds.low, found.seconds.high] == pytest.approx([75.0, (210 + 240 + 240) / 2])


def test_the_middle_half_is_the_range_once_there_are_enough() -> None:
    tickets = _tickets(*[(DONE, float(n)) for n in range(1, 6)], (QUEUED, 0.0))
    found = forecast(tickets, {}, 1, 0.0)
    assert found is not None
    assert (found.cost_usd.low, found.cost_usd.expected, found.cost_usd.high) == (17.0, 18.0, 19.0)


def test_one_that_has_spent_more_than_the_others_costs_nothing_more() -> None:
    found = forecast(_tickets((DONE, 1.0), (RUNNING, 5.0)), {"001": 10.0, "002": 99.0}, 1, 0.0)
    assert found is not None
    assert (found.cost_usd.expected, found.seconds.expected) == (6.0, 0.0)


def test_the_end_is_not_before_a_parked_ticket_goes_on() -> None:
    tickets = [*_tickets((DONE, 1.0)), TicketSnapshot("002", state=PARKED, until=1000.0)]
    found = forecast(tickets, {"001": 10.0}, 3, 400.0)
    assert found is not None
    assert found.seconds.expected == 600.0


def test_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    found = forecast(_tickets((DONE, 1.0), (QUEUED, 0.0)), {"001": 7200.0}, 3, 0.0)
    assert found is not None
    assert words(found, 0.0) == "≈ $2.00 in all ($2.00 to $2.00), ends about 02:00 (02:00 to 02:00)"
    assert words(found, 23 * 3600.0, notional=True) == "ends about 01:00 +1 d (01:00 +1 d to 01:00 +1 d)"
    monkeypatch.undo()
    time.tzset()
