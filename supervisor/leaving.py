"""What is told of a batch that is left: the exit code, and one line of counts."""

from __future__ import annotations

import signal
from collections import Counter
from typing import TYPE_CHECKING

from supervisor.core.model import ACTIVE, State
from supervisor.core.waiting import Waiting
from supervisor.report import rounded_usd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.core.board import Board

EXIT_QUIT = 128 + signal.SIGINT
"""Exit code where the operator left while there was work to go on with: as if they had sent SIGINT."""
_ON_ITS_WAY = frozenset({State.QUEUED, State.PARKED, *ACTIVE})
_FINISHED = frozenset({State.DONE, State.CANCELLED})


def exit_code(board: Board, *, quit_: bool = False) -> int:
    """Return the exit code that the tickets call for.

    Args:
        board: the batch at its end.
        quit_: The operator left the screen, and nothing else ended the batch.

    Returns:
        With ``quit_``, that of SIGINT where tickets would have gone on by themselves. Else 3 where something needs a
        person, also what cannot start without one; 1 where something failed; 0 where all is done or was cancelled.
    """
    if quit_ and _on_their_way(board):
        return EXIT_QUIT
    states = Counter(ticket.state for ticket in board)
    if states[State.NEEDS_YOU] or states[State.PAUSED]:
        return 3
    if states[State.FAILED]:
        return 1
    return 3 if any(states[state] for state in _ON_ITS_WAY) else 0


def _on_their_way(board: Board) -> set[str]:
    """Return the tickets that need nobody to go on."""
    return {ticket.id for ticket in board if ticket.state in _ON_ITS_WAY} - Waiting(board).stuck()


def counts(board: Board, again: str = "") -> str:
    """Return how many tickets stand how, and what they have cost, in one line.

    Args:
        board: the batch at its end.
        again: The command that goes on with it, for where something is left to do; empty where none can.
    """
    total = len(list(board))
    parts = [f"{total} ticket{'s' * (total != 1)}: {', '.join(_groups(board)) or 'none'}", _spent(board)]
    if again and any(ticket.state not in _FINISHED for ticket in board):
        parts.append(f"start again with: {again}")
    return "; ".join(parts)


def _groups(board: Board) -> Iterator[str]:
    states = Counter(ticket.state for ticket in board)
    on_their_way = len(_on_their_way(board))
    blocked = sum(states[state] for state in _ON_ITS_WAY) - on_their_way
    needing = states[State.NEEDS_YOU]
    for count, word in (
        (states[State.DONE], "done"),
        (states[State.FAILED], "failed"),
        (needing, "needs you" if needing == 1 else "need you"),
        (states[State.PAUSED], "paused"),
        (states[State.CANCELLED], "cancelled"),
        (blocked, "blocked"),
        (on_their_way, "to go on"),
    ):
        if count:
            yield f"{count} {word}"


def _spent(board: Board) -> str:
    tickets = list(board)
    spent, estimated = sum(t.spent_usd for t in tickets), sum(t.estimated_usd for t in tickets)
    if not board.announced.notional:
        return f"{rounded_usd(spent, estimated)} spent"
    turns, tokens = sum(t.turns for t in tickets), sum(t.tokens for t in tickets)
    return f"{turns:,} turns and {tokens:,} tokens used"
