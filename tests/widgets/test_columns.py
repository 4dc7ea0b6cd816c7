"""The table's columns: which stand in what width, and that every row is exactly as wide as its terminal."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from supervisor.core.model import State, TicketSnapshot
from supervisor.core.ordering import Sort
from tests.screens.scenes import HOSTILE, NOW
from widgets import columns as cols
from widgets.cells import Tone, joined


def names(width: int, id_cells: int = 12) -> list[str]:
    return [column.name for column in cols.arrange(width, id_cells)]


def test_80_columns_have_one_ending_and_120_have_both_words() -> None:
    assert names(80) == ["id", "state", "why", "attempts", "ending", "cost", "headroom"]
    assert "ending" not in names(120)
    assert {"subtype", "terminal_reason", "turns"} <= set(names(120))
    assert {"title", "age", "last"} <= set(names(160))
    assert "branch" in names(200)


def test_columns_go_by_priority_as_it_gets_narrow() -> None:
    gone = [set(names(80)) - set(names(width)) for width in range(79, 10, -1)]
    assert all(a <= b for a, b in itertools.pairwise(gone))
    assert names(47) == ["id", "state", "why", "headroom"]
    assert names(12) == ["id"]


def test_80_columns_leave_room_for_ids_and_for_what_happens() -> None:
    by_name = {column.name: column.width for column in cols.arrange(80, cols.id_width(12, 80))}
    assert by_name["id"] == 12
    assert by_name["why"] >= 19
    assert cols.id_width(40, 80) == 16


@pytest.mark.parametrize("width", [80, 119, 120, 143, 144, 160, 200, 240])
def test_columns_fill_the_width(width: int) -> None:
    chosen = cols.arrange(width, 12)
    assert cols.MARGIN + sum(c.width for c in chosen) + len(chosen) - 1 == width
    assert cell_len(joined(tuple(cols.header(chosen)))) == width


def test_the_words_that_end_an_attempt_are_whole_on_wide_terminals() -> None:
    by_name = {column.name: column.width for column in cols.arrange(144, 12)}
    assert by_name["subtype"] >= len("error_during_execution")
    assert by_name["terminal_reason"] >= len("aborted_streaming")


def test_a_fork_stands_under_its_parent_and_keeps_its_own_end() -> None:
    chosen = cols.arrange(60, 12)
    fork = TicketSnapshot("001-rounding.2", parent="001-rounding")
    text = joined(tuple(cols.row(fork, chosen, cols.Look(NOW, depth=1))))
    assert text.startswith("└ …ounding.2 ")


@pytest.mark.parametrize("width", [80, 120, 240])
@pytest.mark.parametrize(("state", "is_told"), [(State.RUNNING, False), (State.STARTING, False), (State.PAUSED, True)])
def test_an_earlier_ending_is_not_shown_of_a_ticket_under_way(width: int, state: State, is_told: bool) -> None:
    ticket = TicketSnapshot("001", state=state, subtype="success", terminal_reason="aborted_tools", attempts=1)
    text = joined(tuple(cols.row(ticket, cols.arrange(width, 12), cols.Look(NOW))))
    assert ("aborted_too" in text) is is_told
    assert "success" not in text or is_told


texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=60))


@given(title=texts, detail=texts, name=texts, reason=texts, width=st.integers(30, 220), until=st.booleans())
def test_every_row_is_as_wide_as_the_terminal(
    title: str, detail: str, name: str, reason: str, width: int, until: bool
) -> None:
    ticket = TicketSnapshot(
        name,
        title=title,
        state=State.RUNNING,
        detail=detail,
        subtype=reason,
        terminal_reason=reason,
        branch=title,
        until=NOW + 5 if until else None,
        attempts=12_345,
        spent_usd=1e7,
        budget_usd=1e9,
    )
    chosen = cols.arrange(width, 12)
    pieces = cols.row(ticket, chosen, cols.Look(NOW))
    text = joined(tuple(pieces))
    assert sum(cell_len(part) for part, _ in pieces) == cell_len(text) == sum(c.width for c in chosen) + len(chosen) - 1
    assert "\n" not in text


def test_the_column_that_decides_the_order_stands_out() -> None:
    chosen = cols.arrange(80, 12)
    strong = [text.strip() for text, tone in cols.header(chosen, Sort.COST) if tone is Tone.ACCENT]
    assert strong == ["COST"]
    assert not [text for text, tone in cols.header(chosen, Sort.FILE) if tone is Tone.ACCENT]


@pytest.mark.parametrize("width", [30, 80, 160, 240])
def test_every_cell_of_the_header_belongs_to_the_column_above_it(width: int) -> None:
    chosen = cols.arrange(width, 12)
    text = joined(tuple(cols.header(chosen)))
    for column in chosen:
        words = column.header[: column.width]
        found = cols.column_at(chosen, text.index(words))
        assert found is not None
        assert found.name == column.name
    assert cols.column_at(chosen, 0) is None
    assert cols.column_at(chosen, width + 5) is None


def test_a_fork_keeps_its_own_end_also_where_it_is_not_indented() -> None:
    chosen = cols.arrange(60, 12)
    fork = TicketSnapshot("001-rounding-prices.2", parent="001-rounding-prices")
    assert joined(tuple(cols.row(fork, chosen, cols.Look(NOW)))).startswith("…ng-prices.2 ")
