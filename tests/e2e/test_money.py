"""Money and the API's patience on the real CLI, with the scripted API's log as the witness."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.errors import StoreError
from supervisor.core.model import Mode, Outcome, State, Why
from supervisor.engine.groups import task_group
from tests.e2e.stage import Stage, agents, bash, is_written, say, ticket, until, until_state, use

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.core.model import TicketSnapshot
    from supervisor.engine.context import Engine
    from supervisor.rehearsal.witness import Served

pytestmark = [pytest.mark.anyio, pytest.mark.cli]
WRITE = use("Write", "I write it.", file_path="new.txt", content="new\n")
INPUT_USD, OUTPUT_USD = 2e-6, 10e-6
"""What the CLI takes for a token of the model that the tickets of these tests name."""


def _served_usd(lines: Iterable[Served]) -> float:
    """Return what answered requests cost, by the tokens that the API claims."""
    used = [line.usage for line in lines if line.usage is not None]
    return sum(u["input_tokens"] * INPUT_USD + u["output_tokens"] * OUTPUT_USD for u in used)


async def _died(stage: Stage, marker: str, how: signal.Signals) -> None:
    """End the agent of ticket 001 in the middle of a command, once its session's file knows of it."""
    await until((stage.state_dir / "worktrees" / "001" / marker).exists)
    await until(lambda: is_written(stage.root, f"touch {marker}"))
    (agent,) = agents()
    os.kill(agent.pid, how)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_what_is_recorded_is_what_was_served_also_for_an_agent_that_died(
    stage: Stage, how: signal.Signals
) -> None:
    """A process that is told to leave writes its cost down; of one that is killed, its messages tell."""
    steps = [WRITE, bash("touch one; sleep 30"), bash("touch two; sleep 30"), say("All done.")]
    scripts = {"000": [say("Now the price is known.")], "001": steps}
    async with stage.batch(stage.spec(ticket("000"), ticket(after=("000",))), scripts) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            await _died(stage, "one", how)
            await _died(stage, "two", how)
        found, rows = batch.board["001"], await batch.engine.journal.store.attempts("001")
        served = _served_usd(stage.served("001"))
    assert found.state is State.DONE
    assert [r.outcome for r in rows] == [Outcome.CRASHED, Outcome.CRASHED, Outcome.DONE]
    assert found.spent_usd == pytest.approx(served, rel=1e-6)
    assert (found.estimated_usd > 0) is (how is signal.SIGKILL)
    assert sum(r.cost_usd for r in rows) == pytest.approx(found.spent_usd)


async def test_a_fork_and_a_resume_count_their_pasts_once(stage: Stage) -> None:
    steps = [say("One."), say("Two."), say("Three.")]
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: batch.pool.run(stay=True))
            await until_state(batch, "001", State.DONE)
            batch.submit("message", ["001"], {"text": "Go on."})
            await until(lambda: batch.board["001"].attempts == 2 and batch.board["001"].state is State.DONE)
            batch.submit("fork", ["001"], {"prompt": "Try something else."})
            await until(lambda: "001.2" in batch.board and batch.board["001.2"].state is State.DONE)
            batch.request_stop()
        spent = {t.id: t.spent_usd for t in batch.board}
        served = {i: _served_usd(stage.served(i)) for i in ("001", "001.2")}
    assert spent == pytest.approx(served)


async def test_a_short_storm_ends_well_and_was_met_with_patience(stage: Stage) -> None:
    idents = ("001", "002", "003")
    steps = [WRITE, {"status": 429, "times": 1, "retry_after": 1}, {"status": 529, "times": 2}, say("All done.")]
    spec = stage.spec(*map(ticket, idents), slots=3, max_retries=1)
    async with stage.batch(spec, {i: [*steps[:-1], say(f"Done with {i}.")] for i in idents}) as batch:
        await batch.pool.run()
        assert {t.state for t in batch.board} == {State.DONE}
        rows = [a for i in idents for a in await batch.engine.journal.store.attempts(i)]
        requests = [s for i in idents for s in stage.served(i)]
        spent = sum(t.spent_usd for t in batch.board)
        served = _served_usd(requests)
    assert {a.mode for a in rows if a.number > 1} == {Mode.RESUME}, "no refusal is answered with a new session"
    assert spent == pytest.approx(served), "and nothing is paid for twice"
    by_status = {status: sum(s.status == status for s in requests) for status in (200, 429, 529)}
    assert by_status == {200: 6, 429: 3, 529: 6}, "each answer is asked for once, each refusal heard once"


