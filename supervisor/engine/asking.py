"""An attempt's side of effect calls: what its ticket shows meanwhile, and that it stops when one is stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.model import EntryKind, State
from supervisor.engine import settling

if TYPE_CHECKING:
    from supervisor.core.effects import EffectRecord
    from supervisor.engine.context import Engine

_SAID_CHARS = 2_000


class AttemptAsker:
    """The attempt that effect calls come from."""

    def __init__(self, engine: Engine, ticket: str) -> None:
        self._engine = engine
        self.ticket = ticket
        self.scope = lineage_root(engine, ticket)
        self._waiting: dict[str, EffectRecord] = {}
        self.stuck: EffectRecord | None = None
        """The effect that nobody knows the end of: the ticket stops for it."""

    def said(self) -> str:
        """Return what the model said last."""
        entries = self._engine.board.transcript(self.ticket).since()
        spoken = (e.text for e in reversed(entries) if e.kind is EntryKind.TEXT)
        return next(spoken, "")[:_SAID_CHARS]

    async def waits(self, record: EffectRecord) -> None:
        """Show that the ticket waits for the operator; its agent stays."""
        self._waiting[record.key] = record
        why, detail = settling.words(record)
        now = self._engine.clock()
        await self._engine.journal.emit(ev.StateChanged(self.ticket, now, State.NEEDS_YOU, why, detail, live=True))

    async def goes_on(self, record: EffectRecord) -> None:
        """Show that the agent is at work again, unless another call of it waits too."""
        self._waiting.pop(record.key, None)
        if self._waiting:
            return
        now = self._engine.clock()
        await self._engine.journal.emit(ev.StateChanged(self.ticket, now, State.RUNNING), expect=State.NEEDS_YOU)

    def is_stuck(self, record: EffectRecord) -> None:
        """Note that the ticket has to stop."""
        self.stuck = record


def lineage_root(engine: Engine, ticket: str) -> str:
    """Return the ticket that all forks of a ticket come from: their effects share its keys."""
    while (parent := engine.board[ticket].parent) is not None and parent in engine.board:
        ticket = parent
    return ticket
