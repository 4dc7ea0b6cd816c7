"""Money: fair caps, no start without it, nothing lost sight of and nothing counted twice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from claude_agent_sdk import ResultMessage

from supervisor.core import events as ev
from supervisor.core.errors import StoreError
from supervisor.core.model import Outcome, State, Why
from supervisor.core.usage import DEAREST_USD
from supervisor.core.verbs import BUDGET
from supervisor.engine import account
from supervisor.engine.agent import Failure
from supervisor.engine.translate import Translator
from tests.engine.acts import crash, deaf, finish, hang, overloaded, report, unbegun
from tests.engine.fake_session import MODEL, Gone
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


def _pays(usd: float, tokens: int = FEW, then: Any = None, exit_code: int | None = -9) -> Any:
    """One API call, then the process ends in the middle of the turn, or goes on as ``then``."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak(tokens=tokens, usd=usd)
        if then is None:
            raise Gone(Failure(f"exit code {exit_code}", exit_code=exit_code))
        await then(session, uuid)

    return act


async def _after_a_kill(world: World, told: float | None) -> tuple[Any, ...]:
    """Let an attempt be killed after it paid 0.3, then resume a session that knows of ``told``; return what came."""
    world.agents.acts["001"].append(finish(0.1, prices=PRICED))
    world.agents.acts["001"].append(_pays(0.3))

    def tell(session: FakeSession) -> None:
        if told is not None:
            world.agents.kept[session.start.session_id] = told

    async with world.batch(ticket(), budget_usd=5.0) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("message", ["001"], {"text": "Go on."})
        world.disk.at(a(ev.AttemptEnded, number=2), lambda: tell(world.agents.of("001")[-1]))
        await world.until(lambda: batch.board["001"].state is State.DONE and batch.board["001"].attempts == 3)
        await anyio.wait_all_tasks_blocked()
        await check_books(batch)
        corrected = [e for e in await batch.engine.journal.store.events("001") if isinstance(e, ev.CostCorrected)]
        return (await stored(batch))["001"], await attempts(batch), corrected


async def test_an_estimate_stays_where_the_session_has_lost_the_cost_too(world: World) -> None:
    """5 000 tokens at the price that the first turn showed are 0.5, and nobody knows better."""
    found, rows, corrected = await _after_a_kill(world, None)
    assert corrected == []
    assert [round(r.cost_usd, 6) for r in rows] == [0.1, 0.5, 0.1]
    assert (found.spent_usd, found.estimated_usd) == (pytest.approx(0.7), pytest.approx(0.5))
    assert rows[1].estimated


@pytest.mark.parametrize(("told", "cost"), [(0.4, 0.3), (1.0, 0.9)], ids=["down", "up"])
async def test_an_estimate_is_corrected_by_the_next_baseline(world: World, told: float, cost: float) -> None:
    found, rows, (event,) = await _after_a_kill(world, told)
    assert [round(r.cost_usd, 6) for r in rows] == [0.1, cost, 0.1]
    assert (found.spent_usd, found.estimated_usd) == (pytest.approx(0.2 + cost), 0.0)
    assert not rows[1].estimated
    assert (event.number, event.by_usd, event.baseline_usd) == (2, pytest.approx(cost - 0.5), told)


async def test_a_turn_under_way_shows_what_it_has_cost_so_far(world: World) -> None:
    """5 000 tokens at the price that the first turn showed are 0.5; the result says that they were 0.3."""
    world.agents.acts["001"].append(finish(0.1, prices=PRICED))
    world.agents.acts["001"].append(_pays(0.3, then=hang()))
    async with world.batch(ticket(budget_usd=2.0)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("message", ["001"], {"text": "Go on."})
        await world.until(lambda: batch.board["001"].turn_usd > 0)
        now, totals = batch.board["001"], batch.board.totals()
        assert (now.spent_usd, now.so_far_usd, now.left_usd) == pytest.approx((0.1, 0.6, 1.4))
        assert now.is_estimate
        assert (totals.spent_usd, totals.turn_usd) == pytest.approx((0.1, 0.5))
        (kept,) = await batch.engine.journal.store.snapshots()
        assert kept.turn_usd == 0.0, "it is no record"
        batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["001"].state is State.PAUSED)
        now = batch.board["001"]
    assert (now.turn_usd, now.is_estimate, now.so_far_usd) == (0.0, False, now.spent_usd)


