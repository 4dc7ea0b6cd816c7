"""Money: differences, estimates, caps. Checked against a model that knows what was really spent."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from supervisor.core.budget import CostMeter, Purse, attempt_cap, raised, reserve, unreported
from supervisor.core.usage import DEAREST_USD, Prices, UsageMeter, counted_tokens, lost_spend

COST = st.floats(0, 10)


@given(COST, st.lists(st.one_of(COST, st.just("reset"), st.just("none"))))
def test_the_differences_add_up_to_what_was_spent(past: float, steps: list[float | str]) -> None:
    meter, total, spent, counted = CostMeter(past), past, 0.0, 0.0
    for step in steps:
        if step == "reset":
            meter.reset()
            total = 0.0
        elif step == "none":
            assert meter.turn(None) == 0.0
        else:
            assert isinstance(step, float)
            total += step
            spent += step
            counted += meter.turn(total)
    assert counted == pytest.approx(spent, abs=1e-9)


@given(st.floats(allow_nan=True, allow_infinity=False), st.lists(st.floats(allow_nan=True, allow_infinity=False)))
def test_a_difference_is_never_negative(past: float, totals: list[float]) -> None:
    meter = CostMeter(0.0 if math.isnan(past) else past)
    assert all(meter.turn(total) >= 0.0 for total in totals)


def test_the_same_total_twice_costs_nothing() -> None:
    meter = CostMeter(0.5)
    assert meter.turn(0.75) == 0.25
    assert meter.turn(0.75) == 0.0


def test_after_a_reset_the_total_is_that_of_the_session_before_until_the_next_result() -> None:
    """It is the one that is written down under the session's name, which is still the old one."""
    meter = CostMeter(0.5)
    meter.reset()
    assert meter.total_usd == 0.5
    assert meter.turn(0.1) == 0.1
    assert meter.total_usd == 0.1


def test_a_total_that_shrank_has_begun_again_and_is_all_new() -> None:
    """The conversation was replaced and nobody said so: what the new one cost must not be lost sight of."""
    meter = CostMeter(0.5)
    assert meter.turn(0.25) == 0.25
    assert meter.turn(0.5) == 0.25
    assert meter.turn(0.5 - 1e-12) == 0.0, "a total that was written out and read back is the same"


