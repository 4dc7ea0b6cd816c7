"""Summaries of calls, from messages that only look like the SDK's."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.model import Outcome
from supervisor.core.sessions import is_session_id, session_of, summarise


@dataclass
class ResultMessage:
    """As much of the SDK's as a summary reads."""

    total_cost_usd: float | None = 0.0
    subtype: str = "success"
    terminal_reason: str | None = "completed"
    is_error: bool = False
    num_turns: int = 1
    session_id: str = "s"
    api_error_status: int | None = None
    origin: dict[str, str] | None = None


@dataclass
class SystemMessage:
    """An init message: names its session inside."""

    subtype: str = "init"
    data: dict[str, Any] = field(default_factory=lambda: {"session_id": "s"})


def test_a_resumed_call_is_compared_by_the_difference_only() -> None:
    summary = summarise([ResultMessage(0.35, num_turns=4)], previous_cost_usd=0.30, budget_usd=0.10)
    assert summary.cost_usd == pytest.approx(0.05)
    assert summary.headroom_usd == pytest.approx(0.05)
    assert summary.total_cost_usd == 0.35
    assert (summary.turns, summary.outcome, summary.is_error) == (4, Outcome.DONE, False)


def test_a_fresh_call_subtracts_nothing_and_an_overshoot_is_negative_headroom() -> None:
    summary = summarise([ResultMessage(0.12)], budget_usd=0.10)
    assert summary.cost_usd == 0.12
    assert summary.headroom_usd == pytest.approx(-0.02)
    assert summarise([ResultMessage(0.12)]).headroom_usd is None


def test_totals_are_never_summed() -> None:
    assert summarise([ResultMessage(0.1), ResultMessage(0.3)], 0.1).cost_usd == pytest.approx(0.2)


def test_a_total_below_the_previous_one_began_again() -> None:
    assert summarise([ResultMessage(0.02)], previous_cost_usd=0.5).cost_usd == 0.02
    written_and_read = summarise([ResultMessage(0.5)], previous_cost_usd=0.5000000001)
    assert written_and_read.cost_usd == 0.0, "nothing was spent: no second count of it all"


def test_without_a_total_nothing_is_known_to_be_spent() -> None:
    for total in (None, math.nan):
        summary = summarise([ResultMessage(total)], previous_cost_usd=0.2)
        assert (summary.cost_usd, summary.total_cost_usd) == (0.0, 0.2)


def test_a_ghost_is_passed_over_but_a_turn_that_a_task_began_is_not() -> None:
    ghost = ResultMessage(0.0, num_turns=0, origin={"kind": "task-notification"})
    assert summarise([ghost, ResultMessage(0.1, num_turns=3)]).turns == 3
    assert summarise([ResultMessage(0.1, num_turns=3), ghost]).turns == 3
    woken = ResultMessage(0.2, "error_max_turns", "max_turns", True, 2, origin={"kind": "task-notification"})
    assert summarise([ResultMessage(0.1), woken]).outcome is Outcome.LIMIT


def test_a_call_that_was_cut_off_still_names_its_session() -> None:
    summary = summarise([SystemMessage()], previous_cost_usd=0.1)
    assert (summary.subtype, summary.terminal_reason, summary.is_error) == (None, None, True)
    assert (summary.session_id, summary.total_cost_usd, summary.outcome) == ("s", 0.1, Outcome.CRASHED)
    assert summarise([]).session_id is None
    assert session_of([SystemMessage(), object(), ResultMessage(session_id="t")]) == "t"


def test_a_failed_resume_is_one_only_if_the_session_was_resumed() -> None:
    stale = ResultMessage(0.0, "error_during_execution", None, is_error=True, num_turns=0)
    assert summarise([stale], resumed=True).outcome is Outcome.FAILED_RESUME
    assert summarise([stale]).outcome is Outcome.FAILED_RUN


money = st.floats(allow_nan=True, allow_infinity=False)


@given(st.lists(money | st.none(), max_size=5), money, money | st.none())
def test_costs_are_never_negative(totals: list[float | None], previous: float, budget: float | None) -> None:
    summary = summarise([ResultMessage(total) for total in totals], previous, budget)
    assert summary.cost_usd >= 0
    assert summary.total_cost_usd >= 0


@given(st.lists(st.tuples(st.floats(0, 10), st.booleans()), max_size=20))
def test_the_costs_of_a_tickets_calls_add_up_whatever_became_of_its_sessions(calls: list[tuple[float, bool]]) -> None:
    stored = counted = spent = 0.0
    for cost, goes_on in calls:
        resumed = goes_on and stored > 0
        total = (stored if resumed else 0.0) + cost
        summary = summarise([ResultMessage(total)], stored if resumed else 0.0)
        stored, counted, spent = summary.total_cost_usd, counted + summary.cost_usd, spent + cost
    assert counted == pytest.approx(spent, abs=1e-4)


@pytest.mark.parametrize(
    ("value", "is_valid"),
    [
        ("8d0e7a41-52c3-4f9b-b6e2-1a7c9d3f5e60", True),
        ("8D0E7A41-52C3-4F9B-B6E2-1A7C9D3F5E60", True),
        ("00000000-0000-0000-0000-000000000000", True),
        ("8d0e7a4152c34f9bb6e21a7c9d3f5e60", False),
        ("{8d0e7a41-52c3-4f9b-b6e2-1a7c9d3f5e60}", False),
        ("8d0e7a41-52c3-4f9b-b6e2-1a7c9d3f5e60\n", False),
        ("ticket-001", False),
        ("", False),
        (None, False),
    ],
)
def test_what_the_cli_takes_as_a_session_id(value: object, is_valid: bool) -> None:
    assert is_session_id(value) is is_valid
