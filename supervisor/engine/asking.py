"""An attempt's side of effect calls: what its ticket shows meanwhile, and that it stops when one is stuck."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.model import EntryKind, State
from supervisor.engine import settling

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.core.board import Board
    from supervisor.core.effects import EffectRecord
    from supervisor.core.errors import StoreError
    from supervisor.core.model import TicketSnapshot
    from supervisor.engine.context import Engine

_SAID_CHARS = 2_000


class AttemptAsker:
    """The attempt that effect calls come from."""

    def __init__(self, engine: Engine, ticket: str) -> None:
        self._engine = engine
        self.ticket = ticket
        self.scope = lineage(ticket, engine.board)[-1]
        self._waiting: dict[str, EffectRecord] = {}
        self.stuck: EffectRecord | None = None
        """The effect that nobody knows the end of: the ticket stops for it."""
        self.lost = ""
        """Which effect was not run because the ledger could not be written, in words: the ticket stops for it too."""

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
        while not self._waiting and self._engine.board[self.ticket].state is State.NEEDS_YOU:
            asks = self._engine.asks.waiting(self.ticket)
            event = ev.StateChanged(self.ticket, self._engine.clock(), State.RUNNING)
            if asks:
                event = replace(event, to=State.NEEDS_YOU, why=asks[0].why, detail=asks[0].detail, live=True)
            if await self._engine.journal.emit(event, State.NEEDS_YOU, _unless_asked(len(asks))):
                return

    def is_stuck(self, record: EffectRecord) -> None:
        """Note that the ticket has to stop."""
        self.stuck = record

    def is_lost(self, effect: str, fault: StoreError) -> None:
        """Note that the ticket has to stop, and cannot be done: it would be without an effect that was asked for."""
        self.lost = f'effect "{effect}" was not run: {fault}'

    @property
    def has_to_stop(self) -> bool:
        """Whether an effect stops the ticket."""
        return self.stuck is not None or bool(self.lost)


def _unless_asked(thought: int) -> Callable[[TicketSnapshot], bool]:
    """Refuse a move that was made up with another number of asks in mind."""
    return lambda ticket: ticket.asks != thought


def lineage(ticket: str, board: Board) -> tuple[str, ...]:
    """Return a ticket, the one it was forked from, and so on up to the root, whose name is in their effects' keys."""
    found = [ticket]
    while (parent := board[found[-1]].parent) is not None and parent in board:
        found.append(parent)
    return tuple(found)
