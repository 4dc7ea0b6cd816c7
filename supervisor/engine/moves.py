"""How a ticket at work moves to another state, or says something new about the state it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core import events as ev

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.core.model import State, TicketSnapshot, Why
    from supervisor.engine.context import Engine


async def move(
    engine: Engine,
    ticket: str,
    to: State,
    *,
    why: Why | None = None,
    detail: str = "",
    until: float | None = None,
    letters: tuple[str, ...] = (),
    unless: Callable[[TicketSnapshot], bool] | None = None,
) -> bool:
    """Write the move and show it; return whether that was done.

    Args:
        engine: the batch.
        ticket: which ticket.
        to: the state it is in then.
        why: what it needs of the operator.
        detail: what it says of its state.
        until: how long it is parked, seconds since the epoch.
        letters: the operator's letters that the move carries out.
        unless: if it is true of the ticket when its turn comes, nothing is done.

    Raises:
        StoreError: the disk refused, and nothing was done.
        IllegalTransition: a bug of ours.
    """
    event = ev.StateChanged(ticket, engine.clock(), to, why, detail, until, letters=letters)
    return await engine.journal.emit(event, unless=unless)
