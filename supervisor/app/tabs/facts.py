"""The last tab: what the ticket is told, may do and works in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.app.fresh import Fresh
from supervisor.app.tabs.tab import Tab
from widgets.facts_page import FactsPage
from widgets.ticket_facts import ticket_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.widget import Widget

    from supervisor.app.ports import BatchPort
    from supervisor.core.model import AttemptRecord, TicketSnapshot
    from supervisor.core.spec import TicketSpec
    from supervisor.engine.reader import Reader
    from widgets.verb_footer import Hint

    Known = tuple[TicketSpec | None, tuple[str, ...]]
    """What the ticket is, and the files that tell more of it."""


class FactsTab(Tab):
    """Prompt, limits, permissions and environment."""

    NAME = "Ticket"

    def __init__(self, port: BatchPort, ticket: str, attempts: Fresh[tuple[AttemptRecord, ...]]) -> None:
        """Prepare the tab; ``attempts`` is read by the screen, which needs them too."""
        super().__init__()

        async def read(reader: Reader) -> Known:
            return await reader.spec(ticket), await reader.logs(ticket)

        self._attempts = attempts
        self._known: Fresh[Known] = Fresh(port, read)
        self._page = FactsPage()

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        yield self._page

    @property
    def has_news(self) -> bool:
        """Whether something was read."""
        return self._known.is_new

    @property
    def target(self) -> Widget:
        """The page."""
        return self._page

    @property
    def hints(self) -> Sequence[Hint]:
        """How to take it elsewhere."""
        return (("y", "copy"),)

    def show(self, ticket: TicketSnapshot, now: float) -> None:
        """Draw what is known, and have it read again if it may have changed."""
        self._known.want((ticket.instructions, ticket.attempts, ticket.state, ticket.session_id), now)
        self._known.taken()
        spec, logs = self._known.value or (None, ())
        self._page.show_parts(ticket_parts(ticket, spec, self._attempts.value or (), logs, now))
