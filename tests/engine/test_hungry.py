"""A batch's budget over many random runs: tickets that want more than there is, and die now and then."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from supervisor.core.letters import Letter
from supervisor.core.model import State
from supervisor.engine import mailroom
from supervisor.engine.agent import Failure
from tests.engine import hungry
from tests.engine.fake_session import Gone
from tests.engine.virtual import VirtualWorld, running
from tests.engine.world import check_books, stored, ticket

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.engine.batch import Batch
    from tests.engine.fake_session import Act, FakeSession

pytestmark = pytest.mark.anyio
SEEDS = 50


async def test_eight_hungry_tickets_stay_within_one_dollar(tmp_path: Path) -> None:
    """Nothing is spent beyond it but what single calls cost beyond the reserve that was kept for each of them."""
    runs = [await hungry.run(tmp_path / str(seed), seed) for seed in range(SEEDS)]
    for run in runs:
        assert run.overshoot_usd <= run.beyond_usd + 1e-9, run
        assert run.beyond_usd <= hungry.SLOTS * run.largest_call_usd, run
        assert run.most_beside == hungry.SLOTS, "and yet they run side by side"
        assert run.recorded_usd >= run.paid_usd - 1e-9, "what is not known is guessed high"
        assert run.paid_usd >= 0.5, "and the money is used"


async def test_without_deaths_every_cent_is_known(tmp_path: Path) -> None:
    for seed in range(10):
        run = await hungry.run(tmp_path / str(seed), seed, kill_chance=0.0)
        assert run.recorded_usd == pytest.approx(run.paid_usd)


def _life(rng: random.Random, world: VirtualWorld) -> list[Act]:
    """What a ticket's agents do with one prompt after the other: work, die in several ways, and finish now and then."""

    async def calls(session: FakeSession) -> None:
        for _ in range(rng.randint(1, 4)):
            await world.time.sleep(rng.uniform(1, 20))
            tokens = rng.randint(1_000, 50_000)
            session.speak(tokens=tokens, usd=tokens * hungry.PRICE, message_id=f"m{rng.random()}")

    async def finishes(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        await calls(session)
        session.result(uuid, "success", "completed", 0.0, prices=hungry.prices())

    async def is_killed(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        await calls(session)
        raise Gone(Failure("killed", exit_code=-9))

    async def leaves(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        await calls(session)
        session.leave()
        raise Gone(Failure("told to leave", exit_code=143))

    async def fails(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        await calls(session)
        told = {"is_error": True, "api_error_status": 529, "prices": hungry.prices()}
        session.result(uuid, "success", "api_error", 0.0, **told)

    return [finishes, *(rng.choice([finishes, is_killed, leaves, fails]) for _ in range(rng.randint(1, 8))), finishes]


@pytest.mark.parametrize("seed", range(20))
async def test_what_is_recorded_is_what_was_paid_over_whole_lives(tmp_path: Path, seed: int) -> None:
    """Turns, deaths, refusals and restarts in any order: every cent once, as soon as its price is known."""
    rng, world = random.Random(seed), VirtualWorld(tmp_path / "world")
    world.agents.default = _life(rng, world)[0]
    tickets = [ticket(f"{n:03}", max_attempts=99) for n in range(1, 4)]
    for one in tickets:
        world.agents.acts[one.id].extend(_life(rng, world))
    for _ in range(3):
        async with world.batch(*tickets, slots=rng.randint(1, 3)) as batch:
            async with running(batch):
                for one in tickets:
                    batch.submit("message", [one.id], {"text": "Go on."})
                await world.time.sleep(rng.uniform(0, 100))
            await check_books(batch)
    async with world.batch(*tickets) as batch:
        while any(world.agents.acts.values()):
            await batch.pool.run()
            for one in tickets:
                if world.agents.acts[one.id]:
                    await post(batch, one.id)
        await batch.pool.run()
        await check_books(batch)
        found = await stored(batch)
    assert {t.state for t in found.values()} == {State.DONE}
    assert {i: t.spent_usd for i, t in found.items()} == pytest.approx(dict(world.agents.paid))


async def post(batch: Batch, ident: str) -> None:
    """Write to a ticket that rests."""
    letter = Letter(str(uuid4()), ident, "message", batch.engine.clock(), {"text": "Go on.", "now": False}, "operator")
    await mailroom.post(batch.engine.journal, letter)
