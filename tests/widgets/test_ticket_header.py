"""The first lines of a ticket's screen, in every width."""

from __future__ import annotations

from dataclasses import replace

import pytest

from supervisor.core.model import AttemptRecord, Mode, State, TicketSnapshot
from tests.screens.scenes import HOSTILE
from widgets.cells import Cell, Tone, joined, width_of
from widgets.ticket_header import money_line, name_line, now_line, sum_words

TICKET = TicketSnapshot(
    "001-rounding",
    "Discounts round the wrong way",
    state=State.RUNNING,
    attempts=2,
    mode=Mode.RESUME,
    budget_usd=1.0,
    spent_usd=0.21,
    reserve_usd=0.15,
    detail="Edit pricing.py",
)
TRIES = tuple(AttemptRecord("001", n, Mode.FRESH, "s", 0.0, cost_usd=usd) for n, usd in ((1, 0.13), (2, 0.08)))


def words(cell: Cell) -> str:
    return joined(cell)


def test_the_sketch() -> None:
    line = words(name_line(TICKET, 78))
    assert line == "001-rounding  Discounts round the wrong way         ● running   try 2 (resume)"
    assert words(money_line(TICKET, TRIES, 100)) == (
        "budget $1.00   spent $0.21 (try 1 $0.13 + try 2 $0.08)   headroom $0.79   reserve $0.15"
    )
    assert words(now_line(TICKET, 0.0, 78)) == "Edit pricing.py"


@pytest.mark.parametrize(
    ("room", "told"),
    [
        (40, " (try 1 $0.13 + try 2 $0.08)"),
        (27, " ($0.13 + $0.08)"),
        (15, " (… + $0.08)"),
        (8, ""),
    ],
)
def test_the_sum_fits_its_room(room: int, told: str) -> None:
    assert sum_words(TRIES, room) == told


def test_one_attempt_is_no_sum() -> None:
    assert sum_words(TRIES[:1], 100) == ""
    assert sum_words((), 100) == ""


def test_what_runs_short_is_warm_and_says_so() -> None:
    low = replace(TICKET, spent_usd=0.9)
    assert ("! headroom $0.10", Tone.WARM) in money_line(low, (), 100)
    over = replace(TICKET, spent_usd=1.2)
    assert ("! headroom −$0.20", Tone.WARM) in money_line(over, (), 100)
    assert ("! headroom $0.00", Tone.WARM) in money_line(replace(TICKET, spent_usd=1.002), (), 100)


def test_a_ticket_of_which_there_is_nothing_to_say_has_a_blank_line() -> None:
    assert words(now_line(replace(TICKET, state=State.DONE, detail=""), 0.0, 78)) == ""


def test_budgets_of_turns_and_tokens_are_told() -> None:
    known = replace(TICKET, turns=12, budget_turns=40, tokens=500_000, budget_tokens=500_000)
    cell = money_line(known, (), 140)
    assert ("turns 12/40", Tone.MUTED) in cell
    assert ("tokens 500,000/500,000", Tone.WARM) in cell


def test_a_pending_verb_is_what_it_does_now() -> None:
    assert words(now_line(replace(TICKET, pending="interrupt"), 0.0, 78)) == "interrupt …"


def test_a_countdown_is_never_cut() -> None:
    parked = replace(TICKET, state=State.PARKED, detail="the API is overloaded", until=41.0)
    assert words(now_line(parked, 0.0, 12)).endswith("0:41")


@pytest.mark.parametrize("width", [1, 5, 12, 20, 40, 79, 160])
@pytest.mark.parametrize("title", ["", "x" * 500, *HOSTILE], ids=range(len(HOSTILE) + 2))
def test_no_line_is_wider_than_told(width: int, title: str) -> None:
    ticket = replace(TICKET, title=title, detail=title, id=title or "001")
    for cell in (name_line(ticket, width), money_line(ticket, TRIES, width), now_line(ticket, 0.0, width)):
        assert width_of(cell) <= width
