"""What was said before this run: read once for each session that is looked at, and put before what is heard live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.errors import SupervisorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.app.ports import BatchPort
    from supervisor.core.model import Entry, TicketSnapshot


class Histories:
    """Knows which sessions were read back."""

    def __init__(self, port: BatchPort, clock: Callable[[], float]) -> None:
        self._port = port
        self._clock = clock
        self._asked: set[tuple[str, str]] = set()

    def want(self, ticket: TicketSnapshot | None) -> None:
        """Have the earlier conversation of a ticket read, unless that was done. Returns at once."""
        if ticket is None or ticket.session_id is None or (ticket.id, ticket.session_id) in self._asked:
            return
        self._asked.add((ticket.id, ticket.session_id))
        live, ident = self._port.board.transcript(ticket.id).since(0), ticket.id
        before = live[0].at if live else self._clock()

        def came(found: tuple[Entry, ...] | SupervisorError) -> None:
            if not isinstance(found, SupervisorError):
                self._port.board.add_history(ident, found)

        self._port.look(lambda reader: reader.history(ident, before), came)
