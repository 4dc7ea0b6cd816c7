"""Money: fair caps, no start without it, nothing lost sight of and nothing counted twice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk import ResultMessage

from supervisor.core import events as ev
from supervisor.core.errors import StoreError
from supervisor.core.model import Outcome, State, Why
from supervisor.core.usage import DEAREST_USD
from supervisor.engine.translate import Translator
from tests.engine.acts import crash, deaf, finish, hang, overloaded
from tests.engine.fake_session import MODEL
from tests.engine.world import World, a, attempts, check_books, running, stored, ticket, to

if TYPE_CHECKING:
    from tests.engine.fake_session import FakeSession

pytestmark = pytest.mark.anyio
IDS = ("001", "002", "003", "004")
FEW, MANY = 5_000, 1_000_000
PRICED = {MODEL: {"inputTokens": 1000, "outputTokens": 0, "costUSD": 0.1}}


async def test_four_slots_share_the_batch_s_budget(world: World) -> None:
    for ident in IDS:
        world.agents.acts[ident].append(hang())
    async with world.batch(*map(ticket, IDS), slots=4, budget_usd=20.0) as batch, running(batch):
        await world.until(lambda: len(world.agents.sent) == 4)
    caps = [s.start.cap_usd for s in world.agents.sessions]
    assert caps == pytest.approx([5.0] * 4, abs=0.1)
    assert sum(c for c in caps if c is not None) <= 20.0


async def test_a_share_is_not_kept_for_slots_that_nobody_waits_for(world: World) -> None:
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket(), ticket("002", after=("001",)), slots=4, budget_usd=2.0) as batch, running(batch):
        await world.until(lambda: world.agents.sent)
    assert [s.start.cap_usd for s in world.agents.sessions] == pytest.approx([1.95])


@pytest.mark.parametrize("stay", [False, True], ids=["headless", "screen"])
@pytest.mark.parametrize(
    ("budget", "reserve"), [(0.05, None), (5.0, 6.0), (0.0, None)], ids=["small", "reserve", "none"]
)
async def test_too_little_money_starts_nothing_and_turns_no_wheels(
    world: World, budget: float, reserve: float | None, stay: bool
) -> None:
    tickets = [ticket(i, reserve_usd=reserve) for i in IDS]
    async with world.batch(*tickets, slots=4, budget_usd=budget) as batch:
        before = len(world.disk.written)
        if stay:
            async with running(batch):
                assert "budget is used up" in batch.board.totals().notice
        else:
            await batch.pool.run()
            assert "budget is used up" in batch.board.totals().notice
        assert world.disk.written[before:] == []
        assert {t.state for t in batch.board} == {State.QUEUED}
    assert world.agents.sessions == []


@pytest.mark.parametrize("act", [crash(tokens=FEW), overloaded()], ids=["crashed", "parked"])
async def test_money_that_runs_out_between_two_attempts_ends_the_run(world: World, act: Any) -> None:
    """Another ticket uses up the budget while this one is about to try again."""
    world.agents.acts["002"].append(finish(0.97, prices=PRICED))
    world.agents.acts["001"].append(_after_the_other(world, act))
    async with world.batch(ticket(), ticket("002"), slots=2, budget_usd=1.0) as batch:
        await batch.pool.run()
        found = await stored(batch)
        await check_books(batch)
    assert (found["001"].state, found["002"].state) == (State.QUEUED, State.DONE)
    assert len(world.disk.written) < 30


def _after_the_other(world: World, act: Any) -> Any:
    async def waits(session: FakeSession, uuid: str) -> None:
        await world.until(
            lambda: any(isinstance(e, ev.StateChanged) and e.to is State.DONE for e in world.disk.written)
        )
        await act(session, uuid)

    return waits


async def test_a_ticket_whose_own_budget_is_used_up_asks_for_more(world: World) -> None:
    world.agents.acts["001"].append(crash(tokens=MANY))
    found = (await world.run(ticket(budget_usd=1.0)))["001"]
    assert (found.state, found.why) == (State.NEEDS_YOU, Why.LIMIT)
    assert found.spent_usd == pytest.approx(0.95)


async def test_an_attempt_that_is_killed_before_any_price_is_known_books_its_cap(world: World) -> None:
    world.agents.acts["001"].append(deaf(tokens=MANY))
    async with world.batch(ticket(), budget_usd=2.0) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        batch.kill()
        await batch.pool.finished.wait()
        (row,) = await attempts(batch)
        found = (await stored(batch))["001"]
    assert (row.cost_usd, row.estimated, row.cap_usd) == (1.95, True, 1.95)
    assert (found.spent_usd, found.estimated_usd) == (1.95, 1.95)


@pytest.mark.parametrize(
    ("known", "tokens", "usd"),
    [(False, MANY, 1.95), (False, FEW, FEW * DEAREST_USD), (True, FEW, 0.5)],
    ids=["cap", "guess", "estimate"],
)
async def test_an_attempt_that_died_with_its_supervisor_is_booked_at_the_next_start(
    world: World, known: bool, tokens: int, usd: float
) -> None:
    """By the session's own file; where no price is known, at the dearest one and up to the cap."""
    world.agents.acts["001"].append(finish(0.0, prices=PRICED if known else None))
    world.agents.acts["002"].append(crash(tokens=tokens))
    world.disk.die_at(a(ev.AttemptEnded, ticket="002"))
    tickets = (ticket(), ticket("002", after=("001",)))
    async with world.batch(*tickets, budget_usd=2.0) as batch:
        with pytest.raises(StoreError):
            await batch.pool.run()
    async with world.batch(*tickets, budget_usd=2.0) as batch:
        (row,) = await attempts(batch, "002")
        await check_books(batch)
    assert (row.outcome, row.estimated) == (Outcome.LOST, True)
    assert row.cost_usd == pytest.approx(usd)


