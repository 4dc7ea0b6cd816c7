"""The money of one attempt: what it may spend, what it has, and what it spent that no result reported."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from supervisor.core import budget
from supervisor.core import events as ev
from supervisor.core.usage import DEAREST_USD, lost_spend
from supervisor.engine import transcripts, treasury

if TYPE_CHECKING:
    from supervisor.core.model import TicketSnapshot
    from supervisor.core.spec import TicketSpec
    from supervisor.core.usage import UsageMeter
    from supervisor.engine.agent import AgentSession
    from supervisor.engine.context import Engine
    from supervisor.engine.treasury import Allowance

_SHOW_S = 1.0
"""Between two looks at what a turn has cost so far: all its messages are added up."""


@dataclass(frozen=True, slots=True)
class Unreported:
    """What an attempt spent and no result reported."""

    estimated_usd: float = 0.0
    """By its messages."""
    settled_usd: float = 0.0
    """As its process wrote it down before it left."""
    tokens: int = 0


class Account:
    """Books what one attempt spends. It is told of every result before anything else happens."""

    def __init__(self, engine: Engine, ticket: TicketSpec, may: Allowance) -> None:
        self._engine = engine
        self._ticket = ticket
        self.may = may
        self._since = engine.clock()
        """From when on nothing has been reported."""
        self._spent = 0.0
        self._corrected = 0.0
        """By how much an earlier attempt cost more than was booked when this one's cap was fixed."""
        self._is_open = False
        self._shown = -math.inf

    async def opened(self, session_id: str, baseline_usd: float) -> ev.CostCorrected | None:
        """Return what a session's baseline tells of the attempt before, if there was one. Raises StoreError."""
        self._is_open = True
        found = await treasury.correction(self._engine, self._ticket.id, session_id, baseline_usd)
        self._corrected = max(0.0, found.by_usd) if found is not None else 0.0
        self._engine.purse.spent(self._ticket.id, self._corrected)
        return found

    def take(self, turn: ev.TurnEnded) -> None:
        """Book a result that is on the disk: prices are learned from it, and the largest call."""
        engine, model = self._engine, self._ticket.model or ""
        engine.prices.learn(turn.prices)
        engine.purse.spent(self._ticket.id, turn.cost_usd)
        if turn.largest_call_usd > engine.largest_calls.get(model, 0.0):
            engine.largest_calls[model] = turn.largest_call_usd
            treasury.show_reserves(engine, model)
        self._since, self._spent = after(turn), self._spent + turn.cost_usd

    def show(self, usage: UsageMeter) -> None:
        """Let the board show what the turn under way has cost so far, once in a while; where its price is known."""
        now = self._engine.running()
        if now < self._shown + _SHOW_S:
            return
        self._shown = now
        usd = usage.estimate(self._engine.prices)
        if usd:
            self._engine.board.apply(ev.TurnCost(self._ticket.id, self._engine.clock(), usd))

    def limit(self, usage: UsageMeter) -> str:
        """Return which limit stops the ticket, in words; empty while none does. For between turns and calls.

        The agent's own process keeps to the cap that it was started with. It knows nothing of one that was lowered
        since, of what an earlier attempt turned out to have cost, or of what the ticket may use altogether.
        """
        now = self._engine.board[self._ticket.id]
        if now.tokens_left is not None and usage.tokens >= now.tokens_left:
            return f"all {now.budget_tokens:,} tokens are used"
        if now.turns_left == 0 and usage.empty:
            return f"all {now.budget_turns} turns are taken"
        allowed, cap = self._allowed(now), self.may.cap_usd
        if allowed is None or (cap is not None and allowed > cap - budget.MIN_CAP_USD):
            return ""
        running = usage.estimate(self._engine.prices, otherwise_usd=DEAREST_USD) or 0.0
        return "what it may spend is used up" if self._spent + running >= allowed else ""

    def _allowed(self, now: TicketSnapshot) -> float | None:
        """Return what this attempt may spend altogether, as things stand now."""
        limits = []
        if self.may.cap_usd is not None:
            limits.append(self.may.cap_usd - self._corrected)
        if now.headroom_usd is not None:
            limits.append(now.headroom_usd - self.may.reserve_usd + self._spent)
        return min(limits, default=None)

    async def close(self, session: AgentSession, session_id: str) -> Unreported:
        """Return what was spent beside the results, once the process is gone."""
        if not self._is_open or (session.answered and session.usage.empty):
            return Unreported()
        return await settle(self._engine, session_id, session.usage, self._since, session.total_usd, self.may.cap_usd)


def after(turn: ev.TurnEnded) -> float:
    """Return the first moment after a result: what was said until then is part of what it reports."""
    return math.nextafter(turn.at, math.inf)


async def settle(
    engine: Engine, session_id: str, usage: UsageMeter, since: float, known_usd: float, cap_usd: float | None
) -> Unreported:
    """Return what a session has spent since its last result: as it was written down, else by its messages.

    Args:
        engine: the batch.
        session_id: the session, whose process is gone.
        usage: of the messages that were heard; those of the session's file are added.
        since: from when on nothing has been reported, seconds since the epoch.
        known_usd: the session's total as of then.
        cap_usd: of the attempt; bounds a guess where no price is known.
    """
    path = await anyio.to_thread.run_sync(transcripts.find, engine.launch.config_dir, session_id)
    told = None
    if path is not None:
        facts = await anyio.to_thread.run_sync(transcripts.read, path, None, since)
        usage.add(facts.usage)
        told = budget.unreported(known_usd, facts.total_usd)
    if told is not None:
        return Unreported(settled_usd=told, tokens=usage.tokens)
    return Unreported(lost_spend(usage, engine.prices, cap_usd), tokens=usage.tokens)
