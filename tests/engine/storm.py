"""Twenty tickets in a storm of refusals: the governor over virtual time, with the API's log as a witness."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.limits import Window
from supervisor.core.model import Mode, State
from tests.engine.virtual import START, VirtualWorld
from tests.engine.world import check_books, stored, ticket

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.fake_session import Act, FakeSession

TICKETS, CALLS = 20, 6
CALL_USD = 0.03
CALL_S = (2.0, 6.0)
LIMITED, OVERLOADED, EXHAUSTED, CALM = START + 5, START + 65, START + 95, START + 185
"""When the API begins to answer 429 with a retry-after, then 529, then that a window is used up, then as it should."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request that came to the API."""

    at: float
    ticket: str
    status: int


@dataclass
class Figures:
    """What came of one run."""

    seed: int
    done: int = 0
    seconds: float = 0.0
    """From the start to the end of the batch."""
    paid_usd: float = 0.0
    recorded_usd: float = 0.0
    requests: list[Request] = field(default_factory=list)
    starts: list[tuple[float, str, int]] = field(default_factory=list)
    """When each attempt was connected, of which ticket, and its number."""
    paces: list[tuple[float, float]] = field(default_factory=list)
    """When the governor let an agent start, and the distance it kept to the next one."""
    fresh: int = 0
    """Attempts in a new session after the first one."""
    notices: list[str] = field(default_factory=list)

    @property
    def refused(self) -> int:
        """How many requests the API refused."""
        return sum(r.status != 200 for r in self.requests)

    @property
    def nearest_s(self) -> float:
        """The least time between two restarts."""
        again = sorted(at for at, _, number in self.starts if number > 1)
        return min((b - a for a, b in pairwise(again)), default=0.0)

    @property
    def too_fast(self) -> int:
        """How many agents started earlier than the governor allowed."""
        pairs = pairwise(self.paces)
        return sum(b[0] - a[0] < a[1] - 1e-6 for a, b in pairs)

    @property
    def busiest(self) -> int:
        """Most requests in any one second of the storm, those of the running agents' first failure left out."""
        counted = Counter(int(r.at) for r in self.requests if r.at >= OVERLOADED)
        return max(counted.values(), default=0)


class Api:
    """Answers by the clock, and remembers."""

    def __init__(self, world: VirtualWorld, figures: Figures) -> None:
        self._world = world
        self._figures = figures

    def request(self, ident: str) -> int:
        """Return the status of a request that is made now."""
        now = self._world.now()
        status = 200
        if LIMITED <= now < OVERLOADED or EXHAUSTED <= now < CALM:
            status = 429
        elif OVERLOADED <= now < EXHAUSTED:
            status = 529
        self._figures.requests.append(Request(now, ident, status))
        return status


@dataclass
class Weather:
    """Agents that ask the API and retry as the CLI does."""

    world: VirtualWorld
    api: Api
    rng: random.Random
    done: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    """By session, how many calls of its work were answered; a session that is resumed goes on there."""

    def act(self) -> Act:
        """Return what every agent does with every prompt."""

        async def work(session: FakeSession, uuid: str) -> None:
            session.begin(uuid)
            while self.done[session.start.session_id] < CALLS:
                status = await self._call(session)
                if session.interrupted.is_set():
                    session.result(uuid, "error_during_execution", "aborted_streaming", 0.0)
                    return
                if status != 200:
                    told = {"is_error": True, "num_turns": 0, "api_error_status": status}
                    session.result(uuid, "success", "api_error", 0.0, **told)
                    return
            session.result(uuid, "success", "completed", 0.0)

        return work

    async def _call(self, session: FakeSession) -> int:
        """Make one request, again as long as the CLI would; return the last status."""
        ident = session.start.ticket
        for attempt in range(1, 5):
            status, now = self.api.request(ident), self.world.now()
            if status == 200:
                await self.world.time.sleep(self.rng.uniform(*CALL_S))
                self.done[session.start.session_id] += 1
                session.speak("I work.", 1000, f"m{self.rng.random()}", usd=CALL_USD)
                return status
            if now >= EXHAUSTED:
                window = Window("five_hour", 1.0, CALM)
                session.put(ev.LimitsSeen(ident, now, "rejected", "five_hour", CALM, (window,)))
                return status
            if attempt == (3 if status == 529 else 4):
                break
            delay = OVERLOADED - now if status == 429 else 0.5 * 2 ** (attempt - 1)
            session.put(ev.Retrying(ident, now, attempt, 3, delay, status))
            await self.world.time.wait_for(session.interrupted, delay)
            if session.interrupted.is_set():
                return status
        return status


async def run(root: Path, seed: int) -> Figures:
    """Let twenty tickets through the storm, and return what came of it."""
    world, rng, figures = VirtualWorld(root), random.Random(seed), Figures(seed)
    world.chance = rng.random
    world.agents.default = Weather(world, Api(world, figures), rng).act()
    tickets = [ticket(f"{n:03}") for n in range(1, TICKETS + 1)]
    async with world.batch(*tickets, slots=TICKETS) as batch:
        governor = batch.engine.governor
        start = governor.starting

        def starting(ticket: str) -> None:
            start(ticket)
            figures.paces.append((world.now(), governor._gate.interval_s))

        governor.starting = starting  # type: ignore[method-assign]
        batch.engine.holds.listen(lambda: figures.notices.append(batch.engine.holds.words))
        with anyio.fail_after(45):
            await batch.pool.run()
        await check_books(batch)
        found = (await stored(batch)).values()
        for t in found:
            rows = await batch.engine.journal.store.attempts(t.id)
            figures.starts += [(a.started, t.id, a.number) for a in rows]
            figures.fresh += sum(a.mode is not Mode.RESUME for a in rows if a.number > 1)
    figures.done = sum(t.state is State.DONE for t in found)
    figures.seconds = world.now() - START
    figures.paid_usd, figures.recorded_usd = sum(world.agents.paid.values()), sum(t.spent_usd for t in found)
    return figures