@pytest.mark.parametrize("ours", [True, False], ids=["same-prompt", "ghost"])
async def test_a_late_second_result_is_paid_once_and_changes_no_ending(world: World, ours: bool) -> None:
    async def twice(session: FakeSession, uuid: str) -> None:
        await session.finish(uuid)
        session.result(uuid if ours else None, "error_during_execution", "model_error", 0.2, errors=("late",))

    world.agents.acts["001"].append(twice)
    async with world.batch(ticket()) as batch:
        await batch.pool.run()
        found = (await stored(batch))["001"]
        (row,) = await attempts(batch)
        await check_books(batch)
    assert found.spent_usd == pytest.approx(0.3)
    assert (found.state, found.subtype, found.terminal_reason) == (State.DONE, "success", "completed")
    assert (row.outcome, row.subtype, row.is_error, row.errors) == (Outcome.DONE, "success", False, ())
    assert found.turns == row.num_turns == 1


async def test_a_second_result_after_a_stop_does_not_undo_finished_work(world: World) -> None:
    """The check was still to be run: it is, at the next start, and nothing is asked of an agent."""

    async def twice(session: FakeSession, uuid: str) -> None:
        await session.finish(uuid)
        session.result(uuid, "error_during_execution", "model_error", 0.2)

    world.agents.acts["001"].append(twice)
    async with world.batch(ticket(verify=("true",))) as batch:
        world.disk.at(to(State.RUNNING, detail="verifying"), batch.request_stop)
        await batch.pool.run()
    found = (await world.run(ticket(verify=("true",))))["001"]
    assert (found.state, found.detail) == (State.DONE, "verified")
    assert len(world.agents.sessions) == 1


STRANGE: dict[str, Any] = {
    "nothing": None,
    "null": {MODEL: {"inputTokens": 10, "costUSD": None}},
    "nan": {MODEL: {"inputTokens": math.nan, "costUSD": math.nan}},
    "infinite": {MODEL: {"inputTokens": 10, "costUSD": math.inf}},
    "negative": {MODEL: {"inputTokens": 10, "costUSD": -1}},
    "words": {MODEL: {"inputTokens": "ten", "costUSD": "0.1"}},
    "no-figures": {MODEL: None},
    "a-word": {MODEL: "much"},
    "a-list": [1, 2],
    "empty": {},
}


@pytest.mark.parametrize("usage", STRANGE.values(), ids=STRANGE)
async def test_strange_prices_break_nothing(world: World, usage: Any) -> None:
    """Neither while they come in nor at the next start, which learns from what was stored."""
    world.agents.acts["001"].append(finish(prices=_result(model_usage=usage).prices))
    assert (await world.run(ticket()))["001"].state is State.DONE
    async with world.batch(ticket(), ticket("002")) as batch:
        await batch.pool.run()
        assert {t.state for t in batch.board} == {State.DONE}
        assert batch.engine.prices.of(MODEL) is None


@pytest.mark.parametrize("total", [None, math.nan, math.inf, -1.0, "0.1", True, [0.1]])
def test_a_strange_total_costs_nothing(total: Any) -> None:
    assert _result(total_cost_usd=total).cost_usd == 0.0


def _result(**fields: Any) -> ev.TurnEnded:
    """Return what the adapter makes of a result with these fields."""
    message = ResultMessage(
        subtype="success", duration_ms=1, duration_api_ms=1, is_error=False, num_turns=1, session_id="s", **fields
    )
    (event,) = Translator("001", 1, "s", lambda: 0.0).translate(message)
    assert isinstance(event, ev.TurnEnded)
    return event
