"""Orders and groups: who comes first, what stands together, and how deep forks stand under what is shown of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.model import State, TicketSnapshot
from supervisor.core.ordering import STATE_ORDER, Block, Families, Group, Sort, arrange, sort_key, under_way_s

NOW = 1_000.0
ROWS = (
    TicketSnapshot("a", state=State.DONE, spent_usd=0.5, budget_usd=1.0, started=100.0, ended=700.0, attempts=1),
    TicketSnapshot("a.2", parent="a", state=State.RUNNING, spent_usd=0.1, budget_usd=0.2, started=900.0, attempts=1),
    TicketSnapshot("a.2.2", parent="a.2", state=State.QUEUED),
    TicketSnapshot("b", state=State.NEEDS_YOU, spent_usd=0.7, started=300.0, last_activity=990.0, attempts=3),
    TicketSnapshot("c", state=State.QUEUED),
    TicketSnapshot("d", state=State.FAILED, spent_usd=0.7, budget_usd=0.6, started=300.0, last_activity=400.0),
    TicketSnapshot("d.2", parent="d", state=State.PAUSED, spent_usd=0.9, budget_usd=1.0),
)


def blocks(sort: Sort, group: Group, shown: str = "a a.2 a.2.2 b c d d.2") -> list[Block]:
    keys = {place: sort_key(sort, t, NOW) for place, t in enumerate(ROWS) if t.id in shown.split()}
    return arrange(ROWS, keys, group, Families(ROWS))


def names(sort: Sort, group: Group = Group.NONE, shown: str = "a a.2 a.2.2 b c d d.2") -> str:
    return " | ".join(" ".join(ROWS[p].id for p in block.places) for block in blocks(sort, group, shown))


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (Sort.FILE, "a a.2 a.2.2 b c d d.2"),
        (Sort.STATE, "b d a.2 a.2.2 c d.2 a"),
        (Sort.COST, "d.2 b d a a.2 a.2.2 c"),
        (Sort.HEADROOM, "d a.2 d.2 a a.2.2 b c"),
        (Sort.AGE, "b a a.2 d a.2.2 c d.2"),
        (Sort.LAST, "b d a a.2 a.2.2 c d.2"),
        (Sort.ATTEMPTS, "b a a.2 a.2.2 c d d.2"),
    ],
)
def test_every_order_keeps_the_files_among_equals(sort: Sort, order: str) -> None:
    assert names(sort) == order


def test_groups_of_states_begin_with_what_needs_the_operator() -> None:
    assert names(Sort.FILE, Group.STATE) == "b | d | a.2 | a.2.2 c | d.2 | a"
    assert [block.of for block in blocks(Sort.FILE, Group.STATE, "a c")] == [State.QUEUED, State.DONE]
    assert set(STATE_ORDER) == set(State)


def test_lineages_keep_forks_under_their_parents_in_every_order() -> None:
    assert names(Sort.FILE, Group.LINEAGE) == "a a.2 a.2.2 | d d.2 | b c"
    assert names(Sort.COST, Group.LINEAGE) == "d d.2 | a a.2 a.2.2 | b c"
    assert [block.of for block in blocks(Sort.COST, Group.LINEAGE)] == [5, 0, None]


def test_a_lineage_of_which_one_is_shown_is_still_one() -> None:
    assert names(Sort.FILE, Group.LINEAGE, "a.2.2 b d") == "a.2.2 | d | b"
    assert names(Sort.FILE, Group.LINEAGE, "b c") == "b c"
    assert names(Sort.FILE, Group.LINEAGE, "") == ""


def test_depths_count_what_is_shown() -> None:
    families = Families(ROWS)
    assert families.depths([0, 1, 2, 3]) == [0, 1, 2, 0]
    assert families.depths([0, 2, 3]) == [0, 1, 0]
    assert families.depths([2, 6]) == [0, 0]


def test_a_ticket_at_rest_gets_no_older() -> None:
    assert under_way_s(ROWS[0], NOW) == under_way_s(ROWS[0], NOW + 50) == 600
    assert under_way_s(ROWS[1], NOW) == 100
    assert under_way_s(ROWS[1], NOW + 50) == 150
    assert under_way_s(ROWS[2], NOW) is None


def test_orders_and_groups_go_round() -> None:
    sort, group = Sort.FILE, Group.NONE
    assert [sort := sort.next() for _ in Sort] == [*list(Sort)[1:], Sort.FILE]
    assert [group := group.next() for _ in Group] == [*list(Group)[1:], Group.NONE]


@given(st.lists(st.integers(-1, 30), max_size=30), st.sampled_from(Sort), st.sampled_from(Group), st.data())
def test_everything_shown_is_listed_once(parents: list[int], sort: Sort, group: Group, data: st.DataObject) -> None:
    rows: list[TicketSnapshot] = []
    for number, parent in enumerate(parents):
        above = str(parent) if 0 <= parent < number else None
        rows.append(TicketSnapshot(str(number), parent=above, state=data.draw(st.sampled_from(State))))
    shown = sorted(data.draw(st.sets(st.integers(0, max(0, len(rows) - 1))))) if rows else []
    families = Families(rows)
    listed = [p for b in arrange(rows, dict.fromkeys(shown, 0.0), group, families) for p in b.places]
    assert sorted(listed) == shown
    assert len(families.depths(listed)) == len(listed)
