"""The fold: total, legal, and the same whether it is live or replayed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core import events as ev
from supervisor.core import fold
from supervisor.core.board import Board
from supervisor.core.model import TRANSITIONS, EntryKind, State, TicketSnapshot, is_legal
from supervisor.core.transcript import TRANSCRIPT_CHARS
from tests.core.events_strategy import any_event, moves, turns


@given(st.lists(any_event, max_size=60))
def test_no_order_of_events_raises_or_makes_an_illegal_move(events: list[ev.Event]) -> None:
    snapshot = TicketSnapshot("001")
    for event in events:
        after = fold.reduce(snapshot, event)
        assert after.state is snapshot.state or is_legal(snapshot.state, after.state)
        assert after.spent_usd >= snapshot.spent_usd or isinstance(event, ev.CostCorrected)
        assert after.spent_usd >= 0.0
        assert after.tokens >= snapshot.tokens
        assert after.estimated_usd <= after.spent_usd + 1e-9
        assert after.turns >= snapshot.turns
        snapshot = after


@given(st.lists(any_event, max_size=60))
def test_replayed_events_equal_the_live_board(events: list[ev.Event]) -> None:
    live = Board()
    for event in events:
        assert live.preview(event) == live.apply(event)
    replayed = Board()
    for event in events:
        replayed.apply(event)
    assert live.rows() == replayed.rows()


@given(st.lists(any_event, max_size=60))
def test_every_changed_ticket_is_drained_once(events: list[ev.Event]) -> None:
    board = Board()
    seen: dict[str, TicketSnapshot] = {}
    for event in events:
        board.apply(event)
        for ticket in board.drain():
            seen[ticket] = board[ticket]
    assert seen == {t.id: t for t in board}
    assert board.drain() == frozenset()


@given(moves)
def test_an_illegal_move_changes_nothing(move: ev.StateChanged) -> None:
    for state in State:
        before = TicketSnapshot(move.ticket, state=state)
        if move.to is not state and not is_legal(state, move.to):
            assert fold.reduce(before, move) is before


@given(turns)
def test_a_ghost_costs_but_is_not_the_tickets_ending(turn: ev.TurnEnded) -> None:
    before = TicketSnapshot(turn.ticket)
    after = fold.reduce(before, turn)
    assert after.spent_usd == max(0.0, turn.cost_usd)
    if turn.prompt_uuid is None:
        assert (after.subtype, after.terminal_reason, after.turns) == (None, None, 0)


def test_every_state_can_be_left_and_reached() -> None:
    assert set(TRANSITIONS) == set(State)
    assert all(TRANSITIONS[state] for state in State)
    reachable = {State.QUEUED}
    while True:
        wider = reachable | {n for s in reachable for n in TRANSITIONS[s]}
        if wider == reachable:
            break
        reachable = wider
    assert reachable == set(State)


def test_an_untouched_ticket_keeps_its_identity() -> None:
    """The table redraws by identity, so an event that changes nothing must not make a new snapshot."""
    board = Board()
    board.apply(ev.TicketAdded("001", 1.0, title="one", order=0))
    before = board["001"]
    board.drain()
    board.apply(ev.Noted("001", 2.0, text="a note"))
    assert board["001"] is before
    assert board.drain() == frozenset()
    assert [e.text for e in board.transcript("001").since()] == ["a note"]


def test_forks_stand_under_their_parents() -> None:
    board = Board()
    for order, (ticket, parent) in enumerate([("b", None), ("a", None), ("b.2", "b"), ("b.2.2", "b.2"), ("x", "gone")]):
        board.apply(ev.TicketAdded(ticket, 1.0, title="", order=order, parent=parent))
    assert [t.id for t in board] == ["b", "b.2", "b.2.2", "a", "x"]


def test_a_long_transcript_keeps_its_end_within_bounds() -> None:
    board = Board()
    for n in range(5_000):
        board.apply(ev.AgentSpoke("001", float(n), text=f"line {n} " + "x" * 200))
    tail = board.transcript("001")
    kept = tail.since()
    assert sum(len(e.text) for e in kept) <= TRANSCRIPT_CHARS
    assert kept[-1].seq == 4_999 == tail.next_seq - 1
    assert tail.since(4_990) == kept[-10:]
    assert tail.since(9_999) == ()


def test_one_huge_entry_is_cut() -> None:
    board = Board()
    board.apply(ev.AgentSpoke("001", 1.0, text="x" * 10_000_000))
    (entry,) = board.transcript("001").since()
    assert len(entry.text) < 10_000
    assert entry.kind is EntryKind.TEXT


def test_a_retry_shows_when_the_api_is_asked_again() -> None:
    board = Board()
    board.apply(ev.TicketAdded("001", 1.0, title="", order=0))
    board.apply(ev.StateChanged("001", 2.0, to=State.STARTING))
    board.apply(ev.StateChanged("001", 3.0, to=State.RUNNING))
    board.apply(ev.Retrying("001", 10.0, attempt=2, max_retries=4, delay_s=8.0, status=529))
    assert (board["001"].detail, board["001"].until) == ("API 529, retry 2/4", 18.0)
    board.apply(ev.AgentSpoke("001", 19.0, text="back again"))
    assert (board["001"].detail, board["001"].until) == ("back again", None)


RESUMED = ev.StateChanged("001", 2.0, State.QUEUED, by_operator=True, letters=("a",))
CARRIED_OUT = {
    "resume": RESUMED,
    "budget": ev.LimitsChanged("001", 2.0, 5.0, None, ("a",)),
    "priority": ev.PriorityChanged("001", 2.0, 1),
    "rewind": ev.FilesRewound("001", 2.0, "as before", "c0ffee"),
}


@pytest.mark.parametrize("verb", CARRIED_OUT)
def test_a_verb_that_is_carried_out_takes_its_own_mark_and_no_others(verb: str) -> None:
    """A ticket with a mark is not started: the budget that is on its way may be what it shall go on with."""
    for pending in CARRIED_OUT:
        marked = TicketSnapshot("001", state=State.PAUSED, attempts=1, pending=pending)
        after = fold.reduce(marked, CARRIED_OUT[verb])
        assert after.pending == (None if pending == verb else pending)


def test_a_limit_that_a_ticket_raises_by_itself_leaves_the_operators_mark() -> None:
    marked = TicketSnapshot("001", state=State.QUEUED, attempts=1, pending="budget")
    assert fold.reduce(marked, ev.LimitsChanged("001", 2.0, 5.0, None)).pending == "budget"
