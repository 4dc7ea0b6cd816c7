"""When tickets were at work, waited or were parked, and what was spent when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core import events as ev
from supervisor.core.asks import AskKind
from supervisor.core.board import Board
from supervisor.core.model import Mode, Outcome, State, Why
from supervisor.core.timeline import SHOWN, Span, Timeline
from tests.core.events_strategy import lasting


def added(at: float = 0.0) -> ev.Event:
    return ev.TicketAdded("t", at, "T", 0)


def moved(at: float, to: State, why: Why | None = None) -> ev.Event:
    return ev.StateChanged("t", at, to, why)


def started(at: float, number: int = 1) -> ev.Event:
    return ev.AttemptStarted("t", at, number, Mode.FRESH, "s")


def ended(at: float, outcome: Outcome = Outcome.DONE, usd: float = 0.0) -> ev.Event:
    return ev.AttemptEnded("t", at, 1, outcome, estimated_usd=usd)


def turn(at: float, usd: float) -> ev.Event:
    return ev.TurnEnded("t", at, 1, "p", "success", "completed", False, 1, usd)


def test_a_life_is_told_in_spans() -> None:
    made = Timeline.of(
        [added(), moved(10, State.STARTING), started(11), moved(12, State.RUNNING), moved(20, State.PARKED),
         moved(30, State.QUEUED), moved(31, State.STARTING), started(32, 2), moved(33, State.RUNNING),
         moved(40, State.NEEDS_YOU, Why.QUESTION), moved(50, State.RUNNING), moved(60, State.DONE)]
    )  # fmt: skip
    lane = made.lanes["t"]
    assert lane.spans == [
        Span(State.STARTING, 10, 12, 1),
        Span(State.RUNNING, 12, 20, 1),
        Span(State.PARKED, 20, 30, 1),
        Span(State.STARTING, 31, 33, 2),
        Span(State.RUNNING, 33, 40, 2),
        Span(State.NEEDS_YOU, 40, 50, 2),
        Span(State.RUNNING, 50, 60, 2),
    ]
    assert lane.endings == [(60, State.DONE)]
    assert made.first == 10


def test_what_lasts_is_open() -> None:
    made = Timeline.of([added(), moved(1, State.STARTING), started(2), moved(3, State.RUNNING)])
    assert made.lanes["t"].spans[-1] == Span(State.RUNNING, 3, None, 1)


def test_a_run_whose_end_nobody_saw_ends_with_the_last_that_was_heard() -> None:
    made = Timeline.of(
        [added(), moved(1, State.STARTING), started(2), moved(3, State.RUNNING), turn(50, 0.1),
         ended(9000, Outcome.LOST), moved(9000, State.QUEUED)]
    )  # fmt: skip
    assert made.lanes["t"].spans[-1] == Span(State.RUNNING, 3, 50, 1)


def test_an_ask_moves_a_ticket_as_it_moves_the_board() -> None:
    made = Timeline.of(
        [added(), moved(1, State.STARTING), started(2), moved(3, State.RUNNING),
         ev.AskOpened("t", 5, "a", 1, AskKind.QUESTION, "AskUserQuestion", "f"), ev.AskWithdrawn("t", 8, "a")]
    )  # fmt: skip
    assert [(span.state, span.begin, span.end) for span in made.lanes["t"].spans[-2:]] == [
        (State.NEEDS_YOU, 5, 8),
        (State.RUNNING, 8, None),
    ]


def test_sums_grow_with_turns_and_estimates() -> None:
    made = Timeline.of([added(), turn(10, 0.5), turn(20, 0.25), ended(30, Outcome.CRASHED, 0.05)])
    assert [made.spent_by(at) for at in (9, 10, 19, 20, 29, 30)] == [0, 0.5, 0.5, 0.75, 0.75, 0.8]
    assert made.total == 0.8


def test_a_clock_that_was_set_back_breaks_nothing() -> None:
    made = Timeline.of([added(), moved(100, State.STARTING), moved(50, State.PARKED), turn(100, 0.1), turn(40, 0.1)])
    assert made.lanes["t"].spans[0] == Span(State.STARTING, 100, 100, 0)
    assert [made.spent_by(at) for at in (99, 100)] == [0, 0.2]


@given(st.lists(lasting, max_size=30))
def test_it_agrees_with_the_board(events: list[ev.Event]) -> None:
    board, live = Board(), Timeline()
    board.listen(live.take)
    for event in events:
        board.apply(event)
    stored = Timeline.of(events)
    assert stored.total == live.total == pytest.approx(board.totals().spent_usd)
    for ticket in board.rows():
        spans = live.lanes[ticket.id].spans
        assert spans == stored.lanes[ticket.id].spans
        if not any(isinstance(event, ev.AttemptEnded) and event.outcome is Outcome.LOST for event in events):
            assert (bool(spans) and spans[-1].end is None) == (ticket.state in SHOWN)
        assert all(span.end is None or span.end >= span.begin for span in spans)
        assert all(span.end is not None for span in spans[:-1])
