"""Cells of time: what they stand for, what is seen in them, and that it reads without colours."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core import events as ev
from supervisor.core.model import State, TicketSnapshot
from supervisor.core.timeline import Lane, Span, Timeline
from widgets.cells import joined, width_of
from widgets.timeline_layout import STEPS, Window, axis, cost_rows, fitting_step, lane_cell, window, zoomed

NOW = 1_000_000.0
RUN, WAIT, PARK, BEGIN = State.RUNNING, State.NEEDS_YOU, State.PARKED, State.STARTING


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def drawn(*spans: Span, endings: tuple[tuple[float, State], ...] = (), cells: int = 20, step: int = 1) -> str:
    view = window(NOW, step, cells)
    return joined(lane_cell(Lane(list(spans), list(endings)), view, NOW))


def test_now_is_the_last_cell_and_moves_on_by_whole_cells() -> None:
    for step in STEPS:
        view = window(NOW, step, 50)
        assert view.cell(NOW) == 49
        assert view.end - step <= NOW < view.end
    assert window(NOW, 10, 50) == window(NOW + 9.9, 10, 50) != window(NOW + 10, 10, 50)


def test_going_back_moves_the_view_by_cells() -> None:
    assert window(NOW, 10, 50, back=5).end == window(NOW, 10, 50).end - 50


def test_each_state_has_its_own_character() -> None:
    spans = (
        Span(BEGIN, NOW - 18, NOW - 15, 1),
        Span(RUN, NOW - 14, NOW - 10, 1),
        Span(WAIT, NOW - 9, NOW - 6, 1),
        Span(PARK, NOW - 5, NOW - 2, 1),
    )
    assert drawn(*spans) == " 1▒▒▒█████!!!!┄┄┄┄  "


def test_what_lasts_reaches_up_to_now() -> None:
    assert drawn(Span(RUN, NOW - 3, None, 0)) == " " * 16 + "████"


def test_of_several_states_in_one_cell_the_most_urgent_is_seen() -> None:
    spans = [Span(RUN, NOW - 40, NOW - 35, 0), Span(WAIT, NOW - 35, NOW - 34, 0), Span(RUN, NOW - 34, None, 0)]
    assert drawn(*spans, step=10, cells=6) == " !████"


def test_what_came_before_the_view_comes_in_from_the_left_without_its_number() -> None:
    assert drawn(Span(RUN, NOW - 500, NOW - 15, 3)) == "█████" + " " * 15


def test_an_attempt_that_begins_in_view_is_numbered_where_there_is_room() -> None:
    assert drawn(Span(RUN, NOW - 10, None, 12)).strip() == "12█████████"
    assert drawn(Span(RUN, NOW - 10, NOW - 9, 12)).strip() == "██"


def test_endings_have_the_glyph_of_the_state() -> None:
    found = drawn(endings=((NOW - 3, State.FAILED), (NOW - 1, State.DONE), (NOW - 900, State.CANCELLED)))
    assert found == " " * 16 + "✗ ✓ "


def test_a_ticket_without_a_life_is_blank() -> None:
    assert joined(lane_cell(None, window(NOW, 1, 5), NOW)) == "     "


@given(
    st.lists(
        st.tuples(st.floats(-1e5, 1e3), st.floats(0, 1e4), st.sampled_from([RUN, WAIT, PARK, BEGIN])), max_size=20
    ),
    st.sampled_from(STEPS),
    st.integers(0, 200),
    st.integers(0, 50),
)
def test_a_row_is_as_wide_as_the_view(
    lives: list[tuple[float, float, State]], step: int, cells: int, back: int
) -> None:
    spans = [Span(state, NOW + at, NOW + at + lasts, 1) for at, lasts, state in sorted(lives, key=lambda one: one[0])]
    view = window(NOW, step, cells, back)
    assert width_of(lane_cell(Lane(spans), view, NOW)) == cells
    assert len(axis(view, NOW)) == cells


def test_zooming_goes_through_the_steps_and_stops_at_the_ends() -> None:
    assert zoomed(60, 1) == 30
    assert zoomed(60, -1) == 120
    assert zoomed(STEPS[0], 1) == STEPS[0]
    assert zoomed(STEPS[-1], -1) == STEPS[-1]


@pytest.mark.parametrize("ago", [0, 5, 59, 3600, 86_400 * 3, 1e9])
def test_everything_fits(ago: float) -> None:
    step = fitting_step(NOW - ago, NOW, 100)
    assert window(NOW, step, 100).begin <= NOW - ago or step == STEPS[-1]
    smaller = zoomed(step, 1)
    assert smaller == step or window(NOW, smaller, 100).begin > NOW - ago


def test_the_axis_has_round_times_and_now() -> None:
    words = axis(Window(NOW - 6000, 60, 101), NOW)
    assert words.endswith("now╷")
    assert "╷12:30" in words
    assert words.index("╷13:00") - words.index("╷12:30") == 30


def spent(*sums: tuple[float, float]) -> Timeline:
    made, total = Timeline(), 0.0
    for at, usd in sums:
        event = ev.TurnEnded("t", at, 1, None, "success", None, False, 1, usd)
        made.take(event, TicketSnapshot("t", spent_usd=total), TicketSnapshot("t", spent_usd=total + usd))
        total += usd
    return made


def test_costs_rise_to_the_full_height_and_stay() -> None:
    view = window(NOW, 1, 8)
    rows = cost_rows(spent((NOW - 6, 1.0), (NOW - 2, 1.0)), view, NOW, 2)
    assert rows == ["     ███", " ███████"]


def test_little_is_seen_and_nothing_is_blank() -> None:
    view = window(NOW, 1, 4)
    assert cost_rows(spent((NOW - 2, 0.001), (NOW, 9.0)), view, NOW, 1) == [" ▁▁█"]
    assert cost_rows(Timeline(), view, NOW, 1) == ["    "]


def test_what_is_to_come_is_blank() -> None:
    assert cost_rows(spent((NOW - 1, 1.0)), Window(NOW - 2, 1, 5), NOW, 1) == [" ██  "]
