"""What the operator has written to a ticket and its agent has not been given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.verbs import MESSAGE

if TYPE_CHECKING:
    from supervisor.core.letters import Letter
    from supervisor.engine.journal import Journal


async def next_message(journal: Journal, ticket: str) -> Letter | None:
    """Return the oldest such message, or None. The disk is only asked if the board knows of one. Raises StoreError."""
    if not journal.board[ticket].messages:
        return None
    letters = await journal.store.open_letters(ticket)
    return next((letter for letter in letters if letter.verb == MESSAGE.name), None)
