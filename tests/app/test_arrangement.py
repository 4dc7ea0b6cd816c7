"""What is listed, in which order, and when rows may move by themselves. No screen, and a clock in the test's hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from supervisor.app.arrangement import PACE_S, QUIET_S, Arrangement
from supervisor.core.model import State, TicketSnapshot
from supervisor.core.ordering import Group, Sort
from supervisor.core.query import EVERYTHING, Filter, parse

Rows = tuple[TicketSnapshot, ...]
ROWS: Rows = (
    TicketSnapshot("a", state=State.RUNNING, started=0.0, spent_usd=0.3),
    TicketSnapshot("a.2", parent="a", state=State.QUEUED),
    TicketSnapshot("b", state=State.RUNNING, started=50.0, spent_usd=0.2),
    TicketSnapshot("c", state=State.DONE, started=0.0, ended=80.0, spent_usd=0.1),
)
T = 100.0


def only(text: str) -> Filter:
    read = parse(text)
    assert isinstance(read, Filter)
    return read


def changed(rows: Rows, ticket: str, **changes: object) -> Rows:
    return tuple(replace(t, **changes) if t.id == ticket else t for t in rows)  # type: ignore[arg-type]


def names(listed: Arrangement) -> str:
    return " ".join(ticket.id for ticket in listed.rows)


def arranged(text: str = "", sort: Sort = Sort.FILE, group: Group = Group.NONE, rows: Rows = ROWS) -> Arrangement:
    listed = Arrangement()
    listed.ask(only=only(text), sort=sort, group=group)
    listed.update(rows, T)
    return listed


def test_a_plain_list_is_the_boards_own() -> None:
    listed = arranged()
    assert listed.is_plain
    assert listed.rows is ROWS
    assert (listed.total, listed.shape.headings) == (4, ())


def test_what_is_asked_is_done_at_once() -> None:
    listed = arranged("state:run")
    assert (names(listed), listed.total) == ("a b", 4)
    listed.ask(sort=Sort.COST, only=EVERYTHING)
    listed.update(ROWS, T)
    assert names(listed) == "a b c a.2"
    listed.ask(sort=Sort.FILE)
    listed.update(ROWS, T)
    assert listed.rows is ROWS


def test_rows_that_move_by_themselves_wait_for_their_time() -> None:
    listed = arranged(sort=Sort.COST)
    rows = changed(ROWS, "b", spent_usd=0.9)
    listed.update(rows, T + 0.1)
    assert names(listed) == "a b c a.2"
    assert listed.rows[1].spent_usd == 0.9
    assert not listed.is_due(T + PACE_S - 0.1)
    assert listed.is_due(T + PACE_S)
    listed.update(rows, T + PACE_S)
    assert names(listed) == "b a c a.2"
    assert not listed.is_due(T + 10 * PACE_S)


def test_rows_do_not_move_under_the_operators_fingers() -> None:
    listed = arranged(sort=Sort.COST)
    rows = changed(ROWS, "b", spent_usd=0.9)
    now = T
    for _ in range(20):
        now += 0.9 * QUIET_S
        listed.touched(now)
        listed.update(rows, now + 0.5 * QUIET_S)
    assert names(listed) == "a b c a.2"
    listed.update(rows, now + QUIET_S)
    assert names(listed) == "b a c a.2"


def test_rows_that_match_no_more_go_with_the_next_move() -> None:
    listed = arranged("state:run")
    rows = changed(ROWS, "a", state=State.DONE)
    listed.update(rows, T + 1)
    assert names(listed) == "a b"
    assert listed.rows[0].state is State.DONE
    listed.update(rows, T + PACE_S)
    assert names(listed) == "b"


def test_groups_follow_the_states_with_the_next_move() -> None:
    listed = arranged(group=Group.STATE)
    assert [(h.place, h.words, h.count) for h in listed.shape.headings] == [
        (0, "● running", 2),
        (2, "○ queued", 1),
        (3, "✓ done", 1),
    ]
    rows = changed(ROWS, "a", state=State.DONE)
    listed.update(rows, T + PACE_S)
    assert names(listed) == "b a.2 a c"


@pytest.mark.parametrize("changes", [{"detail": "busy"}, {"turns": 4}, {"last_activity": 99.0}])
def test_a_change_that_moves_nothing_is_never_due(changes: dict[str, object]) -> None:
    listed = arranged("state:run", Sort.COST)
    shape = listed.shape
    listed.update(changed(ROWS, "a", **changes), T + 1)
    assert not listed.is_due(T + 100)
    assert listed.shape is shape


def test_a_hidden_ticket_that_stays_hidden_moves_nothing() -> None:
    listed = arranged("state:run", Sort.COST)
    listed.update(changed(ROWS, "c", spent_usd=5.0), T + 1)
    assert not listed.is_due(T + 100)


def test_nothing_is_matched_or_sorted_again_without_need() -> None:
    tested: list[str] = []

    def test(ticket: TicketSnapshot, _: object) -> bool:
        tested.append(ticket.id)
        return True

    listed = Arrangement()
    listed.ask(only=Filter("all", (test,)), sort=Sort.COST)
    listed.update(ROWS, T)
    assert len(tested) == 4
    listed.update(changed(ROWS, "b", detail="busy"), T + 0.1)
    assert tested[4:] == ["b"]


def test_ages_pass_each_other_without_any_event() -> None:
    listed = arranged(sort=Sort.AGE)
    assert names(listed) == "a c b a.2"
    assert listed.is_due(T + PACE_S)
    listed.update(ROWS, T + 40)
    assert names(listed) == "a b c a.2"
    at_rest = arranged("c", Sort.AGE)
    assert not at_rest.is_due(T + 100)


def test_a_ticket_that_comes_is_listed_at_once() -> None:
    listed = arranged("state:queued")
    rows = (*ROWS, TicketSnapshot("d"))
    listed.update(rows, T + 0.1)
    assert (names(listed), listed.total) == ("a.2 d", 5)


def test_forks_stand_under_their_parents_only_where_that_is_true() -> None:
    assert arranged("!state:done").shape.depths == (0, 1, 0)
    assert arranged("a.2").shape.depths == (0,)
    assert arranged(sort=Sort.STATE).shape.depths == (0, 0, 0, 0)
    lineages = arranged(sort=Sort.COST, group=Group.LINEAGE)
    assert (names(lineages), lineages.shape.depths) == ("a a.2 b c", (0, 1, 0, 0))
    assert [(h.words, h.count) for h in lineages.shape.headings] == [("a", 2), ("without forks", 2)]


def test_columns_stay_while_rows_come_and_go() -> None:
    rows = (*ROWS, TicketSnapshot("z" * 20))
    assert arranged("state:done", rows=rows).shape.id_cells == 20


def test_an_empty_list_says_why() -> None:
    assert arranged("nothing").shape.empty == "no ticket matches the filter"
    assert arranged("nothing", rows=()).shape.empty == "no tickets yet"


def test_a_clock_that_is_set_back_holds_nothing_up() -> None:
    listed = arranged(sort=Sort.COST)
    listed.touched(T)
    listed.update(changed(ROWS, "b", spent_usd=0.9), T - 3600)
    assert names(listed) == "b a c a.2"
