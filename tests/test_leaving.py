"""What a batch is left with: the exit code for scripts, and a line of counts for people."""

from __future__ import annotations

import pytest

from supervisor.core.board import Board
from supervisor.core.model import State, TicketSnapshot
from supervisor.leaving import counts, exit_code

S = State


def _board(*states: State, after: dict[int, tuple[str, ...]] | None = None) -> Board:
    board = Board()
    board.restore(
        TicketSnapshot(f"{n:03}", order=n, state=state, after=(after or {}).get(n, ()), spent_usd=0.101)
        for n, state in enumerate(states)
    )
    return board


@pytest.mark.parametrize(
    ("states", "at_its_end", "after_quitting"),
    [
        ((), 0, 0),
        ((S.DONE, S.CANCELLED), 0, 0),
        ((S.DONE, S.FAILED), 1, 1),
        ((S.FAILED, S.NEEDS_YOU), 3, 3),
        ((S.PAUSED, S.DONE), 3, 3),
        ((S.QUEUED, S.DONE), 3, 130),
        ((S.PARKED,), 3, 130),
        ((S.QUEUED, S.NEEDS_YOU), 3, 130),
        ((S.QUEUED, S.FAILED), 1, 130),
    ],
)
def test_the_exit_code(states: tuple[State, ...], at_its_end: int, after_quitting: int) -> None:
    board = _board(*states)
    assert (exit_code(board), exit_code(board, quit_=True)) == (at_its_end, after_quitting)


def test_what_is_blocked_does_not_go_on_after_quitting() -> None:
    board = _board(S.CANCELLED, S.QUEUED, S.QUEUED, after={1: ("000",), 2: ("001",)})
    assert (exit_code(board), exit_code(board, quit_=True)) == (3, 3), "it needs a person"
    assert counts(board).startswith("3 tickets: 1 cancelled, 2 blocked; ")


def test_the_line_of_counts() -> None:
    board = _board(S.DONE, S.DONE, S.FAILED, S.NEEDS_YOU, S.QUEUED, S.PARKED)
    words = "6 tickets: 2 done, 1 failed, 1 needs you, 2 to go on; $0.61 spent"
    assert counts(board) == words
    assert counts(board, "supervise shop.toml") == f"{words}; start again with: supervise shop.toml"


def test_nothing_is_started_again_for_what_is_finished() -> None:
    assert counts(_board(S.DONE, S.CANCELLED), "supervise") == "2 tickets: 1 done, 1 cancelled; $0.20 spent"
    assert counts(_board(S.DONE)) == "1 ticket: 1 done; $0.10 spent"


def test_on_a_subscription_no_dollars_are_told() -> None:
    board = _board(S.DONE)
    board.announce(notional=True)
    assert counts(board) == "1 ticket: 1 done; 0 turns and 0 tokens used"
