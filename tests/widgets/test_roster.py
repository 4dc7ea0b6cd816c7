"""Places, lines and headings of the ticket table."""

from __future__ import annotations

import pytest

from supervisor.core.model import TicketSnapshot
from widgets.cells import Tone, joined, width_of
from widgets.roster import Heading, Roster, Shape, heading_line, runs

ROWS = tuple(TicketSnapshot(name, parent=parent) for name, parent in (("a", None), ("a.2", "a"), ("b", None)))
GROUPED = Shape((Heading(0, "first", Tone.PLAIN, 2), Heading(2, "second", Tone.WARM, 1)), depths=(0, 0, 0))


def test_without_headings_places_are_lines() -> None:
    roster = Roster(ROWS)
    assert roster.height == 3
    assert [roster.on(line) for line in (-1, 0, 2, 3)] == [None, 0, 2, None]
    assert [roster.line_of(place) for place in range(3)] == [roster.top_of(place) for place in range(3)] == [0, 1, 2]
    assert [roster.depth(place) for place in range(3)] == [0, 1, 0]


def test_headings_stand_above_the_first_of_their_group() -> None:
    roster = Roster(ROWS, GROUPED)
    assert roster.height == 5
    assert [roster.on(line) for line in range(6)] == [GROUPED.headings[0], 0, 1, GROUPED.headings[1], 2, None]
    assert [roster.line_of(place) for place in range(3)] == [1, 2, 4]
    assert [roster.top_of(place) for place in range(3)] == [0, 2, 3]
    assert [roster.depth(place) for place in range(3)] == [0, 0, 0]


def test_only_newer_snapshots_in_the_same_shape_replace() -> None:
    roster = Roster(ROWS, GROUPED)
    newer = (TicketSnapshot("a", turns=3), *ROWS[1:])
    assert roster.replace(newer, GROUPED)
    assert roster.rows[0].turns == 3
    assert roster.replace(newer)
    assert not roster.replace(newer, Shape())
    assert not roster.replace(newer[:2], GROUPED)
    assert not roster.replace(newer[::-1], GROUPED)


@pytest.mark.parametrize(("place", "among", "found"), [(1, "a.2", "a.2"), (1, "ab", "b"), (1, "a", "a"), (2, "a", "a")])
def test_the_nearest_is_below_rather_than_above(place: int, among: str, found: str) -> None:
    assert Roster(ROWS).nearest(place, {among} if among in ("a.2",) else set(among)) == found


def test_where_none_is_left_none_is_nearest() -> None:
    assert Roster(ROWS).nearest(1, ()) is None
    assert Roster(()).nearest(0, {"a"}) is None
    assert Roster(()).at(0) is None
    assert Roster(()).top_of(0) == 0


def test_ids_take_the_width_they_are_told_at_least() -> None:
    assert Roster(ROWS).id_cells == 5
    assert Roster(ROWS, Shape(id_cells=9)).id_cells == 9
    assert Roster((), Shape(id_cells=9)).id_cells == 9


def test_a_heading_fills_its_line_and_gives_way_to_its_words() -> None:
    assert joined(heading_line(GROUPED.headings[0], 16)) == "  first 2 ┄┄┄┄┄┄"
    assert width_of(heading_line(GROUPED.headings[0], 4)) == 10


def test_neighbours_are_one_run() -> None:
    assert list(runs([1, 2, 3, 7, 9, 10])) == [(1, 3), (7, 7), (9, 10)]
