"""What verbs are told: made absolute once, refused in words."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.model import State, TicketSnapshot
from supervisor.core.verb_args import MAX_TEXT, BadArgs, checked
from supervisor.core.verbs import BUDGET, FORK, INTERRUPT, MESSAGE, PRIORITY, REWIND, VERBS

TICKET = TicketSnapshot("001", state=State.PAUSED, budget_usd=1.0, max_turns=20, created=1.0)


@pytest.mark.parametrize(
    ("told", "args"),
    [
        ({"budget_usd": 2.5}, {"budget_usd": 2.5, "max_turns": 20}),
        ({"raise_usd": 0.5}, {"budget_usd": 1.5, "max_turns": 20}),
        ({"raise_usd": -3}, {"budget_usd": 0.0, "max_turns": 20}),
        ({"max_turns": 40}, {"budget_usd": 1.0, "max_turns": 40}),
        ({"no_budget": True}, {"budget_usd": None, "max_turns": 20}),
        ({"budget_turns": 90}, {"budget_usd": 1.0, "max_turns": 20, "budget_turns": 90}),
        ({"budget_tokens": 5_000}, {"budget_usd": 1.0, "max_turns": 20, "budget_tokens": 5_000}),
    ],
)
def test_a_raise_becomes_a_sum(told: dict[str, Any], args: dict[str, Any]) -> None:
    assert checked(BUDGET, TICKET, told) == args


def test_limits_over_all_attempts_stay_unless_they_are_told() -> None:
    bounded = replace(TICKET, budget_turns=50, budget_tokens=9_000)
    args = checked(BUDGET, bounded, {"budget_usd": 2.0, "budget_turns": 60})
    assert args == {"budget_usd": 2.0, "max_turns": 20, "budget_turns": 60, "budget_tokens": 9_000}


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
        (BUDGET, {"budget_usd": -1}, "between 0"),
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
def test_whatever_is_told_is_checked_or_refused_and_what_is_checked_stays_so(verb: Any, told: dict[str, Any]) -> None:
    try:
        args = checked(verb, TICKET, told)
    except BadArgs as refusal:
        assert str(refusal)
        return
    after = replace(TICKET, budget_usd=args.get("budget_usd", 1.0))
    assert checked(verb, after, args) == args, "carried out twice it is the same as once"
