"""What is wished of a ticket at work: that it rests, and how; and the step of its runner that this may cut short."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeVar

import anyio

from supervisor.core.model import State

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


class Wanted(Enum):
    """How a ticket that is told to stop shall rest; a later wish replaces one of a lower value, never a higher one."""

    REST = 1
    """The supervisor stops: back to the queue, to go on at the next start."""
    PAUSE = 2
    CANCEL = 3


RESTS = {
    Wanted.REST: (State.QUEUED, "goes on at the next start"),
    Wanted.PAUSE: (State.PAUSED, "interrupted by you"),
    Wanted.CANCEL: (State.CANCELLED, "cancelled by you"),
}
"""Where a wish puts a ticket, and what it then says."""


class Stopped(Exception):  # noqa: N818
    """The operator or the supervisor wants this ticket to rest; raised between steps."""


class Wishes:
    """What is wished of one ticket. Wishes come from any task; only the ticket's runner takes them and waits here."""

    def __init__(self) -> None:
        self._wanted: Wanted | None = None
        self._letters: list[str] = []
        """The operator's letters that a stop carries out."""
        self._step: anyio.CancelScope | None = None

    @property
    def pending(self) -> bool:
        """Whether the ticket is to rest."""
        return self._wanted is not None

    def add(self, wanted: Wanted, letter: str | None = None) -> None:
        """Keep a wish, and the operator's letter that asks for it. Quitting does not undo the operator's wish."""
        if letter is not None:
            self._letters.append(letter)
        if self._wanted is None or wanted.value >= self._wanted.value:
            self._wanted = wanted

    def take(self) -> tuple[Wanted, tuple[str, ...]] | None:
        """Return what is wished, with the letters that ask for it, and wish it no longer; None when nothing is."""
        if self._wanted is None:
            return None
        wish, self._wanted = self._wanted, None
        letters, self._letters = tuple(self._letters), []
        return wish, letters

    def check(self) -> None:
        """Raise Stopped if the ticket is to rest."""
        if self.pending:
            raise Stopped

    async def stoppable(self, step: Callable[[], Awaitable[T]]) -> T:
        """Run a step that a wish may cut short, and return what it returns. Raises Stopped."""
        self.check()
        result: list[T] = []
        try:
            with anyio.CancelScope() as self._step:
                result.append(await step())
        finally:
            self._step = None
        self.check()
        return result[0]

    def cut_short(self) -> None:
        """End the step under way, if there is one."""
        if self._step is not None:
            self._step.cancel()
