"""What meets in the pool: wishes, starts, endings, stops and a disk that refuses. Races are set up, not waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.errors import StoreError
from supervisor.core.model import Outcome, State
from tests.engine.acts import deaf, hang, limit, overloaded, report, unbegun
from tests.engine.world import Pipe, World, a, attempts, check_books, running, stored, ticket, to

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.engine.fake_session import Act, FakeSession

pytestmark = pytest.mark.anyio
FAR = 1e9
"""A wait that no test sits out."""


async def test_a_stop_while_a_parked_ticket_is_released_starts_nothing(world: World) -> None:
    world.agents.acts["001"].append(overloaded())
    async with world.batch(ticket()) as batch:
        world.disk.at(to(State.QUEUED), batch.request_stop)
        await batch.pool.run()
        assert (await stored(batch))["001"].state is State.QUEUED
    assert len(world.agents.sessions) == 1


async def test_kill_reaches_every_runner(world: World, tmp_path: Path) -> None:
    """One agent does not hear the interrupt, one is connecting, one ticket is in its setup, one in its check."""
    pipes = {name: Pipe(tmp_path / name) for name in ("setup", "verify")}
    world.agents.acts["001"].append(deaf())
    stuck = anyio.Event()

    async def connecting(session: FakeSession) -> None:
        if session.start.ticket != "002":
            world.agents.moments["connecting"] = connecting
            return
        stuck.set()
        await anyio.sleep_forever()

    world.agents.moments["connecting"] = connecting
    tickets = [ticket("001"), ticket("002"), ticket("003", setup=pipes["setup"].command)]
    tickets.append(ticket("004", verify=pipes["verify"].command))
    async with world.batch(*tickets, slots=4) as batch, anyio.create_task_group() as group:
        group.start_soon(batch.pool.run)
        await stuck.wait()
        await world.until(lambda: world.agents.prompts("001"))
        for pipe in pipes.values():
            await pipe.pid()
        batch.kill()
        await batch.pool.finished.wait()
        assert {t.state for t in (await stored(batch)).values()} == {State.QUEUED}
        await check_books(batch)
        for pipe in pipes.values():
            await pipe.end()
    assert world.agents.of("001")[0].killed


async def test_a_stop_before_the_pool_runs_starts_nothing(world: World) -> None:
    async with world.batch(ticket()) as batch:
        batch.request_stop()
        await batch.pool.run()
    assert world.agents.sessions == []


@pytest.mark.parametrize("verify", [None, ("true",)], ids=["plain", "verified"])
async def test_an_interrupt_that_meets_the_end_of_the_turn(world: World, verify: tuple[str, ...] | None) -> None:
    """The agent hears the interrupt and finishes all the same."""
    world.agents.acts["001"].append(hang(report("success", "completed")))
    async with world.batch(ticket(verify=verify)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["001"].state not in (State.RUNNING, State.STARTING))
        assert batch.board["001"].state is (State.DONE if verify is None else State.PAUSED)
        assert batch.board["001"].pending is None


async def test_a_prompt_that_was_dropped_is_sent_again_under_its_id(world: World) -> None:
    world.agents.acts["001"].append(unbegun())
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: world.agents.prompts("001"))
        batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["001"].state is State.PAUSED)
        (attempt,) = await attempts(batch)
        assert attempt.outcome is Outcome.INTERRUPTED
    async with world.batch(ticket()) as batch, running(batch):
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
    first, second = world.agents.prompts("001")
    assert first == second


async def test_an_old_result_is_booked_although_the_prompt_behind_it_is_dropped(world: World) -> None:
    """Money that is reported at the very moment the turn is given up is not lost sight of."""
    world.agents.acts["001"].append(unbegun())
    world.agents.moments["interrupting"] = lambda s: s.result(None, "success", "completed", 0.3)
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: world.agents.prompts("001"))
        batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["001"].state is State.PAUSED)
        assert batch.board["001"].spent_usd == pytest.approx(0.3)


REFUSED = {
    "attempt": a(ev.AttemptStarted),
    "connected": a(ev.AttemptConnected),
    "prompt": a(ev.PromptStored),
    "turn": a(ev.TurnEnded),
    "verified": a(ev.Verified),
    "ended": a(ev.AttemptEnded),
    "done": to(State.DONE),
}


@pytest.mark.parametrize("lasting", [True, False], ids=["for-good", "once"])
@pytest.mark.parametrize("moment", REFUSED)
async def test_a_disk_that_refuses_ends_the_run_with_one_plain_error(world: World, moment: str, lasting: bool) -> None:
    """The other ticket's agent is ended too; nothing of it counts against either of them."""
    world.agents.acts["002"].append(hang())
    tickets = (ticket(verify=("true",), max_attempts=1), ticket("002", max_attempts=1))
    async with world.batch(*tickets, slots=2) as batch:
        mine = REFUSED[moment]
        refuse = world.disk.die_at if lasting else world.disk.refuse_at
        world.agents.moments["connecting"] = lambda s: _second_at_work(world, s)
        refuse(lambda e: e.ticket == "001" and mine(e))
        with pytest.raises(StoreError, match="the disk is full"):
            await batch.pool.run()
        assert world.agents.open() == []
    world.agents.acts.clear()
    world.agents.moments.clear()
    async with world.batch(*tickets, slots=2) as batch:
        await check_books(batch)
        outcomes = {row.outcome for i in ("001", "002") for row in await attempts(batch, i)}
        assert outcomes <= {Outcome.DONE, Outcome.LOST, Outcome.INTERRUPTED}
        await batch.pool.run()
        assert {t.state for t in (await stored(batch)).values()} == {State.DONE}