async def test_a_call_that_says_nothing_shows_what_it_has_cost_too(world: World) -> None:
    """It may be the last message for long: what it calls waits for the operator, or works for an hour."""
    world.agents.acts["001"].append(finish(0.1, prices=PRICED))

    async def calls(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.usage.see("m1", MODEL, {"input_tokens": 1_000})
        session.put(ev.ToolCalled("001", session.clock(), "t1", "Bash", "sleep 3600"))
        await session.interrupted.wait()
        session.result(uuid, "error_during_execution", "aborted_tools", 0.1)

    world.agents.acts["001"].append(calls)
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("message", ["001"], {"text": "Go on."})
        await world.until(lambda: batch.board["001"].turn_usd > 0)
        assert batch.board["001"].turn_usd == pytest.approx(0.1)


async def test_what_came_too_soon_to_be_shown_is_shown_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums are made once in a while; where nothing more is said, the last one still comes."""
    monkeypatch.setattr(account, "_SHOW_S", 0.2)
    world.agents.acts["001"].append(finish(0.1, prices=PRICED))

    async def speaks(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak(tokens=1_000, message_id="m1")
        await world.until(lambda: batch.board["001"].turn_usd > 0)
        session.speak(tokens=2_000, message_id="m2")
        await session.interrupted.wait()
        session.result(uuid, "error_during_execution", "aborted_tools", 0.3)

    world.agents.acts["001"].append(speaks)
    async with world.batch(ticket(stall_minutes=0.05)) as batch, running(batch):  # looked at ten times until then
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("message", ["001"], {"text": "Go on."})
        await world.until(lambda: batch.board["001"].turn_usd > 0.25 or batch.board["001"].attempts > 2)
        assert batch.board["001"].turn_usd == pytest.approx(0.3)


async def test_an_agent_that_dies_after_its_conversation_was_reset_is_not_booked_twice(world: World) -> None:
    """The session's file tells what it had cost before, and that has been paid for."""
    world.agents.acts["001"].append(finish(0.3, prices=PRICED))

    async def begins_anew(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.write({"type": "cost-state", "totalCostUSD": 0.3})
        session.reset()
        await crash(tokens=1_000)(session, uuid)

    world.agents.acts["001"].append(begins_anew)
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("message", ["001"], {"text": "Go on."})
        await world.until(lambda: batch.board["001"].attempts == 3 and batch.board["001"].state is State.DONE)
        rows = await attempts(batch)
    assert [round(r.cost_usd, 6) for r in rows[:2]] == [0.3, 0.1]


async def test_what_a_process_wrote_down_before_it_left_is_no_estimate(world: World) -> None:
    """It was told to leave in the middle of its turn: a stop, an unanswered interrupt."""
    world.agents.acts["001"].append(_pays(0.3, then=unbegun()))
    async with world.batch(ticket()) as batch:
        async with running(batch):
            await world.until(lambda: batch.board["001"].detail == "I look at it.")
            world.agents.moments["interrupting"] = lambda s: setattr(s, "_queued", s.prompt)
        (row,) = await attempts(batch)
        found = (await stored(batch))["001"]
        await check_books(batch)
    assert row.cost_usd == pytest.approx(0.3)
    assert (row.estimated, found.estimated_usd) == (False, 0.0)


async def test_a_correction_counts_against_what_the_attempt_may_spend(world: World) -> None:
    """Its cap was fixed before anybody knew: we stop it where the process would not."""
    world.agents.acts["001"] += [finish(0.1, prices=PRICED), _pays(0.3, tokens=1_000)]

    async def uses_tools(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        for n in range(6):  # 0.6 of the 0.55 that it may spend
            assert not session.interrupted.is_set()
            session.speak(tokens=1_000, usd=0.1, message_id=f"m{n}")
            session.put(ev.ToolReturned("001", session.clock(), f"t{n}", "ok"))
        await session.interrupted.wait()
        session.result(uuid, "error_during_execution", "aborted_tools", 0.0)

    world.agents.acts["001"].append(uses_tools)
    async with world.batch(ticket(budget_usd=2.0)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("message", ["001"], {"text": "Go on."})

        def tell() -> None:
            world.agents.kept[world.agents.of("001")[-1].start.session_id] = 1.4

        world.disk.at(a(ev.AttemptEnded, number=2), tell)
        await world.until(lambda: batch.board["001"].why is Why.LIMIT)
        rows, found = await attempts(batch), batch.board["001"]
    assert rows[1].cost_usd == pytest.approx(1.3)
    assert rows[2].cap_usd == pytest.approx(1.75)
    assert (rows[2].outcome, rows[2].detail) == (Outcome.LIMIT, "what it may spend is used up")
    assert found.spent_usd == pytest.approx(2.0)


async def test_a_budget_that_is_raised_while_it_runs_takes_effect_by_itself(world: World) -> None:
    async def spends(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak()
        batch.submit("budget", ["001"], {"budget_usd": 3.0})
        await world.until(lambda: batch.board["001"].budget_usd == 3.0)
        session.result(uuid, "error_max_budget_usd", "budget_exhausted", session.start.cap_usd or 0.0)

    world.agents.acts["001"].append(spends)
    async with world.batch(ticket(budget_usd=1.0)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        rows = await attempts(batch)
    assert [(r.outcome, r.cap_usd) for r in rows] == [(Outcome.LIMIT, 0.95), (Outcome.DONE, pytest.approx(2.0))]


async def test_turns_that_are_raised_while_it_runs_take_effect_by_themselves(world: World) -> None:
    async def turns(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak()
        batch.submit("budget", ["001"], {"max_turns": 40})
        await world.until(lambda: batch.board["001"].max_turns == 40)
        session.result(uuid, "error_max_turns", "max_turns", num_turns=11)

    world.agents.acts["001"].append(turns)
    async with world.batch(ticket(max_turns=10)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert [s.start.max_turns for s in world.agents.sessions] == [10, 40]


def _takes_all() -> Any:
    """The turn goes on until the cap is reached, as the CLI stops it."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak()
        assert session.start.cap_usd is not None
        session.result(uuid, "error_max_budget_usd", "budget_exhausted", session.start.cap_usd)

    return act


async def test_one_that_has_used_up_its_share_goes_on_with_what_the_batch_has_left(world: World) -> None:
    world.agents.acts["001"].append(_takes_all())
    async with world.batch(ticket(), ticket("002"), slots=2, budget_usd=1.0) as batch:
        await batch.pool.run()
        assert {t.state for t in batch.board} == {State.DONE}
        rows = await attempts(batch)
    assert [r.outcome for r in rows] == [Outcome.LIMIT, Outcome.DONE]
    assert rows[0].cap_usd == pytest.approx(0.45)


async def test_a_batch_budget_too_small_for_all_runs_one_ticket(world: World) -> None:
    for ident in IDS:
        world.agents.acts[ident].append(hang())
    async with world.batch(*map(ticket, IDS), slots=4, budget_usd=0.19) as batch, running(batch):
        await world.until(lambda: world.agents.sent)
        await anyio.wait_all_tasks_blocked()
    assert [s.start.cap_usd for s in world.agents.sessions] == pytest.approx([0.14])


async def test_a_ticket_that_may_raises_its_own_budget_up_to_the_ceiling(world: World) -> None:
    world.agents.acts["001"] += [_takes_all()] * 9
    async with world.batch(ticket(budget_usd=1.0, on_limit="raise")) as batch:
        notes = list[str]()
        batch.board.listen(lambda e, _, __: notes.append(e.text) if isinstance(e, ev.Noted) else None)
        await batch.pool.run()
        found = (await stored(batch))["001"]
    assert (found.state, found.why, found.budget_usd) == (State.NEEDS_YOU, Why.LIMIT, 2.0)
    assert found.spent_usd == pytest.approx(1.95)
    assert [n for n in notes if "raised" in n] == [
        "a limit was reached and raised by itself: budget $1.50, no longer $1.00",
        "a limit was reached and raised by itself: budget $2.00, no longer $1.50",
    ]


async def test_its_own_ceiling_and_the_batch_s_money_bound_that(world: World) -> None:
    world.agents.acts["001"] += [_takes_all()] * 9
    async with world.batch(ticket(budget_usd=1.0, on_limit="raise", ceiling_usd=1.25), budget_usd=9.0) as batch:
        await batch.pool.run()
        assert batch.board["001"].budget_usd == 1.25
    world.agents.acts["002"] += [_takes_all()] * 9
    async with world.batch(ticket("002", budget_usd=1.0, on_limit="raise"), budget_usd=2.2) as batch:
        await batch.pool.run()
        found = batch.board["002"]
    assert (found.state, found.why, found.budget_usd) == (State.NEEDS_YOU, Why.LIMIT, 1.0)


async def test_money_that_others_hold_is_waited_for_before_a_budget_is_raised(world: World) -> None:
    """One without a budget of its own may spend all that is left; it has not, so nobody has to be asked."""
    world.agents.acts["001"].append(_takes_all())
    world.agents.acts["002"].append(hang())
    tickets = ticket(budget_usd=1.0, on_limit="raise"), ticket("002")
    async with world.batch(*tickets, slots=2, budget_usd=9.0) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.QUEUED and batch.board["001"].attempts == 1)
        await anyio.wait_all_tasks_blocked()
        assert (batch.board["001"].state, batch.board["001"].budget_usd) == (State.QUEUED, 1.0)
        assert "other tickets hold" in batch.board["001"].detail
        batch.submit("interrupt", ["002"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert batch.board["001"].budget_usd == 1.5
        assert batch.board["002"].state is State.PAUSED


async def test_turns_are_raised_the_same_way(world: World) -> None:
    world.agents.acts["001"] += [report("error_max_turns", "max_turns", num_turns=5)] * 9
    async with world.batch(ticket(max_turns=4, on_limit="raise")) as batch:
        await batch.pool.run()
        found = (await stored(batch))["001"]
    assert [s.start.max_turns for s in world.agents.sessions] == [4, 6, 8]
    assert (found.state, found.max_turns, found.budget_usd) == (State.NEEDS_YOU, 8, None)


async def test_the_reserve_is_the_largest_call_of_the_same_model_also_after_a_restart(world: World) -> None:
    big = finish(0.4, largest_call_usd=0.25)
    world.agents.acts["001"].append(big)
    tickets = [ticket(model="opus"), ticket("002", model="opus", after=("001",)), ticket("003", model="haiku")]
    tickets.append(ticket("004", model="opus", after=("002",)))
    async with world.batch(*tickets[:3], slots=1, budget_usd=10.0) as batch:
        await batch.pool.run()
        assert batch.board["002"].reserve_usd == 0.25
        assert batch.board["003"].reserve_usd == 0.05
    async with world.batch(*tickets, slots=1, budget_usd=10.0) as batch:
        await batch.pool.run()
        assert batch.board["004"].reserve_usd == 0.25
        (row,) = await attempts(batch, "004")
        assert row.cap_usd == pytest.approx(10.0 - 0.6 - 0.25)


async def test_a_ticket_says_that_its_headroom_is_below_the_reserve(world: World) -> None:
    world.agents.acts["001"].append(finish(0.97))
    async with world.batch(ticket(budget_usd=1.0), ticket("002", budget_usd=1.0)) as batch:
        await batch.pool.run()
        assert (batch.board["001"].is_short, batch.board["002"].is_short) == (True, False)


async def test_turns_of_all_attempts_are_bounded(world: World) -> None:
    world.agents.acts["001"] += [report("error_max_turns", "max_turns", num_turns=6)]
    async with world.batch(ticket(budget_turns=6, max_turns=50)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].why is Why.LIMIT)
        assert batch.board["001"].detail == "all 6 turns are taken"
        assert [s.start.max_turns for s in world.agents.sessions] == [6]
        batch.submit("budget", ["001"], {"budget_turns": 20})
        await world.until(lambda: batch.board["001"].budget_turns == 20)
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert [s.start.max_turns for s in world.agents.sessions] == [6, 14]


async def test_tokens_of_all_attempts_are_bounded_also_within_a_turn(world: World) -> None:
    async def uses_tools(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak(tokens=9_000)
        session.put(ev.ToolReturned("001", session.clock(), "t", "ok"))
        await session.interrupted.wait()
        session.result(uuid, "error_during_execution", "aborted_tools", 0.2, tokens=9_000)

    world.agents.acts["001"] += [finish(tokens=3_000), uses_tools]
    async with world.batch(ticket(budget_tokens=10_000)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("message", ["001"], {"text": "Go on."})
        await world.until(lambda: batch.board["001"].why is Why.LIMIT)
        found, rows = batch.board["001"], await attempts(batch)
    assert (found.tokens, found.tokens_left, found.detail) == (12_000, 0, "all 10,000 tokens are used")
    assert rows[-1].outcome is Outcome.LIMIT


async def test_tokens_that_are_set_while_it_runs_stop_it_at_its_next_call_and_more_let_it_go_on(world: World) -> None:
    async def uses_tools(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak(tokens=9_000)
        accepted, says = await batch.pool.mailroom.request(BUDGET, "001", {"budget_tokens": 8_000})
        assert (accepted, says) == (True, "no budget, 8,000 tokens in all")
        session.put(ev.ToolReturned("001", session.clock(), "t", "ok"))
        await session.interrupted.wait()
        session.result(uuid, "error_during_execution", "aborted_tools", 0.2, tokens=9_000)

    world.agents.acts["001"].append(uses_tools)
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].why is Why.LIMIT)
        assert batch.board["001"].detail == "all 8,000 tokens are used"
        assert (await batch.pool.mailroom.request(BUDGET, "001", {"budget_tokens": 20_000}))[0]
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)


async def test_turns_in_all_that_are_raised_while_it_runs_take_effect_by_themselves(world: World) -> None:
    async def turns(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak()
        assert (await batch.pool.mailroom.request(BUDGET, "001", {"budget_turns": 30}))[0]
        session.result(uuid, "error_max_turns", "max_turns", num_turns=6)

    world.agents.acts["001"].append(turns)
    async with world.batch(ticket(budget_turns=6)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert [s.start.max_turns for s in world.agents.sessions] == [6, 24]


async def test_a_limit_that_is_reached_between_two_prompts_asks_nothing_more(world: World) -> None:
    """The check fails, and there are no turns left to tell the agent so."""
    world.agents.acts["001"].append(finish(num_turns=5))
    async with world.batch(ticket(budget_turns=5, verify=("false",))) as batch:
        await batch.pool.run()
        found = (await stored(batch))["001"]
    assert (found.state, found.why) == (State.NEEDS_YOU, Why.LIMIT)
    assert len(world.agents.sent) == 1


async def test_the_forecast_is_on_the_board_once_a_ticket_is_done(world: World) -> None:
    world.agents.acts["002"].append(hang())
    async with world.batch(ticket(), ticket("002"), ticket("003"), slots=1) as batch, running(batch):
        await world.until(lambda: world.agents.prompts("002"))
        await world.until(lambda: batch.board.announced.forecast)
        assert batch.board.announced.forecast.startswith("≈ $0.30 in all ($0.30 to $0.30), ends about ")
