"""Which effects stay done whatever becomes of a ticket's conversation and files. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.effects import EffectState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.core.board import Board
    from supervisor.core.effects import EffectRecord
    from supervisor.core.model import TicketSnapshot

_MAY_HAVE_HAPPENED = (EffectState.DONE, EffectState.UNRESOLVED, EffectState.CLAIMED)


def staying(board: Board, ticket: TicketSnapshot) -> tuple[EffectRecord, ...]:
    """Return the effects that may have happened and that a ticket would be answered with: its own and its family's."""
    family = set(_lineage(board, ticket))
    records = (view.record for view in board.effects())
    return tuple(r for r in records if r.state in _MAY_HAVE_HAPPENED and (r.ticket == ticket.id or r.scope in family))


def _lineage(board: Board, ticket: TicketSnapshot) -> Iterator[str]:
    yield ticket.id
    while ticket.parent is not None and ticket.parent in board:
        ticket = board[ticket.parent]
        yield ticket.id
