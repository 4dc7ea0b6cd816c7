"""The gate for starts, on a clock of the tests' own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.limits import Gate, Steady, backoff, family

FIRST_S = 5.0


def test_the_wait_doubles_and_is_spread() -> None:
    assert [backoff(n, 5.0, 1.0) for n in (0, 1, 2, 3, 99)] == [5.0, 5.0, 10.0, 20.0, 300.0]
    assert backoff(3, 5.0, 0.0) == 10.0
    assert backoff(1, 0.0, 1.0) == 0.0


def test_without_trouble_nothing_waits() -> None:
    gate = Gate()
    for n in range(100):
        gate.start(1.0, str(n), 0.5)
        assert gate.wait(1.0) == 0.0
    assert not gate.is_pacing


def test_after_a_failure_one_tries_and_the_others_follow_at_a_distance() -> None:
    gate = Gate()
    gate.failed(100.0, FIRST_S, 1.0)
    for _ in range(20):
        gate.failed(100.5, FIRST_S, 1.0)  # those that ran beside it fail too: it is one failure
    assert gate.wait(100.0) == 5.0
    assert gate.wait(105.0) == 0.0
    gate.start(105.0, "001", 0.0)
    assert gate.wait(106.0) == 59.0, "the others wait for how it went, if it has not been forgotten"
    gate.answered(107.0)
    assert gate.wait(107.0) == 0.0
    gate.start(107.0, "002", 0.0)
    assert gate.wait(107.0) == 0.5, "one second after a failure, half of it after an answer"
    gate.answered(107.6)
    gate.start(107.6, "003", 0.0)
    assert gate.wait(107.6) == pytest.approx(0.25)


def test_when_the_one_that_tried_fails_too_the_wait_is_longer() -> None:
    gate = Gate()
    gate.failed(100.0, FIRST_S, 1.0)
    gate.start(105.0, "001", 0.0)
    gate.failed(106.0, FIRST_S, 1.0)
    assert gate.wait(106.0) == 10.0
    gate.start(116.0, "002", 0.0)
    gate.ended("001")
    assert gate.wait(116.0) == 60.0, "another one's end says nothing of it"
    gate.ended("002")
    assert gate.wait(118.0) == 0.0, "it ended without a word of the API: another one tries"


def test_starts_are_not_spaced_any_more_once_all_has_been_well_for_a_while() -> None:
    gate = Gate()
    gate.slow(100.0, FIRST_S)
    for second in range(101, 120):
        gate.answered(float(second))
    gate.start(120.0, "001", 0.0)
    assert gate.wait(120.0) == pytest.approx(0.125)
    assert gate.wait(161.0) == 0.0
    gate.start(161.0, "002", 0.0)
    assert gate.wait(161.0) == 0.0


def test_an_answer_that_was_under_way_before_the_failure_proves_nothing() -> None:
    gate = Gate()
    gate.failed(100.0, FIRST_S, 1.0)
    gate.answered(100.5)
    assert gate.wait(100.5) == 4.5
    gate.answered(102.0)
    assert gate.wait(102.0) == 0.0, "somebody else is served: the API is not down"


def test_what_the_api_itself_said_holds_whatever_others_are_answered() -> None:
    gate = Gate()
    gate.told(100.0, 160.0, FIRST_S)
    gate.told(101.0, 150.0, FIRST_S)
    gate.answered(120.0)
    assert gate.wait(120.0) == 40.0
    assert gate.wait(160.0) == 0.0
    gate.start(160.0, "001", 0.0)
    assert gate.wait(160.0) == 60.0, "one tries whether it meant it"
    assert gate.wait(220.0) == 0.0, "it is busy with something else: another one tries"


def test_a_window_is_tried_a_moment_after_it_has_begun_anew() -> None:
    gate = Gate()
    first = gate.rejected(100.0, 190.0, "five_hour", FIRST_S, 0.5)
    assert 191.0 <= first <= 195.0
    assert gate.rejected(101.0, 190.0, "five_hour", FIRST_S, 1.0) == first, "nineteen others hear the same"
    assert gate.wait(100.0) == first - 100.0


def test_a_window_of_one_family_of_models_holds_only_those() -> None:
    gate = Gate()
    until = gate.rejected(100.0, 190.0, "seven_day_opus", FIRST_S, 0.5)
    assert (gate.wait(100.0), gate.wait(100.0, "sonnet")) == (0.0, 0.0)
    assert gate.wait(100.0, "claude-opus-5") == until - 100.0
    assert gate.wait(until, "opus") == 0.0
    assert (family("seven_day_opus"), family("seven_day"), family("five_hour"), family("")) == ("opus", "", "", "")


@given(st.lists(st.tuples(st.sampled_from(["failed", "slow", "told", "answered", "start", "ended"]), st.floats(0, 30))))
def test_in_trouble_two_starts_are_never_close_together_and_the_gate_always_opens(
    steps: list[tuple[str, float]],
) -> None:
    gate, now, last, running = Gate(), 1000.0, None, 0
    for what, gone in steps:
        now += gone
        match what:
            case "failed":
                gate.failed(now, FIRST_S, 0.5)
            case "slow":
                gate.slow(now, FIRST_S)
            case "told":
                gate.told(now, now + 20, FIRST_S)
            case "answered":
                gate.answered(now)
            case "ended":
                gate.ended(str(running))
            case _ if gate.wait(now) == 0.0:
                if gate.interval_s and last is not None and last[1]:
                    assert now - last[0] >= 0.125 - 1e-9
                running += 1
                gate.start(now, str(running), 0.0)
                last = (now, gate.interval_s)
            case _:
                pass
    gate.ended(str(running))
    wait = gate.wait(now)
    assert wait <= 330.0
    assert gate.wait(now + wait + 1e-6) == 0.0


def test_the_steady_clock_believes_whichever_went_further() -> None:
    steady = Steady()
    assert steady.now(1000.0, 5.0) == 1000.0
    assert steady.now(1010.0, 15.0) == 1010.0
    assert steady.now(10.0, 20.0) == 1015.0, "the wall clock was set back"
    assert steady.now(3610.0, 21.0) == 4615.0, "the machine slept for an hour"
    assert steady.now(3610.0, 21.0) == 4615.0
