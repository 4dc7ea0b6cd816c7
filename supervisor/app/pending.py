"""What the operator wrote to a ticket and its agent has not been given, as entries to show after its transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.app.fresh import Fresh
from supervisor.core.model import Entry, EntryKind, PromptKind
from supervisor.core.transcript import ENTRY_CHARS
from widgets.transcript_items import AFTER_ALL

if TYPE_CHECKING:
    from supervisor.app.ports import BatchPort
    from supervisor.core.letters import Letter
    from supervisor.core.model import TicketSnapshot

_TELLING = (EntryKind.PROMPT, EntryKind.NOTE)
"""Entries that may say what became of a message: it was given to the agent, or it was refused."""


class PendingMessages:
    """One ticket's messages that wait, read when one is written, and again whenever one may have been given."""

    def __init__(self, port: BatchPort, ticket: str) -> None:
        self._port, self.ticket = port, ticket
        self._read: Fresh[tuple[Letter, ...]] = Fresh(port, lambda reader: reader.messages(ticket), pace_s=0.0)
        self._heard = self._told = 0
        """Entries of the transcript that were looked at, and the last of them that was telling."""

    @property
    def is_new(self) -> bool:
        """Whether something was read since `entries`."""
        return self._read.is_new

    def entries(self, ticket: TicketSnapshot, now: float) -> tuple[Entry, ...]:
        """Return what is known to wait, oldest first, and have it read where that may have changed.

        Args:
            ticket: The ticket as it is.
            now: Seconds since the epoch.
        """
        self._read.taken()
        self._listen()
        if not ticket.messages:
            self._read.forget()
            return ()
        self._read.want((ticket.messages, self._told), now)
        # The oldest is given first: until it was read again, what is no longer counted went from the front.
        return tuple(map(_entry, (self._read.value or ())[-ticket.messages :]))

    def _listen(self) -> None:
        transcript = self._port.board.transcript(self.ticket)
        for entry in transcript.since(self._heard):
            if entry.kind in _TELLING:
                self._told = entry.seq
        self._heard = transcript.next_seq


def _entry(letter: Letter) -> Entry:
    text = str(letter.args.get("text", ""))[:ENTRY_CHARS]
    return Entry(AFTER_ALL, letter.at, EntryKind.PENDING, text, prompt=PromptKind.MESSAGE)