USAGE = {"input_tokens": 1000, "output_tokens": 200, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
MODEL_USAGE = {"m": {"inputTokens": 1000, "outputTokens": 200, "costUSD": 0.002}}


def test_usage_repeated_on_every_block_is_counted_once() -> None:
    prices, usage = Prices(), UsageMeter()
    prices.learn(MODEL_USAGE)
    for _ in range(150):
        usage.see("msg_1", "m", USAGE)
    assert usage.estimate(prices) == pytest.approx(0.002)
    usage.settle()
    assert usage.estimate(prices) == 0.0


def test_an_unknown_price_gives_no_estimate() -> None:
    usage = UsageMeter()
    usage.see("msg_1", "unheard-of", USAGE)
    assert usage.estimate(Prices()) is None


def test_strange_usage_is_no_money() -> None:
    usage, prices = UsageMeter(), Prices()
    prices.learn({"m": {"inputTokens": 10, "costUSD": 1.0}})
    usage.see("msg_1", "m", {"input_tokens": "many", "output_tokens": -5, "cache_read_input_tokens": True})
    assert usage.estimate(prices) == 0.0


def test_prices_need_tokens_and_a_cost() -> None:
    prices = Prices()
    prices.learn({"free": {"inputTokens": 10, "costUSD": 0.0}, "empty": {"inputTokens": 0, "costUSD": 1.0}})
    prices.learn(None)
    assert (prices.of("free"), prices.of("empty")) == (None, None)


@pytest.mark.parametrize(
    ("headroom", "kept", "unreserved", "free", "cap"),
    [
        (None, 0.05, None, 3, None),
        (1.0, 0.05, None, 3, 0.95),
        (None, 0.05, 3.0, 3, 0.95),
        (1.0, 0.25, 9.0, 3, 0.75),
        (0.04, 0.05, None, 1, -0.01),
        (1.0, 0.05, 0.0, 2, -0.05),
    ],
)
def test_the_cap_is_the_smallest_limit_less_the_reserve(
    headroom: float | None, kept: float, unreserved: float | None, free: int, cap: float | None
) -> None:
    found = attempt_cap(headroom, kept, unreserved, free)
    assert found == (None if cap is None else pytest.approx(cap))


def test_the_reserve_is_the_largest_call_and_at_least_five_cents() -> None:
    assert reserve(None, 0.0) == 0.05
    assert reserve(None, 0.4) == 0.4
    assert reserve(0.01, 0.4) == 0.01


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["start", "spend", "end"]), COST)))
def test_the_purse_never_promises_what_it_does_not_have(steps: list[tuple[str, str, float]]) -> None:
    purse, spent, running = Purse(10.0), 0.0, {}
    for ticket, what, amount in steps:
        if what == "start" and ticket not in running:
            left = purse.unreserved(spent)
            assert left is not None
            running[ticket] = min(amount, max(0.0, left))
            purse.promise(ticket, running[ticket])
        elif what == "spend" and ticket in running:
            part = min(amount, running[ticket])
            running[ticket] -= part
            spent += part
            purse.spent(ticket, part)
        elif what == "end" and running.pop(ticket, None) is not None:
            purse.release(ticket)
        left = purse.unreserved(spent)
        assert left is not None
        assert left >= -1e-9
        assert spent + sum(running.values()) <= 10.0 + 1e-9


def test_a_lost_turn_of_unknown_price_costs_what_the_dearest_would_and_at_most_its_cap() -> None:
    usage = UsageMeter()
    usage.see("msg_1", "unheard-of", USAGE)
    assert lost_spend(usage, Prices(), 5.0) == pytest.approx(2000 * DEAREST_USD)
    assert lost_spend(usage, Prices(), 0.01) == 0.01
    prices = Prices()
    prices.learn({"unheard-of": {"inputTokens": 1000, "outputTokens": 200, "costUSD": 0.002}})
    assert lost_spend(usage, prices, 5.0) == pytest.approx(0.002)
    assert lost_spend(UsageMeter(), Prices(), 5.0) == 0.0


def test_a_budget_too_small_for_everyone_is_shared_among_fewer() -> None:
    """A cap that does not even hold the largest call seen is no good: fewer start, and one always can."""
    assert attempt_cap(None, 0.05, 0.30, 4) == pytest.approx(0.05)
    assert attempt_cap(None, 0.05, 0.19, 4) == pytest.approx(0.19 / 1 - 0.05)
    assert attempt_cap(None, 0.05, 0.21, 4) == pytest.approx(0.21 / 2 - 0.05)
    assert attempt_cap(None, 0.05, 0.07, 4) == pytest.approx(0.02)
    assert (attempt_cap(None, 0.05, 0.05, 4) or 0.0) < 0.01


@given(st.floats(0.0, 50.0), st.floats(0.0, 2.0), st.integers(1, 20))
@example(0.02, 3e-9, 2)
def test_shares_and_their_reserves_stay_within_the_budget(money: float, kept: float, tickets: int) -> None:
    """Each takes its share in turn, as the pool does it, and each may overshoot its cap by the reserve."""
    purse, caps = Purse(money), []
    for left in range(tickets, 0, -1):
        cap = attempt_cap(None, kept, purse.unreserved(0.0), left)
        if cap is None or cap < 0.01:
            break
        purse.promise(str(left), cap + kept)
        caps.append(cap)
    assert sum(cap + kept for cap in caps) <= money + 1e-9
    assert caps or money - kept < 0.01 + 1e-9, "one ticket runs if there is money for any"


