"""Tickets whose files or session somebody uses who is not their runner: none is started before they are free."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


class Custody:
    """Who has which ticket. One at a time; those who wait for their turn keep it from being started too."""

    def __init__(self) -> None:
        self._turns: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        self._wanted: Counter[str] = Counter()
        self.on_free: Callable[[], object] = lambda: None
        """Called whenever a ticket may have become free."""

    def __contains__(self, ticket: str) -> bool:
        return self._wanted[ticket] > 0

    @asynccontextmanager
    async def of(self, ticket: str) -> AsyncIterator[None]:
        """Have a ticket that nobody runs. It cannot be started from the call on, before the caller's turn has come."""
        self._wanted[ticket] += 1
        try:
            async with self._turns[ticket]:
                yield
        finally:
            self._wanted[ticket] -= 1
            self.on_free()
