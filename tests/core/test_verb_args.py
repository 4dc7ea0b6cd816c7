"""What verbs are told: checked once, refused in words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.model import State, TicketSnapshot
from supervisor.core.verb_args import MAX_TEXT, MAX_USD, BadArgs, Limits, checked, limits
from supervisor.core.verbs import BUDGET, FORK, INTERRUPT, MESSAGE, PRIORITY, REWIND, VERBS

TICKET = TicketSnapshot("001", state=State.PAUSED, budget_usd=1.0, max_turns=20, created=1.0)


@pytest.mark.parametrize(
    ("told", "to"),
    [
        ({"budget_usd": 2.5}, {"budget_usd": 2.5}),
        ({"raise_usd": 0.5}, {"budget_usd": 1.5}),
        ({"raise_usd": -0.99}, {"budget_usd": 0.01}),
        ({"max_turns": 40}, {"max_turns": 40}),
        ({"no_budget": True}, {"budget_usd": None}),
        ({"no_budget": True, "raise_usd": 1}, {"budget_usd": None}),
        ({"budget_turns": 90}, {"budget_turns": 90}),
        ({"budget_tokens": 5_000}, {"budget_tokens": 5_000}),
        (
            {"raise_usd": 1, "max_turns": 40, "budget_tokens": 7},
            {"budget_usd": 2.0, "max_turns": 40, "budget_tokens": 7},
        ),
    ],
)
@pytest.mark.parametrize("has", [{}, {"budget_turns": 50, "budget_tokens": 9_000}], ids=["few", "many"])
def test_limits_that_are_not_told_stay(told: dict[str, Any], to: dict[str, Any], has: dict[str, Any]) -> None:
    ticket = replace(TICKET, **has)
    before = Limits(1.0, 20, ticket.budget_turns, ticket.budget_tokens)
    assert limits(ticket, checked(BUDGET, ticket, told)) == replace(before, **to)


def test_a_letter_holds_what_was_told_and_not_what_the_ticket_had() -> None:
    assert checked(BUDGET, TICKET, {"raise_usd": 0.5}) == {"raise_usd": 0.5}
    assert checked(BUDGET, TICKET, {"max_turns": 40}) == {"max_turns": 40}


@pytest.mark.parametrize(
    ("verb", "told", "words"),
    [
        (MESSAGE, {"text": " \n"}, "blank"),
        (MESSAGE, {"text": 3}, "must be text"),
        (MESSAGE, {"text": "x" * (MAX_TEXT + 1)}, "100,001 characters"),
        (MESSAGE, {"text": "x", "now": "yes"}, "true or false"),
        (BUDGET, {}, "say a sum"),
        (BUDGET, {"budget_usd": math.nan}, "a number"),
        (BUDGET, {"budget_usd": True}, "a number"),
        (BUDGET, {"budget_usd": -1}, "the budget must be more than 0, not -1"),
        (BUDGET, {"budget_usd": 0}, "the budget must be more than 0, not 0"),
        (BUDGET, {"budget_usd": 0.001}, "the budget must be at least 0.01, not 0.001"),
        (BUDGET, {"budget_usd": 1e9}, "must be at most 1000000, not 1000000000"),
        (BUDGET, {"raise_usd": -1}, "the budget must be more than 0, not 0"),
        (BUDGET, {"raise_usd": -3}, "the budget must be more than 0, not -2"),
        (BUDGET, {"raise_usd": -0.995}, "the budget must be at least 0.01, not 0.005"),
        (BUDGET, {"raise_usd": 1e6}, "the budget must be at most 1000000, not 1000001"),
        (BUDGET, {"max_turns": 0}, "must be at least 1, not 0"),
        (BUDGET, {"budget_turns": -5}, "must be at least 1, not -5"),
        (BUDGET, {"budget_tokens": 0}, "must be at least 1, not 0"),
        (FORK, {"prompt": "x", "budget_usd": 0}, "the fork's budget must be more than 0, not 0"),
        (FORK, {"prompt": "x", "max_turns": 0}, "must be at least 1, not 0"),
        (BUDGET, {"max_turns": 1.5}, "whole number"),
        (PRIORITY, {"priority": None}, "whole number"),
        (FORK, {"prompt": ""}, "blank"),
        (FORK, {"prompt": "x", "files": "never"}, '"now" or "then"'),
        (REWIND, {"to": ""}, "blank"),
        (REWIND, {"to": "u", "source": "magic"}, "source"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(verb: Any, told: dict[str, Any], words: str) -> None:
    with pytest.raises(BadArgs, match=words):
        checked(verb, TICKET, told)


def test_a_ticket_without_a_budget_cannot_be_raised_by_a_sum() -> None:
    with pytest.raises(BadArgs, match="no budget"):
        checked(BUDGET, TicketSnapshot("001"), {"raise_usd": 1})


def test_verbs_that_are_told_nothing_ignore_what_is_said() -> None:
    assert checked(INTERRUPT, TICKET, {"text": "x"}) == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5), st.lists, max_leaves=3
)
FIELDS = st.sampled_from(
    [
        "text",
        "now",
        "budget_usd",
        "raise_usd",
        "max_turns",
        "budget_turns",
        "budget_tokens",
        "no_budget",
        "priority",
        "prompt",
        "at",
        "files",
        "to",
        "source",
    ]
)


@given(st.sampled_from(VERBS), st.dictionaries(FIELDS, JSON))
def test_whatever_is_told_is_checked_or_refused(verb: Any, told: dict[str, Any]) -> None:
    try:
        args = checked(verb, TICKET, told)
    except BadArgs as refusal:
        assert str(refusal)
        return
    if verb is not BUDGET:
        assert checked(verb, TICKET, args) == args
        return
    to = limits(TICKET, args)
    assert to.budget_usd is None or 0.0099 < to.budget_usd <= MAX_USD
    assert all(count is None or count >= 1 for count in (to.max_turns, to.budget_turns, to.budget_tokens))
