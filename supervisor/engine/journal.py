"""The way of every event: secrets are taken out, it goes to the store when it must last, then to the board.

One lasting event of a ticket at a time, so that the snapshot written with it is the snapshot the board will show.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import anyio

from supervisor.core.errors import IllegalTransition
from supervisor.core.events import Event, StateChanged
from supervisor.core.fold import reduce
from supervisor.core.model import State, is_legal
from supervisor.core.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.core.board import Board
    from supervisor.core.model import TicketSnapshot
    from supervisor.store.tickets import TicketStore


class Journal:
    """Writes events and shows them."""

    def __init__(self, board: Board, store: TicketStore, secrets: Mapping[str, str] | None = None) -> None:
        """Begin with a board and its store; ``secrets`` holds names and values of what must not be written or shown."""
        self.board = board
        self.store = store
        self.redactor = Redactor(secrets or {})
        self._locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def emit(
        self, event: Event, expect: State | None = None, unless: Callable[[TicketSnapshot], bool] | None = None
    ) -> bool:
        """Write the event if it lasts, then apply it to the board; return whether that was done.

        Args:
            event: what happened.
            expect: the state the ticket must still be in when its turn comes; if it is not, nothing is done.
            unless: if it is true of the ticket when its turn comes, nothing is done.

        Raises:
            StoreError: the disk refused; the board is then unchanged.
            IllegalTransition: a bug of ours, told rather than swallowed.
        """
        event = self.redactor.event(event)
        if not event.lasts:
            self.board.apply(event)
            return True
        async with self._locks[event.ticket]:
            if expect is not None and self.board[event.ticket].state is not expect:
                return False
            if unless is not None and unless(self.board[event.ticket]):
                return False
            self._check(event)
            await self.store.append(event, self.board.preview(event))
            self.board.apply(event)
        return True

    async def derive(self, ticket: str, make: Callable[[TicketSnapshot], Event | None]) -> Event | None:
        """Write and apply a lasting event that is made of what the ticket is when its turn comes; return the event.

        Nothing else about the ticket is written in between, so that two changes by a difference both count. Where
        ``make`` returns None nothing is done. Raises as ``emit`` does, and what ``make`` raises.
        """
        async with self._locks[ticket]:
            event = make(self.board[ticket])
            if event is not None:
                event = self.redactor.event(event)
                self._check(event)
                await self.store.append(event, self.board.preview(event))
                self.board.apply(event)
        return event

    async def emit_all(self, *events: Event) -> None:
        """Write lasting events, of one ticket or several, in one transaction, then apply them to the board in order.

        Raises as ``emit`` does; nothing is written then, and the board is unchanged.
        """
        events = tuple(map(self.redactor.event, events))
        async with AsyncExitStack() as stack:
            for ticket in sorted({event.ticket for event in events}):  # in one order, so that none waits for another
                await stack.enter_async_context(self._locks[ticket])
            now: dict[str, TicketSnapshot] = {}
            moves = []
            for event in events:
                self._check(event)
                before = now.get(event.ticket)
                after = self.board.preview(event) if before is None else reduce(before, event)
                moves.append((event, after))
                now[event.ticket] = after
            await self.store.append_all(moves)
            for event in events:
                self.board.apply(event)

    def _check(self, event: Event) -> None:
        if isinstance(event, StateChanged) and event.ticket in self.board:
            now = self.board[event.ticket].state
            if event.to is not now and not is_legal(now, event.to):
                raise IllegalTransition(event.ticket, now, event.to)
