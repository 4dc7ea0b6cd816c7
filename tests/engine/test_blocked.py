"""A ticket that comes after one which will not be done says so, as long as that holds; settings of the screen's."""

from __future__ import annotations

import anyio
import pytest

from supervisor.core.errors import StoreError
from supervisor.core.model import State
from supervisor.engine.reader import Reader
from tests.engine.acts import report
from tests.engine.world import World, running, ticket

pytestmark = pytest.mark.anyio


async def test_a_blocker_that_never_ran_is_named_and_forgotten_once_it_goes_on(world: World) -> None:
    async with world.batch(ticket("001"), ticket("002", after=("001",))) as batch:
        batch.pause_starting(True)
        async with running(batch):
            batch.submit("cancel", ["001"])
            await world.until(lambda: batch.board["002"].detail == "blocked by 001")
            assert [t.id for t in batch.board.waiting.tickets] == ["002"]
            batch.submit("resume", ["001"])
            await world.until(lambda: batch.board["002"].detail == "after 001")
            assert batch.board.totals().needs_you == 0
            batch.pause_starting(False)
            await world.until(lambda: batch.board["002"].state is State.DONE)


async def test_of_several_the_one_that_failed_is_named(world: World) -> None:
    world.agents.acts["002"].append(report("error_during_execution", "error"))
    tickets = (ticket("001", after=("002",)), ticket("002"), ticket("003", after=("001", "002")))
    async with world.batch(*tickets) as batch:
        await batch.pool.run()
        assert batch.board["003"].detail == "blocked by 002"
        assert batch.board["001"].detail == "blocked by 002"
        assert batch.board.totals().needs_you == 3


async def test_what_the_screen_keeps_is_there_after_a_restart(world: World) -> None:
    async with world.batch(ticket()) as batch:
        assert await Reader(batch.engine).setting("draft 001") == ""
        batch.remember("draft 001", "Hello")
        batch.remember("draft 001", "Hello again")
    async with world.batch(ticket()) as batch:
        assert await Reader(batch.engine).setting("draft 001") == "Hello again"


async def test_what_cannot_be_kept_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world.batch(ticket()) as batch:

        async def refuse(*_: str) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(batch.engine.journal.store, "keep_setting", refuse)
        batch.remember("draft 001", "Hello")
        await anyio.wait_all_tasks_blocked()
        assert "the disk is full" in batch.board.announced.notice
