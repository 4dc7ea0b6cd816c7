"""What keeps tickets from starting: a reason that is put up for all of them, and a ledger that is not to be trusted."""

from __future__ import annotations

import shutil
import uuid
from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor import run
from supervisor.core import events as ev
from supervisor.core.effects import EffectRequest, EffectState
from supervisor.core.errors import DamagedError, EffectsHeld
from supervisor.core.model import Mode, State, Why
from supervisor.core.spec import EffectSpec
from supervisor.core.verbs import RESUME
from supervisor.engine.groups import task_group
from supervisor.engine.storage import DiskWatch
from tests.engine.acts import hang
from tests.engine.world import World, running, stored, ticket

if TYPE_CHECKING:
    from supervisor.engine.batch import Batch

pytestmark = pytest.mark.anyio
EFFECTS = {"deploy": EffectSpec("deploy", kind="once", description="x", command=("true",))}


async def test_nothing_starts_while_there_is_a_reason_and_what_runs_goes_on(world: World) -> None:
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket(), ticket("002"), slots=1) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        batch.engine.holds.set("test", "new tickets wait")
        assert batch.board.announced.notice == "new tickets wait"
        batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["001"].state is State.PAUSED and not batch.board["001"].live)
        await anyio.wait_all_tasks_blocked()
        assert batch.board["002"].state is State.QUEUED
        batch.engine.holds.clear("test")
        assert batch.board.announced.notice == ""
        await world.until(lambda: batch.board["002"].state is State.DONE)


async def test_a_run_without_a_screen_waits_for_the_reason_to_go(world: World) -> None:
    async with world.batch(ticket()) as batch, task_group() as group:
        batch.engine.holds.set("test", "new tickets wait")
        group.start_soon(batch.pool.run)
        await anyio.wait_all_tasks_blocked()
        assert (batch.board["001"].state, batch.pool.finished.is_set()) == (State.QUEUED, False)
        batch.engine.holds.clear("test")
        await batch.pool.finished.wait()
        assert (await stored(batch))["001"].state is State.DONE


async def test_a_run_that_is_held_can_be_stopped(world: World) -> None:
    async with world.batch(ticket()) as batch:
        batch.engine.holds.set("test", "new tickets wait")
        async with running(batch):
            pass
        assert batch.board["001"].state is State.QUEUED
    assert world.agents.sessions == []


async def test_a_run_without_a_screen_says_why_nothing_starts(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    async with world.batch(ticket()) as batch:
        batch.engine.holds.set("test", "new tickets wait")
        async with task_group() as group:
            group.start_soon(run._print, batch, False)
            await anyio.wait_all_tasks_blocked()
            batch.engine.holds.set("test", "new tickets still wait")
            batch.engine.holds.clear("test")
    said = [line.split("  ", 1)[1] for line in capsys.readouterr().out.splitlines()]
    assert said[:3] == ["new tickets wait", "new tickets still wait", "new tickets start again"]


async def test_a_notice_about_something_else_stays(world: World) -> None:
    async with world.batch(ticket()) as batch:
        batch.engine.holds.set("test", "new tickets wait")
        batch.board.announce(notice="something else")
        batch.engine.holds.clear("test")
        assert batch.board.announced.notice == "something else"


async def test_what_a_start_put_right_is_said_for_a_while(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world.batch(ticket()) as batch:
        emit, now = batch.engine.journal.emit, batch.engine.clock()
        await emit(ev.StateChanged("001", now, State.STARTING))
        await emit(ev.AttemptStarted("001", now, number=1, mode=Mode.FRESH, session_id=str(uuid.uuid4())))
    monkeypatch.setattr("supervisor.engine.batch._NEWS_S", 0.0)
    async with world.batch(ticket()) as batch:
        assert str(batch.recovered) == "recovered: 1 cut-off attempt closed"
        await anyio.wait_all_tasks_blocked()
        assert batch.board.announced.notice == ""


async def test_the_notice_of_no_money_goes_once_there_is_some_again(world: World) -> None:
    """One ticket may spend all there is; it is stopped, and has not."""
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket(), ticket("002"), slots=1, budget_usd=1.0) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        batch.pool.set_slots(2)
        await anyio.wait_all_tasks_blocked()
        assert "budget is used up" in batch.board.announced.notice
        batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["002"].state is State.DONE)
        assert batch.board.announced.notice == ""


async def test_a_disk_that_is_full_at_the_start_holds_tickets(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class Watch(DiskWatch):
        async def look(self) -> None:
            self._holds.set("disk", "new tickets wait for space")

    monkeypatch.setattr("supervisor.engine.batch.DiskWatch", Watch)
    async with world.batch(ticket()) as batch, running(batch):
        await anyio.wait_all_tasks_blocked()
        assert batch.board["001"].state is State.QUEUED


async def _deploy(batch: Batch) -> None:
    """Run an effect of ticket 001."""
    claim = await batch.engine.desk.claim(EffectRequest("001", "deploy", effect="deploy", ticket="001", payload={}))
    await batch.engine.desk.settle(claim.record, EffectState.DONE)


async def _restore_older(world: World) -> None:
    """Run an effect, then put the database of before back."""
    async with world.batch(ticket(effects=("deploy",)), ticket("002"), effects=EFFECTS):
        pass
    older = shutil.copyfile(world.state_dir / "state.db", world.root / "older.db")
    async with world.batch(ticket(effects=("deploy",)), ticket("002"), effects=EFFECTS) as batch:
        await _deploy(batch)
    shutil.copyfile(older, world.state_dir / "state.db")


async def test_an_older_database_runs_no_effect_and_starts_no_ticket_that_could_ask_for_one(world: World) -> None:
    await _restore_older(world)
    for _ in range(2):  # a restart changes nothing
        async with world.batch(ticket(effects=("deploy",)), ticket("002"), effects=EFFECTS) as batch:
            assert batch.board.announced.notice.startswith("this database is older than the one of")
            with pytest.raises(EffectsHeld):
                await _deploy(batch)
            await batch.pool.run()
            found = await stored(batch)
        assert (found["001"].state, found["001"].why) == (State.NEEDS_YOU, Why.UNRESOLVED_EFFECT)
        assert "doctor --accept-older" in found["001"].detail
        assert found["002"].state is State.DONE
        assert world.agents.of("001") == [], "not even an agent was started for it"


async def test_that_effects_are_held_is_said_beside_why_nothing_starts(world: World) -> None:
    await _restore_older(world)
    async with world.batch(ticket(effects=("deploy",)), effects=EFFECTS) as batch:
        held = batch.board.announced.notice
        batch.engine.holds.set("test", "new tickets wait")
        assert batch.board.announced.notice == f"{held}; new tickets wait"
        batch.engine.holds.clear("test")
        assert batch.board.announced.notice == held


async def test_a_resume_does_not_get_around_it(world: World) -> None:
    await _restore_older(world)
    async with world.batch(ticket(effects=("deploy",)), effects=EFFECTS) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.NEEDS_YOU)
        assert await batch.pool.mailroom.request(RESUME, "001", {}) == (
            False,
            f"001 is waiting for you: {batch.board['001'].detail}",
        )
        assert world.agents.of("001") == []


async def test_a_damaged_database_starts_nothing(world: World) -> None:
    async with world.batch(ticket()):
        pass
    path = world.state_dir / "state.db"
    data = b"\xff" * path.stat().st_size
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=r"doctor --repair"):
        async with world.batch(ticket()):
            pass
    assert path.read_bytes() == data
    path.unlink()
    with pytest.raises(DamagedError, match=r"the database is gone"):
        async with world.batch(ticket()):
            pass
