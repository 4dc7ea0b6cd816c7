"""Tickets and what they wait for: who stops because of an effect, and who goes on once the operator has decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.asks import ASK_WHYS
from supervisor.core.effects import EffectRecord, EffectState
from supervisor.core.model import State, TicketSnapshot, Why, is_legal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from supervisor.engine.desk import EffectDesk
    from supervisor.engine.journal import Journal

WAITS_FOR_OPERATOR = frozenset({Why.UNRESOLVED_EFFECT, Why.APPROVE_EFFECT}) | ASK_WHYS
"""Why a ticket rests that goes on by itself once the operator has decided."""


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
    """After a start: put every ticket where its effects and asks say that it belongs."""
    for ticket in journal.board.rows():
        await place(journal, desk, ticket.id, clock)


async def place(journal: Journal, desk: EffectDesk, ticket: str, clock: Callable[[], float]) -> None:
    """Let a ticket without a runner wait because of its effects, or go on now that nothing of it waits."""
    waiting = desk.waiting_for(ticket) or desk.under_way(ticket)
    if not waiting:
        await wake_settled(journal, desk, ticket, clock)
        return
    if journal.board[ticket].state is State.PARKED:
        await journal.emit(ev.StateChanged(ticket, clock(), State.QUEUED), expect=State.PARKED)
    now = journal.board[ticket]
    if now.state is State.QUEUED or (_rests_for(now, ASK_WHYS) and not now.asks):
        await hold(journal, now, waiting[0], clock)


async def wake_settled(journal: Journal, desk: EffectDesk, ticket: str, clock: Callable[[], float]) -> bool:
    """Put a resting ticket back into the queue once nothing of it waits any more; return whether it was.

    A ticket that the operator paused or cancelled stays so.
    """
    if ticket not in journal.board or desk.waiting_for(ticket) or desk.under_way(ticket):
        return False
    now = journal.board[ticket]
    if not _rests_for(now, WAITS_FOR_OPERATOR) or (desk.ledger.held and now.why is Why.UNRESOLVED_EFFECT):
        return False
    asks = [a for a in journal.board.asks() if a.waits and a.ticket == ticket]
    if not asks:
        detail = "you answered" if now.why in ASK_WHYS else "the effect was settled"
        event = ev.StateChanged(ticket, clock(), State.QUEUED, detail=detail, by_operator=True)
        return await journal.emit(event, expect=State.NEEDS_YOU)
    if now.detail != asks[0].detail:
        event = ev.StateChanged(ticket, clock(), State.NEEDS_YOU, asks[0].why, asks[0].detail)
        await journal.emit(event, expect=State.NEEDS_YOU)
    return False


def _rests_for(ticket: TicketSnapshot, whys: Collection[Why]) -> bool:
    return ticket.state is State.NEEDS_YOU and not ticket.live and ticket.why in whys