@pytest.mark.parametrize(
    ("limit", "first", "ceiling", "enough", "more"),
    [
        (1.0, 1.0, None, 1.1, 1.5),
        (1.5, 1.0, None, 1.6, 2.0),
        (2.0, 1.0, None, 2.1, None),
        (1.0, 1.0, None, 1.9, 2.0),
        (1.0, 1.0, None, 2.5, None),
        (1.0, 1.0, 10.0, 3.0, 3.375),
        (1.0, 1.0, 1.2, 1.1, 1.2),
        (5.0, 1.0, None, 5.1, None),
        (4, 4, None, 5, 6),
    ],
)
def test_a_limit_is_raised_by_half_up_to_its_ceiling(
    limit: float, first: float, ceiling: float | None, enough: float, more: float | None
) -> None:
    found = raised(limit, first, ceiling, enough)
    assert found == (None if more is None else pytest.approx(more))


def test_what_is_written_down_tells_only_what_is_more_than_was_heard() -> None:
    assert unreported(0.5, 0.75) == pytest.approx(0.25)
    assert unreported(0.5, 0.5) is None
    assert unreported(0.5, 0.5 + 1e-12) is None
    assert unreported(0.5, 0.0) is None
    assert unreported(0.5, None) is None


def test_what_was_said_counts_by_its_length_until_the_final_figures_are_known() -> None:
    """On the stream a message's usage is that of its beginning: one token of output, however long it became."""
    prices, usage = Prices(), UsageMeter()
    prices.learn({"m": {"inputTokens": 1_000_000, "costUSD": 1.0}})
    usage.see("msg_1", "m", {"input_tokens": 1000, "output_tokens": 1}, 2000)
    usage.see("msg_1", "m", {"input_tokens": 1000, "output_tokens": 1}, 2000)
    assert usage.estimate(prices) == pytest.approx((1000 + 5 * 1000) * 1e-6)
    assert usage.tokens == 2000
    file = UsageMeter()
    file.see("msg_1", "m", {"input_tokens": 1000, "output_tokens": 1500})
    file.see("msg_2", "m", {"input_tokens": 500, "output_tokens": 10})
    usage.add(file)
    assert usage.tokens == 1000 + 1500 + 500 + 10


def test_the_largest_call_has_its_part_of_what_the_turn_cost() -> None:
    usage = UsageMeter()
    assert usage.settle(0.5) == 0.0, "nothing was heard, so nobody knows"
    usage.see("msg_1", "m", {"input_tokens": 3000})
    usage.see("msg_2", "m", {"input_tokens": 1000})
    assert usage.settle(0.8) == pytest.approx(0.6)
    assert usage.empty
    usage.see("msg_3", "m", {"input_tokens": 1})
    assert usage.settle(0.25) == pytest.approx(0.25)


def test_of_two_models_the_dearer_one_has_the_larger_part() -> None:
    prices, usage = Prices(), UsageMeter()
    prices.learn({"dear": {"inputTokens": 1000, "costUSD": 0.03}, "cheap": {"inputTokens": 1000, "costUSD": 0.01}})
    usage.see("msg_1", "dear[1m]", {"input_tokens": 1000})
    usage.see("msg_2", "cheap", {"input_tokens": 1000})
    assert usage.settle(0.04, prices) == pytest.approx(0.03)


def test_tokens_are_counted_without_what_is_read_from_the_cache() -> None:
    use = {"inputTokens": 1, "outputTokens": 2, "cacheCreationInputTokens": 4, "cacheReadInputTokens": 800}
    assert counted_tokens({"a": use, "b": use}) == 14
    assert counted_tokens({}) is None
    assert counted_tokens(None) is None


def test_a_total_of_nothing_says_nothing() -> None:
    meter = CostMeter(0.5)
    assert meter.turn(0.0) == 0.0
    assert meter.turn(-1.0) == 0.0
    assert meter.turn(0.75) == 0.25
