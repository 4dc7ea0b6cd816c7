"""Tickets and the effects they wait for: who stops because of one, and who goes on once the operator has settled it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.effects import EffectRecord, EffectState
from supervisor.core.model import State, TicketSnapshot, Why, is_legal

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.engine.desk import EffectDesk
    from supervisor.engine.journal import Journal

WAITS_FOR_EFFECT = (Why.UNRESOLVED_EFFECT, Why.APPROVE_EFFECT)


def words(record: EffectRecord) -> tuple[Why, str]:
    """Return what a ticket says that waits for an effect."""
    if record.state is EffectState.REQUESTED:
        return Why.APPROVE_EFFECT, f'effect "{record.effect}" wants approval'
    if record.state is EffectState.CLAIMED:
        return Why.UNRESOLVED_EFFECT, f'effect "{record.effect}" may still be under way'
    return Why.UNRESOLVED_EFFECT, f'effect "{record.effect}" unresolved'


async def hold(journal: Journal, ticket: TicketSnapshot, record: EffectRecord, clock: Callable[[], float]) -> None:
    """Let a ticket wait for the operator because of an effect. Raises StoreError."""
    why, detail = words(record)
    if ticket.state is State.NEEDS_YOU or is_legal(ticket.state, State.NEEDS_YOU):
        await journal.emit(ev.StateChanged(ticket.id, clock(), State.NEEDS_YOU, why, detail), expect=ticket.state)


async def hold_waiting(journal: Journal, desk: EffectDesk, clock: Callable[[], float]) -> None:
    """After a start: put every ticket where its effects say that it belongs."""
    for ticket in journal.board.rows():
        await place(journal, desk, ticket.id, clock)


async def place(journal: Journal, desk: EffectDesk, ticket: str, clock: Callable[[], float]) -> None:
    """Let a ticket without a runner wait because of its effects, or go on now that they are settled."""
    waiting = desk.waiting_for(ticket) or desk.under_way(ticket)
    if not waiting:
        await wake_settled(journal, desk, ticket, clock)
        return
    if journal.board[ticket].state is State.PARKED:
        await journal.emit(ev.StateChanged(ticket, clock(), State.QUEUED), expect=State.PARKED)
    if journal.board[ticket].state is State.QUEUED:
        await hold(journal, journal.board[ticket], waiting[0], clock)


async def wake_settled(journal: Journal, desk: EffectDesk, ticket: str, clock: Callable[[], float]) -> bool:
    """Put a resting ticket back into the queue once nothing of its effects waits any more; return whether it was.

    A ticket that the operator paused or cancelled stays so.
    """
    if ticket not in journal.board:
        return False
    now = journal.board[ticket]
    if (
        now.state is not State.NEEDS_YOU
        or now.live
        or now.why not in WAITS_FOR_EFFECT
        or desk.waiting_for(ticket)
        or desk.under_way(ticket)
    ):
        return False
    event = ev.StateChanged(ticket, clock(), State.QUEUED, detail="the effect was settled", by_operator=True)
    return await journal.emit(event, expect=State.NEEDS_YOU)
