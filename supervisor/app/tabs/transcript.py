"""The first tab: the conversation, on the whole screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.app.pending import PendingMessages
from supervisor.app.tabs.tab import Tab
from widgets.formatting import reason
from widgets.transcript import TranscriptView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.widget import Widget

    from supervisor.app.ports import BatchPort
    from supervisor.core.model import TicketSnapshot
    from widgets.verb_footer import Hint


class TranscriptTab(Tab):
    """What the agent says and does, and after that what the operator wrote and it has not been given."""

    NAME = "Transcript"

    def __init__(self, port: BatchPort, ticket: str) -> None:
        super().__init__()
        self._port, self._ticket = port, ticket
        self._pending = PendingMessages(port, ticket)
        self.transcript = TranscriptView()

    def compose(self) -> ComposeResult:
        """Lay out the conversation."""
        yield self.transcript

    @property
    def has_news(self) -> bool:
        """Whether there is something that is not shown yet: of the agent's, or a message to it."""
        said = self._port.board.transcript(self._ticket).next_seq
        return self._pending.is_new or said > self.transcript.wants(self._ticket)

    @property
    def target(self) -> Widget:
        """The conversation."""
        return self.transcript

    @property
    def hints(self) -> Sequence[Hint]:
        """How to read it."""
        return (("enter", "fold"),)

    @property
    def late_hints(self) -> Sequence[Hint]:
        """What the help tells too."""
        return (("/", "find"), ("y", "copy"), ("v", "pager"))

    def show(self, ticket: TicketSnapshot, now: float) -> None:
        """Draw what was said since the last call."""
        said, pending = self._port.board.transcript(ticket.id), self._pending.entries(ticket, now)
        self.transcript.show(ticket.id, said, nothing_yet(ticket), pending)


def nothing_yet(ticket: TicketSnapshot) -> str:
    """Return what to say where nothing was said yet, safe to draw."""
    words = reason(ticket)
    return f"Nothing said yet: {words}." if words else "Nothing said yet."