async def _second_at_work(world: World, session: FakeSession) -> None:
    """Let 001 connect only when 002 has its agent at work."""
    if session.start.ticket == "002":
        world.agents.moments["connecting"] = lambda s: _second_at_work(world, s)
    else:
        await world.until(lambda: world.agents.prompts("002"))


LEGAL = {"interrupt": {State.PAUSED}, "cancel": {State.CANCELLED}}


@pytest.mark.parametrize("verb", LEGAL)
@pytest.mark.parametrize("nth", range(1, 5))
async def test_a_verb_on_a_queued_ticket_that_is_just_started(world: World, verb: str, nth: int) -> None:
    """At each of the first writes after 001 has finished and its slot is given to 002."""
    async with world.batch(ticket("001"), ticket("002"), slots=1) as batch:
        begun = [False]
        world.disk.at(a(ev.AttemptEnded, ticket="001"), lambda: begun.append(True))
        world.disk.at(lambda _: begun[-1], lambda: batch.submit(verb, ["002"]), nth)
        await batch.pool.run()
        assert (await stored(batch))["002"].state in LEGAL[verb]
        await check_books(batch)


@pytest.mark.parametrize("verb", LEGAL)
async def test_a_ticket_that_is_given_up_while_the_blocked_are_told_so(world: World, verb: str) -> None:
    tickets = (ticket("001"), ticket("002", after=("001",)), ticket("003", after=("001",)))
    async with world.batch(*tickets) as batch:
        world.disk.at(a(ev.StateChanged, ticket="002", detail="after 001"), lambda: batch.submit(verb, ["003", "002"]))
        await batch.pool.run()
        states = {i: t.state for i, t in (await stored(batch)).items()}
    assert {states["002"], states["003"]} == LEGAL[verb]


ENDINGS: dict[str, tuple[Act, Callable[[ev.Event], bool]]] = {
    "parked": (overloaded(), to(State.PARKED)),
    "limit": (limit(), to(State.NEEDS_YOU)),
    "failed": (report("error_during_execution", "error"), to(State.FAILED)),
}


@pytest.mark.parametrize("verb", LEGAL)
@pytest.mark.parametrize("moment", ["ended", "state"])
@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_wish_that_comes_while_the_ending_is_written(world: World, ending: str, moment: str, verb: str) -> None:
    act, state = ENDINGS[ending]
    world.backoff_s = FAR
    world.agents.acts["001"].append(act)
    async with world.batch(ticket()) as batch:
        world.disk.at(a(ev.AttemptEnded) if moment == "ended" else state, lambda: batch.submit(verb, ["001"]))
        await batch.pool.run()
        snapshot = (await stored(batch))["001"]
    too_late = {"failed": State.FAILED, "limit": State.NEEDS_YOU} if verb == "interrupt" else {}
    assert snapshot.state in {*LEGAL[verb], too_late.get(ending)}, "what rests already cannot be interrupted"
    assert snapshot.pending is None


@pytest.mark.parametrize("moment", ["parked", "wished", "paused"])
async def test_two_verbs_on_a_parked_ticket(world: World, moment: str) -> None:
    """Interrupted and then given up, at any moment of the first: given up."""
    moments = {"parked": to(State.PARKED), "wished": a(ev.LetterPosted, verb="interrupt"), "paused": to(State.PAUSED)}
    world.backoff_s = FAR
    world.agents.acts["001"].append(overloaded())
    async with world.batch(ticket()) as batch:
        world.disk.at(moments["parked"], lambda: batch.submit("interrupt", ["001"]))
        world.disk.at(moments[moment], lambda: batch.submit("cancel", ["001"]))
        await batch.pool.run()
        assert (await stored(batch))["001"].state is State.CANCELLED


async def test_a_parked_ticket_that_is_given_up_while_its_time_comes(world: World) -> None:
    """The wish is written while it is parked, and it is released before the wish is carried out."""
    world.backoff_s = FAR
    world.agents.acts["001"].append(overloaded())
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.PARKED)

        def its_time_comes() -> None:
            world.pass_time(2 * FAR)
            batch.pool._wake.set()

        world.disk.at(a(ev.LetterPosted, verb="cancel"), its_time_comes)
        batch.submit("cancel", ["001"])
        await world.until(lambda: batch.board["001"].state is State.CANCELLED)
    assert len(world.agents.sessions) == 1


async def test_an_agent_that_claims_anothers_session_stops_nobody(world: World) -> None:
    """One ticket's fault never touches another: two tickets may not share a session, and the store would refuse it."""

    async def steal(session: FakeSession, uuid: str) -> None:
        await world.until(lambda: batch.board["002"].session_id is not None)
        theirs = batch.board["002"].session_id
        assert theirs is not None
        session.put(ev.SessionReplaced("001", session.clock(), 1, theirs))
        await session.finish(uuid)

    world.agents.acts["001"].append(steal)
    async with world.batch(ticket("001"), ticket("002"), slots=2) as batch:
        await batch.pool.run()
        found = await stored(batch)
    assert {t.state for t in found.values()} == {State.DONE}
    assert found["001"].session_id != found["002"].session_id
