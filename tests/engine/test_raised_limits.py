"""A limit that is raised while its ticket rests: the ticket says what is true, and shows the reserve that is used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from supervisor.core.model import State, Why
from supervisor.core.spec import DEFAULT_RESERVE_USD
from supervisor.core.verbs import BUDGET, RESUME
from tests.engine.acts import finish
from tests.engine.world import World, running, ticket

if TYPE_CHECKING:
    from supervisor.engine.batch import Batch

pytestmark = pytest.mark.anyio
SHORT = "$0.20 left, less than the reserve $0.50"


async def _give(batch: Batch, **told: float) -> str:
    accepted, says = await batch.pool.mailroom.request(BUDGET, "001", told)
    return says if accepted else f"refused: {says}"


async def test_a_ticket_at_its_limit_says_what_holds_once_it_was_raised(world: World) -> None:
    world.agents.acts["001"] += [finish(0.8, largest_call_usd=0.5)]
    async with world.batch(ticket(budget_usd=1.0)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert batch.board["001"].reserve_usd == 0.5, "as it is now, not as it was when the attempt began"
        assert (await batch.pool.mailroom.request(RESUME, "001", {}))[0]
        await world.until(lambda: batch.board["001"].why is Why.LIMIT)
        assert batch.board["001"].detail == SHORT
        still = "$0.30 left, less than the reserve $0.50"
        assert await _give(batch, raise_usd=0.1) == f"budget $1.10; still too little: {still}"
        assert batch.board["001"].detail == still
        assert await _give(batch, raise_usd=0.005) == (
            "budget $1.105; still too little: $0.30 left, less than the reserve $0.50"
        )
        assert await _give(batch, raise_usd=1.0) == "budget $2.105; resume it to go on"
        assert (batch.board["001"].state, batch.board["001"].detail) == (State.NEEDS_YOU, "limit raised; resume it")
        assert (await batch.pool.mailroom.request(RESUME, "001", {}))[0]
        await world.until(lambda: batch.board["001"].state is State.DONE)


@pytest.mark.parametrize("told", [{"budget_usd": 0}, {"budget_usd": -5.0}, {"raise_usd": -1.0}, {"budget_usd": 0.001}])
async def test_a_budget_with_which_nothing_could_begin_is_refused(world: World, told: dict[str, float]) -> None:
    async with world.batch(ticket(budget_usd=1.0)) as batch, running(batch):
        says = await _give(batch, **told)
        assert re.fullmatch(r"refused: the budget must be (more than 0|at least 0\.01), not \S+", says)
        assert batch.board["001"].budget_usd == 1.0


async def test_the_reserve_on_the_board_follows_the_calls_of_others_also_after_a_restart(world: World) -> None:
    world.agents.acts["002"] += [finish(0.4, largest_call_usd=0.3)]
    tickets = (ticket(budget_usd=0.2), ticket("002", priority=1), ticket("003", budget_usd=1.0, reserve_usd=0.1))
    async with world.batch(*tickets, slots=1) as batch, running(batch):
        await world.until(lambda: batch.board["002"].state is State.DONE)
        await world.until(lambda: batch.board["001"].why is Why.LIMIT)
        assert batch.board["001"].detail == "$0.20 left, less than the reserve $0.30"
        assert [batch.board[t].reserve_usd for t in ("001", "003")] == [0.3, 0.1]
    async with world.batch(*tickets, slots=1) as batch, running(batch):
        assert [batch.board[t].reserve_usd for t in ("001", "003")] == [0.3, 0.1]
        assert batch.board["001"].detail == "$0.20 left, less than the reserve $0.30"


async def test_a_file_that_says_more_by_the_next_start_is_told_as_well(world: World) -> None:
    async with world.batch(ticket(budget_usd=0.02)) as batch:
        await batch.pool.run()
        assert batch.board["001"].detail == "$0.02 left, less than the reserve $0.05"
    async with world.batch(ticket(budget_usd=2.0)) as batch:
        assert batch.board["001"].detail == "limit raised; resume it"


async def test_the_reserve_is_on_the_board_before_anything_runs(world: World) -> None:
    tickets = ticket(budget_usd=1.0), ticket("002", budget_usd=1.0, reserve_usd=0.5)
    async with world.batch(*tickets) as batch:
        assert [t.reserve_usd for t in batch.board.rows()] == [DEFAULT_RESERVE_USD, 0.5]
