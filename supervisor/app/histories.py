"""What was said before this run: read once for each ticket that is looked at, and put before what is heard live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.errors import SupervisorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.app.ports import BatchPort
    from supervisor.core.model import Entry, TicketSnapshot


class Histories:
    """Knows which tickets were read back: all sessions of one at once, so that a later session has nothing to add."""

    def __init__(self, port: BatchPort, clock: Callable[[], float]) -> None:
        self._port = port
        self._clock = clock
        self._asked: set[str] = set()

    def want(self, ticket: TicketSnapshot | None) -> None:
        """Have the earlier conversation of a ticket read, unless that was done. Returns at once."""
        if ticket is None or ticket.id in self._asked or (ticket.session_id is None and not ticket.attempts):
            return
        self._asked.add(ticket.id)
        live, ident = self._port.board.transcript(ticket.id).since(0), ticket.id
        before = live[0].at if live else self._clock()

        def came(found: tuple[Entry, ...] | SupervisorError) -> None:
            if not isinstance(found, SupervisorError):
                self._port.board.add_history(ident, found)

        self._port.look(lambda reader: reader.history(ident, before), came)
