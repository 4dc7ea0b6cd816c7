"""The way of every event: to the store when it must last, then to the board.

One lasting event of a ticket at a time, so that the snapshot written with it is the snapshot the board will show.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from supervisor.core.board import Board
    from supervisor.core.events import Event
    from supervisor.store.tickets import TicketStore


class Journal:
    """Writes events and shows them."""

    def __init__(self, board: Board, store: TicketStore) -> None:
        self.board = board
        self.store = store
        self._locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def emit(self, event: Event) -> None:
        """Write the event if it lasts, then apply it to the board. Raises StoreError; the board is then unchanged."""
        if not event.lasts:
            self.board.apply(event)
            return
        async with self._locks[event.ticket]:
            await self.store.append(event, self.board.preview(event))
            self.board.apply(event)