async def test_a_refused_key_is_asked_for_once_and_all_go_on_with_a_good_one(stage: Stage) -> None:
    idents = ("001", "002", "003", "004")
    refused = [{"status": 401, "times": 1}, say("All done.")]
    scripts = {"001": refused, "002": refused, "003": [say("Three.")], "004": [say("Four.")]}
    async with stage.batch(stage.spec(*map(ticket, idents), slots=2, max_retries=0), scripts) as batch:
        said = list[str]()
        batch.engine.holds.listen(lambda: said.append(batch.engine.holds.words))
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: batch.pool.run(stay=True))
            await until(lambda: {batch.board[i].state for i in idents[:2]} == {State.NEEDS_YOU, State.PARKED})
            await until(lambda: not agents())
            (asker,) = [t for t in batch.board if t.state is State.NEEDS_YOU]
            assert asker.why is Why.AUTH
            assert [t.state for t in batch.board if t.id in idents[2:]] == [State.QUEUED] * 2, "nobody else tries"
            batch.submit("resume", [asker.id])
            await until(lambda: {t.state for t in batch.board} == {State.DONE})
            batch.request_stop()
        requests = [s for i in idents for s in stage.served(i)]
    assert [words for words in said if "refused" in words] == said[:1]
    assert sorted(s.ticket for s in requests if s.status == 401) == ["001", "002"]


def _subscription(engine: Engine) -> None:
    """Let agents log in without a key."""
    env = engine.launch.env

    def without_key(ident: str) -> dict[str, str]:
        return {**env(ident), "ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-no-real-token"}

    engine.launch = replace(engine.launch, env=without_key)


def _window(**told: object) -> dict[str, str]:
    return {f"anthropic-ratelimit-unified-{name.replace('_', '-')}": str(value) for name, value in told.items()}


async def test_a_subscription_s_windows_are_shown_and_waited_for(stage: Stage) -> None:
    soon = int(time.time()) + 8  # a window that has begun anew before the agent asks says nothing
    about = {"representative_claim": "five_hour", "reset": soon, "5h_reset": soon, "7d_reset": soon + 9999}
    calm = _window(status="allowed", **about, **{"5h_utilization": 0.9, "7d_utilization": 0.25})
    full = _window(status="rejected", **about, **{"5h_utilization": 1, "7d_utilization": 0.25})
    steps = [{**WRITE, "headers": calm}, {"status": 429, "times": 1, "headers": full}, say("All done.", headers=calm)]
    spec = stage.spec(ticket(), ticket("002", after=()), slots=1)
    async with stage.batch(spec, {"001": steps, "002": [say("Two.")]}, _subscription) as batch:
        seen = list[ev.LimitsSeen]()
        batch.board.listen(lambda e, _, __: seen.append(e) if isinstance(e, ev.LimitsSeen) else None)
        await batch.pool.run()
        totals, rows = batch.board.totals(), await batch.engine.journal.store.attempts("001")
        second = (await batch.engine.journal.store.attempts("002"))[0]
        assert {t.state for t in batch.board} == {State.DONE}
    first = next(e for e in seen if e.status == "allowed")
    assert first.kind == "five_hour"
    assert {w.name: w.used for w in first.windows} == {"five_hour": 0.9, "seven_day": 0.25}
    assert any(e.status == "rejected" for e in seen)
    assert totals.notional
    assert totals.tokens > 0
    assert [r.mode for r in rows] == [Mode.FRESH, Mode.RESUME]
    assert min(rows[1].started, second.started) >= soon, "nobody asks before the window begins anew"


async def test_an_attempt_that_its_supervisor_could_not_close_is_paid_for_exactly_at_the_next_start(
    stage: Stage,
) -> None:
    """Its agent left in good order, as it does when the supervisor dies: the session's file tells what it spent."""
    steps = [WRITE, bash("touch one; sleep 30"), say("All done.")]
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch:
        store = batch.engine.journal.store
        append = store.append

        async def refuses(event: ev.Event, snapshot: TicketSnapshot) -> None:
            if isinstance(event, ev.AttemptEnded):
                raise StoreError("the disk is full")
            await append(event, snapshot)

        store.append = refuses  # type: ignore[method-assign]
        with pytest.raises(StoreError):
            async with task_group() as group:
                group.start_soon(batch.pool.run)
                await _died(stage, "one", signal.SIGTERM)
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch:
        assert batch.recovered.lost == 1
        await batch.pool.run()
        found, served = batch.board["001"], _served_usd(stage.served("001"))
    assert (found.state, found.estimated_usd) == (State.DONE, 0.0)
    assert found.spent_usd == pytest.approx(served)
