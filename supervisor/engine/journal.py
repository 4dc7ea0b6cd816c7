"""The way of every event: to the store when it must last, then to the board.

One lasting event of a ticket at a time, so that the snapshot written with it is the snapshot the board will show.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import anyio

from supervisor.core.errors import IllegalTransition
from supervisor.core.events import Event, StateChanged
from supervisor.core.model import State, is_legal

if TYPE_CHECKING:
    from supervisor.core.board import Board
    from supervisor.store.tickets import TicketStore


class Journal:
    """Writes events and shows them."""

    def __init__(self, board: Board, store: TicketStore) -> None:
        self.board = board
        self.store = store
        self._locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def emit(self, event: Event, expect: State | None = None) -> bool:
        """Write the event if it lasts, then apply it to the board; return whether that was done.

        Args:
            event: what happened.
            expect: the state the ticket must still be in when its turn comes; if it is not, nothing is done.

        Raises:
            StoreError: the disk refused; the board is then unchanged.
            IllegalTransition: a bug of ours, told rather than swallowed.
        """
        if not event.lasts:
            self.board.apply(event)
            return True
        async with self._locks[event.ticket]:
            if expect is not None and self.board[event.ticket].state is not expect:
                return False
            self._check(event)
            await self.store.append(event, self.board.preview(event))
            self.board.apply(event)
        return True

    def _check(self, event: Event) -> None:
        if isinstance(event, StateChanged) and event.ticket in self.board:
            now = self.board[event.ticket].state
            if event.to is not now and not is_legal(now, event.to):
                raise IllegalTransition(event.ticket, now, event.to)
