"""Token usage of messages that no result has accounted for yet, and the prices that make money of it.

Pure. All amounts are USD and are the SDK's client-side estimates, not billing data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN_KINDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_LIST_RATIO = {
    "input_tokens": 1.0,
    "output_tokens": 5.0,
    "cache_creation_input_tokens": 1.25,
    "cache_read_input_tokens": 0.1,
}
"""Prices of the token kinds relative to input, for most models; some read the cache at half of that (CLI 2.1.332)."""
_HUGE = 1e15
_CHARS_FOR_A_TOKEN = 4
"""About so many characters are one token of text."""
DEAREST_USD = 15e-6
"""USD for one input token of the dearest model on the public list: what a model costs whose price we have not seen."""


@dataclass(slots=True)
class _Call:
    """One API call, as far as its messages tell."""

    model: str
    tokens: dict[str, int]
    chars: int = 0


@dataclass(slots=True)
class UsageMeter:
    """Token usage of assistant messages that no result has accounted for yet.

    The CLI repeats a message's usage on each of its content blocks, so it is counted once for each message id. On the
    stream that usage is as of the message's beginning (CLI 2.1.332), with next to no output: what was said since is
    counted by its length. The session's own file has the final figures.
    """

    _seen: dict[str, _Call] = field(default_factory=dict)

    def see(self, message_id: str, model: str, usage: Mapping[str, object], chars: int = 0) -> None:
        """Note a block's usage; for a later block of the same message the larger figures count.

        Args:
            message_id: of the API's message.
            model: as the message names it.
            usage: as the message reports it.
            chars: how long the block is; the blocks of a message add up.
        """
        call = self._seen.get(message_id)
        if call is None:
            call = self._seen[message_id] = _Call(model, dict.fromkeys(TOKEN_KINDS, 0))
        for kind in TOKEN_KINDS:
            call.tokens[kind] = max(call.tokens[kind], _count(usage.get(kind)))
        call.model, call.chars = model, call.chars + chars

    def add(self, other: UsageMeter) -> None:
        """Take in what another source knows of the same messages; the larger figures count."""
        for ident, call in other._seen.items():
            known = self._seen.get(ident)
            self.see(ident, call.model, call.tokens)
            self._seen[ident].chars = max(call.chars, known.chars if known is not None else 0)

    @property
    def empty(self) -> bool:
        """Whether everything seen has been accounted for."""
        return not self._seen

    @property
    def tokens(self) -> int:
        """Tokens that were seen and not settled, as ``counted_tokens`` counts them."""
        return sum(
            call.tokens["input_tokens"] + call.tokens["cache_creation_input_tokens"] + _output(call)
            for call in self._seen.values()
        )

    def settle(self, cost_usd: float = 0.0, prices: Prices | None = None) -> float:
        """A result has reported the cost of everything seen so far; return the largest part that one call had of it.

        Args:
            cost_usd: what the result reported.
            prices: of the models, where more than one took part; those that are not known count alike.
        """
        weights = [
            _weigh(call) * ((prices.of(call.model) if prices else None) or DEAREST_USD) for call in self._seen.values()
        ]
        self._seen.clear()
        total = sum(weights)
        return cost_usd * max(weights) / total if total > 0 else 0.0

    def estimate(self, prices: Prices, otherwise_usd: float | None = None) -> float | None:
        """Return the cost of what was seen and not settled, USD; None if a model's price is unknown.

        ``otherwise_usd`` is taken for one input token of a model whose price is not known.
        """
        total = 0.0
        for call in self._seen.values():
            price = prices.of(call.model) or otherwise_usd
            if price is None:
                return None
            total += price * _weigh(call)
        return total


def _output(call: _Call) -> int:
    return max(call.tokens["output_tokens"], call.chars // _CHARS_FOR_A_TOKEN)


def _weigh(call: _Call) -> float:
    return _weight({**call.tokens, "output_tokens": _output(call)})


def _count(value: object) -> int:
    return int(_amount(value))


def _amount(value: object) -> float:
    """Return a number of the other side's, or 0 where it is no positive number, or one beyond all sense."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 < value < _HUGE else 0.0


def _weight(tokens: Mapping[str, int]) -> float:
    """Return the tokens as their equivalent in input tokens."""
    return sum(tokens.get(kind, 0) * ratio for kind, ratio in _LIST_RATIO.items())


class Prices:
    """USD for one input token of each model, learned from the ``model_usage`` of results in this batch."""

    def __init__(self) -> None:
        self._by_model: dict[str, float] = {}

    def learn(self, model_usage: Mapping[str, Mapping[str, float]] | None) -> None:
        """Take the price of every model that a result reports with tokens and a cost."""
        for model, use in priced(model_usage or {}).items():
            self._by_model[model] = _amount(use.get("costUSD")) / _weight(_wire_names(use))

    def of(self, model: str) -> float | None:
        """Return the price of one input token of ``model``, or None if no result has shown it yet."""
        return self._by_model.get(_plain(model))


def priced(model_usage: Mapping[str, Mapping[str, float]]) -> dict[str, Mapping[str, float]]:
    """Return those of a ``model_usage`` that tell a price, with tokens and a cost, by the model's plain name."""
    return {
        _plain(model): use
        for model, use in model_usage.items()
        if _weight(_wire_names(use)) > 0 and _amount(use.get("costUSD")) > 0
    }


def _wire_names(use: Mapping[str, object]) -> dict[str, int]:
    """Return the tokens of one model's ``model_usage`` under the names of the Messages API."""
    return {
        "input_tokens": _count(use.get("inputTokens")),
        "output_tokens": _count(use.get("outputTokens")),
        "cache_creation_input_tokens": _count(use.get("cacheCreationInputTokens")),
        "cache_read_input_tokens": _count(use.get("cacheReadInputTokens")),
    }


def _plain(model: str) -> str:
    """Return a model's name without what stands behind it in brackets, as in ``name[1m]``."""
    return model.partition("[")[0]


def counted_tokens(model_usage: Mapping[str, Mapping[str, float]] | None) -> int | None:
    """Return a session's tokens by its cumulative ``model_usage``: input, output and what was written to the cache.

    What is read from the cache again and again is left out: it is most of the figure and next to nothing of the work.
    None where nothing is told.
    """
    if not model_usage:
        return None
    kinds = ("input_tokens", "output_tokens", "cache_creation_input_tokens")
    return sum(_wire_names(use)[kind] for use in model_usage.values() for kind in kinds)


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
