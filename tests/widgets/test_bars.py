"""The summary above, the rule in the middle, the keys below: what is left out where it is tight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.model import BatchTotals, Mode, State, TicketSnapshot, Why
from supervisor.core.ordering import Group, Sort
from supervisor.core.query import Filter, parse
from tests.screens.scenes import HOSTILE
from widgets.cells import joined, width_of
from widgets.facts_line import rule
from widgets.filter_bar import status
from widgets.items import ticket_item
from widgets.summary_bar import attention, figures, marks_words
from widgets.verb_footer import hints_line

COUNTS = {
    State.RUNNING: 2,
    State.STARTING: 1,
    State.QUEUED: 5,
    State.NEEDS_YOU: 2,
    State.DONE: 6,
    State.FAILED: 1,
    State.PARKED: 3,
    State.PAUSED: 1,
}
TOTALS = BatchTotals("tinyshop", 4, COUNTS, needs_you=3, spent_usd=3.41, budget_usd=20.0)
WAITING = (
    ticket_item(TicketSnapshot("003-deploy", state=State.NEEDS_YOU, why=Why.UNRESOLVED_EFFECT)),
    ticket_item(TicketSnapshot("007-tax", state=State.NEEDS_YOU, detail="budget reached")),
    ticket_item(TicketSnapshot("008-docs", state=State.FAILED, detail="exit 1")),
)


def test_figures() -> None:
    assert joined(figures(TOTALS, 110)) == (
        "tinyshop  3/4 running  3 need you (1 failed)  6 done  5 queued  3 parked  1 paused             $3.41/$20 ━────"
    )


def test_what_needs_the_operator_is_left_out_last() -> None:
    assert joined(figures(TOTALS, 50)) == "tinyshop  3/4 running  3 need you  $3.41/$20 ━────"
    assert "need you" in joined(figures(TOTALS, 40))
    assert width_of(figures(TOTALS, 20)) == 20


def test_money_without_a_budget() -> None:
    assert joined(figures(BatchTotals("b", 1, spent_usd=0.5), 40)).endswith("$0.50 spent")


def test_money_of_turns_under_way_is_an_estimate() -> None:
    assert joined(figures(BatchTotals("b", 1, spent_usd=0.5, turn_usd=0.25), 40)).endswith("≈$0.75 spent")


def test_money_of_attempts_that_died_is_an_estimate() -> None:
    assert joined(figures(BatchTotals("b", 1, spent_usd=0.5, estimated_usd=0.1), 40)).endswith("≈$0.50 spent")


def test_a_budget_that_is_nearly_gone_is_warm() -> None:
    tones = {tone.value for _, tone in figures(BatchTotals("b", spent_usd=19, budget_usd=20.0), 80)}
    assert "warm" in tones


def test_attention_counts_what_does_not_fit() -> None:
    assert joined(attention(TOTALS, WAITING, 120)).rstrip() == (
        "! 003-deploy effect unresolved  ! 007-tax budget reached  ✗ 008-docs exit 1"
    )
    assert joined(attention(TOTALS, WAITING, 60)) == "! 003-deploy effect unresolved  +2 more"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"notice": "rate limit until 14:00"}, "rate limit until 14:00"),
        ({"rehearsal": True}, "[rehearsal]"),
        ({"stopping": True, "notice": "stopping…"}, "[stopping]  stopping…"),
        ({"starting_paused": True}, "[starting paused]"),
        ({"counts": {State.DONE: 3}}, "all done"),
        ({"counts": {State.RUNNING: 3}}, "nothing needs you"),
        ({"counts": {State.PAUSED: 3}}, "everything is at rest"),
        ({}, "no tickets"),
    ],
)
def test_the_second_line_says_what_holds_for_the_batch(changes: dict[str, object], words: str) -> None:
    assert joined(attention(BatchTotals("b", **changes), (), 80)).rstrip() == words  # type: ignore[arg-type]


def test_the_rule_names_the_ticket_and_gives_way_from_the_title_on() -> None:
    ticket = TicketSnapshot(
        "001-rounding",
        title="Discounts round the wrong way",
        attempts=2,
        mode=Mode.RESUME,
        turns=4,
        model="claude-sonnet-4-5",
        branch="supervise/tinyshop/001-rounding",
    )
    assert joined(rule(ticket, 130)).startswith(
        "── 001-rounding · Discounts round the wrong way · try 2 (resume) · 4 turns · sonnet-4-5 · supervise/"
    )
    assert joined(rule(ticket, 80)) == (
        "── 001-rounding · Discounts round th… · try 2 (resume) · 4 turns · sonnet-4-5 ──"
    )
    assert joined(rule(None, 5)) == "─────"


def test_the_rule_tells_of_denials_and_of_changed_instructions() -> None:
    ticket = TicketSnapshot("001", attempts=1, denials=2, instructions="b", session_instructions="a")
    assert "try 1 · 2 denied · instructions changed since" in joined(rule(ticket, 90))


@given(name=st.sampled_from(HOSTILE), title=st.sampled_from(HOSTILE), width=st.integers(8, 150))
def test_hostile_words_keep_every_line_in_its_width(name: str, title: str, width: int) -> None:
    ticket = TicketSnapshot(name, title=title, state=State.FAILED, detail=title, attempts=1, branch=title, model=name)
    totals = BatchTotals(name, notice=title, budget_usd=1.0)
    for line in (
        rule(ticket, width),
        figures(totals, width),
        attention(totals, (ticket_item(ticket), ticket_item(ticket)), width),
    ):
        assert width_of(line) <= width
        assert not set(joined(line)) & set("\x1b\x07\x00\n\r\u202e")


def test_the_last_hints_stay() -> None:
    first = [("i", "interrupt"), ("m", "message"), ("f", "fork")]
    last = [("?", "help")]
    assert joined(hints_line(first, last, 80)) == "i interrupt  m message  f fork  ? help  "
    assert joined(hints_line(first, last, 30)) == "i interrupt  ? help  "
    assert joined(hints_line(first, last, 8)) == "? help  "


def test_marks_are_counted_and_the_hidden_ones_too() -> None:
    assert joined(attention(TOTALS, (), 80, marks_words(3, 1))).startswith("◆ 3 marked, 1 hidden")
    assert joined(attention(TOTALS, WAITING, 80, marks_words(3, 0))).startswith("◆ 3 marked  ! 003-deploy")
    assert marks_words(0, 0) == ""


@pytest.mark.parametrize(
    ("text", "sort", "group", "words"),
    [
        ("", Sort.FILE, Group.NONE, "500 tickets"),
        ("a", Sort.FILE, Group.NONE, "12 of 500"),
        ("a", Sort.COST, Group.NONE, "12 of 500  by cost"),
        ("a", Sort.LAST, Group.STATE, "12 of 500  by last activity  grouped by state"),
        ("", Sort.FILE, Group.LINEAGE, "500 tickets  grouped by lineage"),
    ],
)
def test_the_filters_line_says_what_is_listed(text: str, sort: Sort, group: Group, words: str) -> None:
    only = parse(text)
    assert isinstance(only, Filter)
    assert joined(status(12 if text else 500, 500, only, sort, group)) == words
