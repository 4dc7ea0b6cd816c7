"""The operator's pause: nothing starts, what runs goes on, and a restart under a screen knows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.core.errors import StoreError
from supervisor.core.model import State, Why
from supervisor.core.verbs import MESSAGE, RESUME
from tests.engine.acts import hang, limit
from tests.engine.world import World, running, ticket
from widgets.summary_bar import badges

if TYPE_CHECKING:
    from supervisor.engine.batch import Batch

pytestmark = pytest.mark.anyio


async def kept(batch: Batch) -> str:
    return await batch.engine.journal.store.setting("starting paused")


async def test_nothing_starts_and_what_runs_goes_on(world: World) -> None:
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket(), ticket("002"), slots=2) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.RUNNING)
        await world.until(lambda: batch.board["002"].state is State.DONE)
        batch.pause_starting(True)
        assert batch.board.announced.starting_paused
        assert badges(batch.board.totals()) == [], "the notice says it already"
        when = "once tickets start again: starting is paused (p, or supervise starting on)"
        assert await batch.pool.mailroom.request(RESUME, "002", {}) == (True, f"goes on {when}")
        assert await batch.pool.mailroom.request(MESSAGE, "002", {"text": "x"}) == (True, f"goes on with it {when}")
        await world.until(lambda: batch.board["002"].state is State.QUEUED)
        await anyio.wait_all_tasks_blocked()
        assert (batch.board["001"].state, batch.board["002"].state) == (State.RUNNING, State.QUEUED)
        batch.pause_starting(False)
        assert not batch.board.announced.starting_paused
        await world.until(lambda: batch.board["002"].state is State.DONE)


async def test_a_restart_knows_of_it_where_there_is_a_key_to_take_it_back(world: World) -> None:
    async with world.batch(ticket()) as batch:
        batch.pause_starting(True)
    async with world.batch(ticket()) as batch:
        assert not batch.engine.holds, "a run without a screen would wait for ever"
        await batch.restore_pause()
        assert (bool(batch.engine.holds), batch.board.announced.starting_paused) == (True, True)
        batch.pause_starting(False)
    async with world.batch(ticket()) as batch:
        await batch.restore_pause()
        assert (bool(batch.engine.holds), batch.board.announced.starting_paused) == (False, False)


async def test_the_last_of_several_keys_is_what_is_kept(world: World) -> None:
    async with world.batch(ticket()) as batch:
        for on in (True, False, True):
            batch.pause_starting(on)
    async with world.batch(ticket()) as batch:
        assert await kept(batch) == "yes"


async def test_a_disk_that_refuses_is_said_and_stops_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world.batch(ticket()) as batch:

        async def refuse(*_: str) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(batch.engine.journal.store, "keep_setting", refuse)
        batch.pause_starting(True)
        await anyio.wait_all_tasks_blocked()
        assert batch.engine.holds
        assert "the disk is full" in batch.board.announced.notice


async def test_a_higher_limit_and_then_resume_are_carried_out_in_that_order(world: World) -> None:
    world.agents.acts["001"].append(limit())
    async with world.batch(ticket(budget_usd=0.12)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].why is Why.LIMIT and not batch.board["001"].live)
        batch.submit("budget", ["001"], {"budget_usd": 2.0})
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert [s.start.cap_usd for s in world.agents.sessions] == pytest.approx([0.07, 1.85])
