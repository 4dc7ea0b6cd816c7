"""The filter's language: what matches, what may be cut short, and what is said of a text that means nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.model import State, TicketSnapshot, Why
from supervisor.core.query import EVERYTHING, FIELDS, Filter, Unclear, parse

TICKETS = (
    TicketSnapshot("001-rounding", "Discounts round", state=State.RUNNING, detail="Edit pricing.py", attempts=1),
    TicketSnapshot(
        "002-deploy",
        "Deploy build 418",
        state=State.NEEDS_YOU,
        why=Why.UNRESOLVED_EFFECT,
        terminal_reason="completed",
        subtype="success",
        spent_usd=0.1 + 0.2,
        budget_usd=0.4,
        attempts=2,
        turns=12,
        model="claude-opus-4-1",
    ),
    TicketSnapshot(
        "003-café", "Größe: the menu", state=State.DONE, branch="supervise/shop/003", spent_usd=0.8, turns=3
    ),
    TicketSnapshot(
        "004-search",
        "a rate limit",
        state=State.PARKED,
        terminal_reason="api_error",
        subtype="error_during_execution",
        model="claude-sonnet-4-5",
        budget_usd=1.0,
        attempts=1,
    ),
)

NEEDS = {"002-deploy", "004-search"}
"""Those that need the operator: the state does not tell."""


def found(text: str) -> str:
    """Return the numbers of the tickets that a filter leaves."""
    read = parse(text)
    assert isinstance(read, Filter), read
    return " ".join(ticket.id[2] for ticket in TICKETS if read.matches(ticket, NEEDS))


def fault(text: str) -> str:
    read = parse(text)
    assert isinstance(read, Unclear), read
    return read.message


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", "1 2 3 4"),
        ("   ", "1 2 3 4"),
        ("round", "1"),
        ("ROUND edit", "1"),
        ("round deploy", ""),
        ("supervise/shop", "3"),
        ("rate limit", "4"),
        ('"rate limit"', "4"),
        ('"limit rate"', ""),
        ('"Größe: the"', "3"),
        ("cafe\u0301 GRÖSSE", "3"),
        ("!deploy", "1 3 4"),
        ("!", "1 2 3 4"),
        ("round !", "1"),
        ('""', "1 2 3 4"),
        ('"rate l', "4"),
    ],
)
def test_words_are_all_looked_for_in_id_title_detail_and_branch(text: str, left: str) -> None:
    assert found(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("state:running", "1"),
        ("state:run", "1"),
        ("STATE:Run", "1"),
        ("sta:needs", "2"),
        ("state:needs-you", "2"),
        ('state:"needs you"', "2"),
        ("state:run,done", "1 3"),
        ("!state:done", "1 2 4"),
        ("needs:you", "2 4"),
        ("n:y", "2 4"),
        ("!needs:you", "1 3"),
    ],
)
def test_states_may_be_cut_short(text: str, left: str) -> None:
    assert found(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("reason:api", "4"),
        ("reason:unresolved", "2"),
        ("reason:api,completed", "2 4"),
        ("subtype:success", "2"),
        ("model:opus", "2"),
        ("!model:claude", "1 3"),
        ("cost:>0.5", "3"),
        ("cost:>$.5", "3"),
        ("cost:>0.3", "3"),
        ("cost:>=0.3", "2 3"),
        ("cost:0.30", "2"),
        ("cost:=0", "1 4"),
        ("headroom:<0.2", "2"),
        ("headroom:>1000", "1 3"),
        ("headroom:>-1", "1 2 3 4"),
        ("try:>1", "2"),
        ("try:<=1", "1 3 4"),
        ("turns:>=3 !state:done", "2"),
        ("state:needs,park model:son", "4"),
    ],
)
def test_fields_ask_one_thing(text: str, left: str) -> None:
    assert found(text) == left


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("state:p", 'state "p" can be parked or paused'),
        ("state:asleep", 'no state "asleep": queued, starting, running'),
        ("state:", "state: queued, starting, running"),
        ("state:run,x", 'no state "x"'),
        ("s:run", 'field "s" can be state or subtype'),
        ("size:3", 'no field "size": put "size:3" in quotes'),
        ("deploy 14:02", 'no field "14"'),
        ("reason:", "reason: which? such as reason:budget"),
        ("reason:,", "reason: which?"),
        ("needs:me", "needs: only needs:you"),
        ("cost:", "cost takes a number, such as cost:>0.5"),
        ("cost:>much", "cost takes a number"),
        ("cost:>nan", "cost takes a number"),
        ("cost:>1e3", "cost takes a number"),
        (f"cost:>{'9' * 400}", "cost takes a number"),
        ("!try:>", "try takes a number"),
    ],
)
def test_what_means_nothing_is_said_in_words(text: str, words: str) -> None:
    assert fault(text).startswith(words)


def test_filters_are_equal_by_their_text() -> None:
    assert parse(" state:run ") == parse("state:run")
    assert parse("state:run") != parse("state:done")
    assert parse("") == EVERYTHING
    assert not EVERYTHING
    assert parse("x")


def test_a_word_is_not_looked_for_across_two_texts() -> None:
    assert not found('"round edit"')


def test_every_example_is_a_filter() -> None:
    for asked in FIELDS:
        assert asked.example.startswith(f"{asked.name}:")
        assert isinstance(parse(asked.example), Filter)


def test_a_huge_title_costs_no_more_than_a_long_one() -> None:
    ticket = TicketSnapshot("001", "needle " + "\u0301\u0302 é" * 3_000_000)
    read = parse("needle !haystack")
    assert isinstance(read, Filter)
    assert read.matches(ticket, NEEDS)


@given(st.text(alphabet=st.one_of(st.sampled_from('state:cost<>=!" ,.$01\ud83d\x1b'), st.characters()), max_size=40))
def test_no_text_is_an_error(text: str) -> None:
    read = parse(text)
    if isinstance(read, Filter):
        assert all(isinstance(read.matches(ticket, NEEDS), bool) for ticket in TICKETS)
        again = parse(read.text)
        assert isinstance(again, Filter)
        assert [again.matches(t, NEEDS) for t in TICKETS] == [read.matches(t, NEEDS) for t in TICKETS]
    else:
        assert read.message
