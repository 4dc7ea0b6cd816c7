"""Who may spend how much: the one place that decides the cap of an attempt, before anything is started.

A ticket's cap is what is left of its own budget, and its fair share of what the batch has not promised to others, each
less the reserve that the last API call may overshoot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core import budget, costs
from supervisor.core import events as ev

if TYPE_CHECKING:
    from supervisor.core.model import TicketSnapshot
    from supervisor.core.spec import TicketSpec
    from supervisor.engine.context import Engine


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an attempt may spend."""

    cap_usd: float | None
    """None without any limit."""
    reserve_usd: float = 0.0
    """Kept free below it."""
    max_turns: int | None = None
    """Most turns for each prompt: what the ticket may take, and what is left of its turns altogether."""
    own_limit: str = ""
    """Which limit of the ticket's own is used up, in words; only the operator can raise it. Empty where none is."""
    is_money: bool = False
    """That limit is its budget."""

    @property
    def nothing(self) -> bool:
        """Whether it is too little to start an agent."""
        return bool(self.own_limit) or (self.cap_usd is not None and self.cap_usd < budget.MIN_CAP_USD)

    @property
    def promise_usd(self) -> float | None:
        """What to set aside for it: the call that crosses the cap is paid for too."""
        return None if self.cap_usd is None else self.cap_usd + self.reserve_usd


def kept_free(engine: Engine, ticket: TicketSpec) -> float:
    """Return what is kept free below a ticket's budget: what the file says, or the largest call of its model so far."""
    return budget.reserve(ticket.reserve_usd, engine.largest_calls.get(ticket.model or "", 0.0))


def allowance(engine: Engine, ticket: TicketSpec, snapshot: TicketSnapshot, sharers: int) -> Allowance:
    """Return what a ticket's next attempt may spend.

    Args:
        engine: the batch.
        ticket: the ticket that asks.
        snapshot: where it stands.
        sharers: among how many tickets the batch's free money is shared, this one included.
    """
    kept = kept_free(engine, ticket)
    used_up = budget.used_up(snapshot, kept)
    free = None if used_up else engine.purse.unreserved(engine.board.totals().spent_usd, ticket.id)
    cap = budget.attempt_cap(snapshot.headroom_usd, kept, free, sharers)
    turns = [limit for limit in (snapshot.max_turns, snapshot.turns_left) if limit is not None]
    return Allowance(cap, kept, min(turns) if turns else None, used_up, budget.is_short(snapshot, kept))


def show_reserves(engine: Engine, model: str | None = None) -> None:
    """Let the board show what is kept free below each ticket's budget as things stand now.

    Args:
        engine: the batch.
        model: only of its tickets, by the name that the file has, empty for none; None for all.
    """
    for spec in engine.specs.values():
        if spec.id in engine.board and model in (None, spec.model or ""):
            kept = kept_free(engine, spec)
            if engine.board[spec.id].reserve_usd != kept:
                engine.board.apply(ev.ReserveSeen(spec.id, engine.clock(), kept))


async def raise_limits(engine: Engine, ticket: TicketSpec, *, turns: bool = False) -> bool:
    """Raise a limit of a ticket that may do so by itself, while the batch can pay; return whether it was raised.

    Args:
        engine: the batch.
        ticket: the ticket that reached a limit.
        turns: whether that are its turns for one prompt, and not its budget.

    Raises:
        StoreError: nothing was changed.
    """
    if ticket.on_limit != "raise" or not _batch_can_pay(engine, ticket):
        return False
    at, before = engine.clock(), engine.board[ticket.id]

    def more(now: TicketSnapshot) -> ev.LimitsChanged | None:
        usd = now.budget_usd if turns else _more_money(engine, ticket, now)
        most = _more_turns(ticket, now) if turns else now.max_turns
        if (most if turns else usd) is None:
            return None
        return ev.LimitsChanged(ticket.id, at, usd, most, (), now.budget_turns, now.budget_tokens)

    if await engine.journal.derive(ticket.id, more) is None:
        return False
    now = engine.board[ticket.id]
    says = f"budget {budget.exact_usd(now.budget_usd or 0.0)}, no longer {budget.exact_usd(before.budget_usd or 0.0)}"
    if turns:
        says = f"at most {now.max_turns} turns a prompt, no longer {before.max_turns}"
    await engine.journal.emit(ev.Noted(ticket.id, at, f"a limit was reached and raised by itself: {says}"))
    return True


def waits_for_others(engine: Engine, ticket: TicketSpec) -> bool:
    """Return whether a ticket would raise its budget by itself, if others did not hold the batch's money just now."""
    free = engine.purse.budget_usd
    if free is None or ticket.on_limit != "raise" or _batch_can_pay(engine, ticket):
        return False
    unspent = free - engine.board.totals().spent_usd - kept_free(engine, ticket)
    return unspent >= budget.MIN_CAP_USD and _more_money(engine, ticket, engine.board[ticket.id]) is not None


def _batch_can_pay(engine: Engine, ticket: TicketSpec) -> bool:
    free = engine.purse.unreserved(engine.board.totals().spent_usd, ticket.id)
    return free is None or free - kept_free(engine, ticket) >= budget.MIN_CAP_USD


def _more_money(engine: Engine, ticket: TicketSpec, now: TicketSnapshot) -> float | None:
    if now.budget_usd is None or ticket.budget_usd is None:
        return None
    enough = now.spent_usd + kept_free(engine, ticket) + budget.MIN_CAP_USD
    return budget.raised(now.budget_usd, ticket.budget_usd, ticket.ceiling_usd, enough)


def _more_turns(ticket: TicketSpec, now: TicketSnapshot) -> int | None:
    if now.max_turns is None or ticket.max_turns is None:
        return None
    more = budget.raised(now.max_turns, ticket.max_turns, None, now.max_turns + 1)
    return None if more is None else math.floor(more)


async def correction(engine: Engine, ticket: str, session_id: str, baseline_usd: float) -> ev.CostCorrected | None:
    """Return what a session's baseline tells of the attempt before; None where it tells nothing new."""
    store = engine.journal.store
    before = await store.last_on_session(ticket, session_id)
    if before is None:
        return None
    events = await store.events_since(ticket, lambda e: isinstance(e, ev.AttemptStarted) and e.number == before)
    return costs.correction(costs.sheet(events), ticket, engine.clock(), session_id, baseline_usd)
