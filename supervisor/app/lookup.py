"""Questions to the reader whose answers may come too late: one at a time, and only the latest one counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from supervisor.app.ports import BatchPort
    from supervisor.core.errors import SupervisorError
    from supervisor.engine.reader import Reader

T = TypeVar("T")


class Lookup(Generic[T]):
    """Asks one kind of question. What is asked while an answer is awaited waits, and replaces what waited before.

    So a key that is held down starts no crowd of git processes.
    """

    def __init__(self, port: BatchPort, found: Callable[[T | SupervisorError], None]) -> None:
        """Prepare it.

        Args:
            port: The batch.
            found: Called with the answer to the latest question, or with why there is none. Never after `drop`.
        """
        self._port, self._found = port, found
        self._next: Callable[[Reader], Awaitable[T]] | None = None
        self._is_asking = False
        self._is_wanted = False

    @property
    def is_open(self) -> bool:
        """Whether an answer is still to come."""
        return self._is_wanted

    def ask(self, work: Callable[[Reader], Awaitable[T]]) -> None:
        """Ask; what was asked before is not answered any more."""
        self._is_wanted = True
        if self._is_asking:
            self._next = work
        else:
            self._send(work)

    def drop(self) -> None:
        """Want no answer any more."""
        self._is_wanted, self._next = False, None

    def _send(self, work: Callable[[Reader], Awaitable[T]]) -> None:
        self._is_asking = True
        self._port.look(work, self._answered)

    def _answered(self, answer: T | SupervisorError) -> None:
        self._is_asking = False
        work, self._next = self._next, None
        if work is not None:
            self._send(work)
        elif self._is_wanted:
            self._is_wanted = False
            self._found(answer)
