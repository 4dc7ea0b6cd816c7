"""A ticket whose effect waits for the operator: nothing starts it, nothing hides why, and it counts once."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.effects import EffectState
from supervisor.core.model import State, Why
from supervisor.core.rulings import DecisionVerb
from supervisor.core.spec import EffectSpec
from supervisor.core.verbs import BUDGET, CANCEL, MESSAGE, RESUME
from supervisor.engine import offline
from supervisor.engine.desk import Ruling
from tests.engine.world import World, check_books, running, ticket

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from supervisor.core.effects import EffectRecord
    from supervisor.engine.batch import Batch
    from tests.engine.fake_session import Act, FakeSession

pytestmark = pytest.mark.anyio
POST = EffectSpec("post", kind="once", description="Post it.", command=("sh", "-c", "exit 1"))
STUCK = (State.NEEDS_YOU, Why.UNRESOLVED_EFFECT, 'effect "post" unresolved')
FIRST = "is waiting for its effect 001:post: settle it first (!, or supervise effects)"
TOLD_NOT = (
    "post: The operator settled this: they say that it did not happen. "
    "It is not run again unless the operator allows it: do not call it again. Go on without it."
)


def posts(cost: float = 0.1) -> Act:
    """Ask for the effect, and stop where nobody knows what became of it."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak("I post it.")
        assert session.start.caller is not None
        answer = await session.start.caller.call(POST, {"body": "hello"})
        session.put(ev.ToolReturned(session.start.ticket, session.clock(), "t", answer.text))
        await session.interrupted.wait()
        session.result(uuid, "error_during_execution", "aborted_tools", cost)

    return act


@asynccontextmanager
async def stuck(world: World, **more: Any) -> AsyncIterator[Batch]:
    """A batch whose ticket rests for an effect that may or may not have happened."""
    world.agents.acts["001"].append(posts())
    async with world.batch(ticket(effects=("post",), **more), effects={"post": POST}) as batch, running(batch):
        await world.until(lambda: batch.board["001"].why is Why.UNRESOLVED_EFFECT and not world.agents.open("001"))
        await anyio.wait_all_tasks_blocked()
        yield batch
        await check_books(batch)


def stands(batch: Batch) -> tuple[State, Why | None, str]:
    """How the ticket stands."""
    now = batch.board["001"]
    return now.state, now.why, now.detail


async def effect(batch: Batch) -> EffectRecord:
    """The effect as it is now."""
    return await batch.engine.desk.ledger.by_key("001:post")


async def settle(batch: Batch, verb: DecisionVerb = DecisionVerb.DONE, why: str = "I looked") -> None:
    """Decide about the effect."""
    await batch.engine.desk.rule(Ruling("001:post", verb, (await effect(batch)).version, why))


@pytest.mark.parametrize("budget", [None, 0.12], ids=["rich", "poor"])
async def test_resume_says_what_has_to_be_done_first(world: World, budget: float | None) -> None:
    async with stuck(world, budget_usd=budget) as batch:
        before = batch.board["001"]
        assert not RESUME.applies(before)
        assert await batch.pool.mailroom.request(RESUME, "001", {}) == (False, f"001 {FIRST}")
        batch.submit("resume", ["001"])
        await anyio.wait_all_tasks_blocked()
        assert batch.board["001"] is before
        assert stands(batch) == STUCK
        assert (batch.board.totals().needs_you, len(world.agents.sent)) == (1, 1)


async def test_one_that_was_given_up_is_settled_first_and_then_resumed(world: World) -> None:
    async with stuck(world) as batch:
        assert (await batch.pool.mailroom.request(CANCEL, "001", {}))[0]
        await world.until(lambda: batch.board["001"].state is State.CANCELLED)
        assert (await batch.pool.mailroom.request(RESUME, "001", {})) == (False, f"001 {FIRST}")
        await settle(batch)
        await anyio.wait_all_tasks_blocked()
        assert batch.board["001"].state is State.CANCELLED
        assert (await batch.pool.mailroom.request(RESUME, "001", {})) == (True, "goes on as soon as a slot is free")
        await world.until(lambda: batch.board["001"].state is State.DONE)


@pytest.mark.parametrize("budget", [None, 0.12], ids=["rich", "poor"])
async def test_a_message_waits_for_it_and_no_limit_hides_it(world: World, budget: float | None) -> None:
    async with stuck(world, budget_usd=budget) as batch:
        answer = await batch.pool.mailroom.request(MESSAGE, "001", {"text": "Look again."})
        assert answer == (True, f"the agent gets it later: it {FIRST}")
        await world.until(lambda: stands(batch) == STUCK)
        await anyio.wait_all_tasks_blocked()
        assert stands(batch) == STUCK
        assert (batch.board.totals().needs_you, len(world.agents.sent)) == (1, 1)
        if budget is not None:
            assert (await batch.pool.mailroom.request(BUDGET, "001", {"raise_usd": 1.0}))[1] == "budget $1.12"
        await settle(batch)
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert "Look again." in world.agents.prompts("001")[-1].text


async def test_the_limit_is_told_once_the_effect_is_settled(world: World) -> None:
    async with stuck(world, budget_usd=0.12) as batch:
        await settle(batch)
        await world.until(lambda: batch.board["001"].why is Why.LIMIT)
        assert batch.board["001"].detail == "$0.02 left, less than the reserve $0.05"
        assert RESUME.applies(batch.board["001"])
        assert batch.board.totals().needs_you == 1


async def test_without_a_supervisor_it_is_refused_as_well(world: World) -> None:
    async with stuck(world) as batch:
        await batch.pool.mailroom.request(CANCEL, "001", {})
        await world.until(lambda: batch.board["001"].state is State.CANCELLED)
    reply = await offline.answer(world.state_dir, {"do": "verb", "verb": "resume", "tickets": ["001"]})
    assert reply["tickets"] == [{"ticket": "001", "accepted": False, "says": f"001 {FIRST}"}]


async def test_what_the_operator_settled_is_what_the_agent_is_told(world: World) -> None:
    async with stuck(world) as batch:
        await settle(batch, DecisionVerb.NOT_DONE, "not there")
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert TOLD_NOT in world.agents.prompts("001")[-1].text
        rows = await batch.engine.desk.ledger.log(await effect(batch))
        assert (rows[-1].verb, rows[-1].reason) == ("not_done", "not there")


async def test_once_more_claims_nothing_of_the_first_run(world: World) -> None:
    async with stuck(world) as batch:
        ruling = Ruling("001:post", DecisionVerb.GRANT, (await effect(batch)).version, "try again")
        assert (await batch.engine.desk.once_more(ruling)).state is EffectState.GRANTED
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert "The operator allows this to run once" in world.agents.prompts("001")[-1].text
        rows = await batch.engine.desk.ledger.log(await effect(batch))
        assert [(row.verb, row.from_state, row.to_state) for row in rows] == [
            ("claim", None, "claimed"),
            ("settle", "claimed", "unresolved"),
            ("grant", "unresolved", "granted"),
        ]
        assert rows[-1].reason == "try again (for 001)"
        assert await batch.engine.desk.ledger.verify() == ()
