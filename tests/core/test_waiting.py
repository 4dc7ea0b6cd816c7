"""What needs the operator: counted once, wherever it is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.core.model import State, Why
from supervisor.core.query import Filter, parse
from tests.screens.ask_scenes import AUDIENCE, ask, asking, question, stopped
from tests.screens.effect_scenes import nothing_waits, stuck
from tests.screens.scenes import NOW, Story, busy

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.core.board import Board


def chain(blocker: State) -> Story:
    """Return a batch in which 002 comes after 001, which came to that state, and 003 after 002."""
    story = Story()
    story.add("001")
    if blocker not in (State.QUEUED, State.CANCELLED):
        story.start("001")
    if blocker is not State.QUEUED:
        story.move("001", blocker, at=NOW - 60)
    story.add("002", after=("001",))
    story.add("003", after=("002",))
    return story


@pytest.mark.parametrize("dead_end", [State.FAILED, State.CANCELLED])
def test_a_ticket_that_cannot_start_by_itself_needs_the_operator(dead_end: State) -> None:
    board = chain(dead_end).board
    blocker = board.waiting.blocker(board["002"])
    assert blocker is board["001"]
    needs = ["001", "002"] if dead_end is State.FAILED else ["002"]
    assert [ticket.id for ticket in board.waiting.tickets] == needs
    assert board.totals().needs_you == len(needs)


@pytest.mark.parametrize("state", [State.QUEUED, State.PAUSED, State.NEEDS_YOU, State.DONE])
def test_what_comes_after_one_that_may_still_be_done_does_not(state: State) -> None:
    board = chain(state).board
    assert [t.id for t in board.waiting.tickets] == (["001"] if state is State.NEEDS_YOU else [])
    assert not board.waiting.stuck()


def test_what_comes_after_a_blocked_one_is_stuck_and_told_of_once() -> None:
    board = chain(State.FAILED).board
    assert board.waiting.stuck() == {"002", "003"}
    assert not board.waiting.needs(board["003"])


def test_of_several_the_one_that_blocks_is_named() -> None:
    story = chain(State.FAILED)
    story.add("000")
    story.add("004", after=("000", "001"))
    blocker = story.board.waiting.blocker(story.board["004"])
    assert blocker is not None
    assert blocker.id == "001"


def test_who_waits_for_each_other_ends() -> None:
    story = Story()
    story.add("001", after=("002",))
    story.add("002", after=("001",))
    assert not story.board.waiting.stuck()
    story.move("001", State.CANCELLED)
    assert story.board.waiting.stuck() == {"002"}


def test_a_resumed_blocker_blocks_no_more() -> None:
    story = chain(State.CANCELLED)
    assert story.board.totals().needs_you == 1
    story.move("001", State.QUEUED)
    assert story.board.totals().needs_you == 0


def test_asks_and_effects_count_each_and_their_tickets_not_again() -> None:
    board = asking()
    before = board.totals().needs_you
    assert before == len(board.waiting.asks) + len(board.waiting.others)
    ask(board, question("q", board.waiting.asks[0].ticket, [AUDIENCE]))
    assert board.totals().needs_you == before + 1
    board = stuck()
    assert not {view.record.ticket for view in board.waiting.effects} & {
        t.id for t in board.waiting.others if t.why is Why.UNRESOLVED_EFFECT
    }


@pytest.mark.parametrize("scene", [asking, busy, nothing_waits, stopped, stuck, lambda: chain(State.FAILED).board])
def test_what_is_counted_what_is_gone_to_and_what_the_filter_leaves_are_the_same(scene: Callable[[], Board]) -> None:
    board = scene()
    waiting, only = board.waiting, parse("needs:you")
    assert isinstance(only, Filter)
    counted = [
        *(ask.ticket for ask in waiting.asks),
        *(view.record.ticket for view in waiting.effects),
        *(ticket.id for ticket in waiting.others),
    ]
    assert board.totals().needs_you == len(counted)
    assert {ticket.id for ticket in board if waiting.needs(ticket)} == set(counted)
    assert {ticket.id for ticket in board if only.matches(ticket, waiting.ids)} == set(counted)
    assert {ticket.id for ticket in waiting.tickets} == set(counted)


def test_whose_effect_waits_needs_the_operator_whatever_it_does_itself() -> None:
    board = stuck()
    assert board["010-mail"].state is State.STARTING
    assert board.waiting.needs(board["010-mail"])
    assert not board.waiting.needs(board["001-rounding"])
    assert "010-mail" not in {ticket.id for ticket in board.waiting.others}


def test_the_tickets_are_the_same_object_as_long_as_they_are_the_same() -> None:
    story = chain(State.FAILED)
    before = story.board.waiting.ids
    story.move("001", State.FAILED, detail="once more")
    assert story.board.waiting.ids is before
    story.move("001", State.QUEUED)
    assert story.board.waiting.ids == frozenset()
