"""Arithmetic of money: differences of cumulative totals, estimates for turns that died, caps and reserves.

Pure. All amounts are USD and are the SDK's client-side estimates, not billing data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from supervisor.core.spec import DEFAULT_RESERVE_USD

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN_KINDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_LIST_RATIO = {
    "input_tokens": 1.0,
    "output_tokens": 5.0,
    "cache_creation_input_tokens": 1.25,
    "cache_read_input_tokens": 0.1,
}
"""Prices of the token kinds relative to input, the same for every model of the published list."""


@dataclass(slots=True)
class CostMeter:
    """Turns a session's cumulative ``total_cost_usd`` into what each turn cost.

    ``total_cost_usd`` counts over the whole session, earlier processes included, so totals are never summed. The
    baseline is read right after connect, before any prompt.
    """

    baseline_usd: float = 0.0
    _last: float = field(init=False)

    def __post_init__(self) -> None:
        self._last = max(0.0, self.baseline_usd)

    def turn(self, total_usd: float | None) -> float:
        """Return what was spent since the last reading. Never negative; a missing total counts as no change."""
        if total_usd is None or total_usd != total_usd:  # NaN: nothing can be said
            return 0.0
        cost = max(0.0, total_usd - self._last)
        self._last = max(0.0, total_usd)
        return cost

    def reset(self) -> None:
        """The conversation was replaced: the session's total starts again from zero."""
        self._last = 0.0


@dataclass(slots=True)
class UsageMeter:
    """Token usage of assistant messages that no result has accounted for yet.

    The CLI repeats a message's usage on each of its content blocks, so it is counted once for each message id.
    """

    _seen: dict[str, tuple[str, dict[str, int]]] = field(default_factory=dict)

    def see(self, message_id: str, model: str, usage: Mapping[str, object]) -> None:
        """Note a message's usage; a later block of the same message replaces it (output grows while it streams)."""
        tokens = {kind: _count(usage.get(kind)) for kind in TOKEN_KINDS}
        _, before = self._seen.get(message_id, (model, {}))
        self._seen[message_id] = (model, {k: max(tokens[k], before.get(k, 0)) for k in TOKEN_KINDS})

    @property
    def empty(self) -> bool:
        """Whether everything seen has been accounted for."""
        return not self._seen

    def settle(self) -> None:
        """A result has reported the cost of everything seen so far."""
        self._seen.clear()

    def estimate(self, prices: Prices, otherwise_usd: float | None = None) -> float | None:
        """Return the cost of what was seen and not settled, USD; None if a model's price is unknown.

        ``otherwise_usd`` is taken for one input token of a model whose price is not known.
        """
        total = 0.0
        for model, tokens in self._seen.values():
            price = prices.of(model) or otherwise_usd
            if price is None:
                return None
            total += price * _weight(tokens)
        return total


def _count(value: object) -> int:
    return int(_amount(value))


def _amount(value: object) -> float:
    """Return a number of the other side's, or 0 where it is no positive, finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 < value < math.inf else 0.0


def _weight(tokens: Mapping[str, int]) -> float:
    """Return the tokens as their equivalent in input tokens."""
    return sum(tokens.get(kind, 0) * ratio for kind, ratio in _LIST_RATIO.items())


class Prices:
    """USD for one input token of each model, learned from the ``model_usage`` of results in this batch."""

    def __init__(self) -> None:
        self._by_model: dict[str, float] = {}

    def learn(self, model_usage: Mapping[str, Mapping[str, float]] | None) -> None:
        """Take the price of every model that a result reports with tokens and a cost."""
        for model, use in (model_usage or {}).items():
            tokens = {
                "input_tokens": _count(use.get("inputTokens")),
                "output_tokens": _count(use.get("outputTokens")),
                "cache_creation_input_tokens": _count(use.get("cacheCreationInputTokens")),
                "cache_read_input_tokens": _count(use.get("cacheReadInputTokens")),
            }
            weight, cost = _weight(tokens), _amount(use.get("costUSD"))
            if weight > 0 and cost > 0:
                self._by_model[model] = cost / weight

    def of(self, model: str) -> float | None:
        """Return the price of one input token of ``model``, or None if no result has shown it yet."""
        return self._by_model.get(model)


def reserve(asked: float | None, largest_call_usd: float) -> float:
    """Return what is kept free below a cap: the ticket's own wish, or the largest call seen, at least 0.05."""
    return asked if asked is not None else max(DEFAULT_RESERVE_USD, largest_call_usd)


MIN_CAP_USD = 0.01
"""With less an agent would only be started to be stopped."""


DEAREST_USD = 15e-6
"""USD for one input token of the dearest model on the public list: what a model costs whose price we have not seen."""


def lost_spend(usage: UsageMeter, prices: Prices, cap_usd: float | None) -> float:
    """Return what a turn without a result is taken to have cost, USD.

    Where no price is known yet the dearest one counts, up to the attempt's cap: money must not be lost sight of, but a
    ticket must not stand still because of a guess either.
    """
    estimate = usage.estimate(prices)
    if estimate is not None:
        return estimate
    guess = usage.estimate(prices, otherwise_usd=DEAREST_USD) or 0.0
    return guess if cap_usd is None else min(guess, cap_usd)


def attempt_cap(
    headroom_usd: float | None, reserve_usd: float, unreserved_usd: float | None, free_slots: int
) -> float | None:
    """Return the ``max_budget_usd`` of the next connect; None means no limit, zero or less means do not start.

    Args:
        headroom_usd: what the ticket may still spend; None without a budget of its own.
        reserve_usd: kept free below the cap, since the API call that crosses it still counts.
        unreserved_usd: what the batch may still promise to attempts; None without a batch budget.
        free_slots: slots the rest is shared among, this ticket's included.
    """
    limits = []
    if headroom_usd is not None:
        limits.append(headroom_usd - reserve_usd)
    if unreserved_usd is not None:
        limits.append(unreserved_usd / max(1, free_slots) - reserve_usd)
    return min(limits) if limits else None


@dataclass(slots=True)
class Purse:
    """The batch's money: what running attempts may still spend is set aside, so that together they stay within it."""

    budget_usd: float | None = None
    _promised: dict[str, float] = field(default_factory=dict)

    def promise(self, ticket: str, cap_usd: float | None) -> None:
        """Set an attempt's cap aside; what the ticket held before is given back first."""
        self._promised[ticket] = max(0.0, cap_usd or 0.0)

    def spent(self, ticket: str, usd: float) -> None:
        """An attempt spent part of its promise."""
        if ticket in self._promised:
            self._promised[ticket] = max(0.0, self._promised[ticket] - max(0.0, usd))

    def release(self, ticket: str) -> None:
        """An attempt is over: give back what it did not spend."""
        self._promised.pop(ticket, None)

    @property
    def holders(self) -> int:
        """How many tickets hold a promise."""
        return len(self._promised)

    def unreserved(self, spent_usd: float, ticket: str | None = None) -> float | None:
        """Return what can still be promised, given all that was spent; None without a batch budget.

        ``ticket``'s own promise counts as free.
        """
        if self.budget_usd is None:
            return None
        others = sum(usd for holder, usd in self._promised.items() if holder != ticket)
        return self.budget_usd - spent_usd - others
