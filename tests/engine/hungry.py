"""Tickets that would spend more than the batch has: the money side of the engine over many random runs."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.model import State
from supervisor.engine.agent import Failure
from tests.engine.fake_session import MODEL, Gone
from tests.engine.virtual import VirtualWorld
from tests.engine.world import check_books, stored, ticket

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.fake_session import Act, FakeSession

TICKETS, SLOTS, BUDGET_USD = 8, 4, 1.0
CALL_USD = (0.005, 0.12)
"""An API call costs anything between; the largest ones are far above the least reserve."""
PRICE = 2e-6
"""USD for a token of the only model there is."""


@dataclass
class Figures:
    """What came of one run."""

    seed: int
    paid_usd: float = 0.0
    """What the agents have really cost."""
    recorded_usd: float = 0.0
    overshoot_usd: float = 0.0
    """By how much the budget was passed; negative where it was not reached."""
    largest_call_usd: float = 0.0
    most_beside: int = 0
    """Most agents at work at the same time."""
    attempts: int = 0
    kills: int = 0
    done: int = 0
    beyond_usd: float = 0.0
    """What calls cost beyond both the cap that they crossed and the reserve that was kept for them, all together."""


@dataclass
class Hungry:
    """Agents with random appetites, that obey the cap as the CLI does, and die now and then."""

    world: VirtualWorld
    rng: random.Random
    kill_chance: float
    figures: Figures
    left: dict[str, float] = field(default_factory=dict)
    """By ticket, what its work still costs."""
    reserves: dict[str, float] = field(default_factory=dict)
    """By ticket, what was kept free below its cap when its attempt began."""

    def begins(self, event: ev.Event) -> None:
        """Note the reserve of an attempt that begins."""
        if isinstance(event, ev.AttemptStarted):
            self.reserves[event.ticket] = event.reserve_usd or 0.0

    def act(self) -> Act:
        """Return what every agent does with every prompt."""

        async def work(session: FakeSession, uuid: str) -> None:
            session.begin(uuid)
            ident = session.start.ticket
            self.left.setdefault(ident, self.rng.uniform(0.1, 0.9))
            while True:
                await self._call(session)
                spent, cap = session.spent, session.start.cap_usd
                if cap is not None and spent >= cap:
                    self.figures.beyond_usd += max(0.0, spent - cap - self.reserves[ident])
                    session.result(uuid, "error_max_budget_usd", "budget_exhausted", 0.0, prices=prices())
                    return
                if self.left[ident] <= 0:
                    session.result(uuid, "success", "completed", 0.0, prices=prices())
                    return
                if self.rng.random() < self.kill_chance:
                    self.figures.kills += 1
                    raise Gone(Failure("killed", exit_code=-9))

        return work

    async def _call(self, session: FakeSession) -> None:
        """One API call, and the time that it takes."""
        await self.world.time.sleep(self.rng.uniform(1, 20))
        tokens = int(self.rng.uniform(*CALL_USD) / PRICE)
        usd = tokens * PRICE
        self.left[session.start.ticket] -= usd
        self.figures.largest_call_usd = max(self.figures.largest_call_usd, usd)
        self.figures.most_beside = max(self.figures.most_beside, len(self.world.agents.open()))
        session.speak("I work.", tokens, f"m{self.rng.random()}", usd=usd)


def prices() -> dict[str, dict[str, float]]:
    """Return what results tell of the model's price."""
    return {MODEL: {"inputTokens": 1000.0, "costUSD": 1000 * PRICE}}


async def run(root: Path, seed: int, kill_chance: float = 0.03) -> Figures:
    """Let eight hungry tickets share one dollar, and return what came of it."""
    world, rng, figures = VirtualWorld(root), random.Random(seed), Figures(seed)
    world.chance = rng.random
    hungry = Hungry(world, rng, kill_chance, figures)
    world.agents.default = hungry.act()
    tickets = [ticket(f"{n:03}") for n in range(1, TICKETS + 1)]
    async with world.batch(*tickets, slots=SLOTS, budget_usd=BUDGET_USD) as batch:
        batch.board.listen(lambda event, _, __: hungry.begins(event))
        await batch.pool.run()
        await check_books(batch)
        found = (await stored(batch)).values()
    figures.paid_usd = sum(world.agents.paid.values())
    figures.recorded_usd = sum(t.spent_usd for t in found)
    figures.overshoot_usd = figures.paid_usd - BUDGET_USD
    figures.attempts = sum(t.attempts for t in found)
    figures.done = sum(t.state is State.DONE for t in found)
    return figures
