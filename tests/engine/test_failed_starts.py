"""Starts that fail, sessions that are refused, agents that crash: what is tried again, in which session, how often."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from supervisor.core.model import Mode, Outcome, State
from supervisor.engine.agent import Failure
from supervisor.engine.attempt import NOT_GONE
from tests.engine.acts import crash, finish, hang, overloaded, report
from tests.engine.fake_session import FakeSession, Gone
from tests.engine.world import World, attempts, running, stored, ticket

if TYPE_CHECKING:
    from tests.engine.fake_session import Act

pytestmark = pytest.mark.anyio
NOT_REFUSED = {
    "killed": Failure("killed", exit_code=-9),
    "killed-in-a-shell": Failure("killed", exit_code=137),
    "terminated": Failure("terminated", exit_code=143),
    "control-timeout": Failure("Control request timeout: initialize"),
    "ended-without-a-word": Failure("the process ended", exit_code=0),
}


@pytest.mark.parametrize("failure", NOT_REFUSED.values(), ids=NOT_REFUSED)
async def test_a_start_that_fails_gives_no_session_up(world: World, failure: Failure) -> None:
    session = await world.begin()
    world.agents.starts["001"].append(failure)
    async with world.batch(ticket()) as batch:
        await batch.pool.run()
        assert (await stored(batch))["001"].state is State.DONE
        rows = (await attempts(batch))[1:]
    assert [(r.outcome, r.mode) for r in rows] == [(Outcome.CRASHED, Mode.RESUME), (Outcome.DONE, Mode.RESUME)]
    assert {r.session_id for r in rows} == {session}


async def test_a_start_that_is_our_own_mistake_fails_the_ticket_and_keeps_its_session(world: World) -> None:
    session = await world.begin()
    world.agents.starts["001"].append(Failure("Cannot allocate memory", own_mistake=True, exit_code=1))
    found = (await world.run(ticket()))["001"]
    assert (found.state, found.session_id, found.attempts) == (State.FAILED, session, 2)
    assert found.detail == "Cannot allocate memory"


async def test_an_agent_that_cannot_be_ended_has_its_ticket_to_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is begun beside it, also not by itself."""
    close = FakeSession.close

    async def in_vain(session: FakeSession) -> bool:
        await close(session)
        return False

    monkeypatch.setattr(FakeSession, "close", in_vain)
    world.agents.acts["001"].extend([crash(1), finish()])
    found = (await world.run(ticket()))["001"]
    assert (found.state, found.attempts, found.detail) == (State.FAILED, 1, NOT_GONE)


REFUSED: dict[str, tuple[Failure | None, Act | None]] = {
    "exit": (Failure("No conversation found", exit_code=1), None),
    "error": (Failure("No conversation found", subtype="error_during_execution"), None),
    "result": (None, report("error_during_execution", None, 0.0, speaks=False)),
    "exit-after-the-prompt": (None, crash(1, speaks=False)),
}


@pytest.mark.parametrize(("failure", "act"), REFUSED.values(), ids=REFUSED)
async def test_a_session_that_is_refused_is_replaced_once(
    world: World, failure: Failure | None, act: Act | None
) -> None:
    session = await world.begin()
    world.agents.starts["001"].append(failure)
    world.agents.acts["001"].extend([act] if act is not None else [])
    async with world.batch(ticket()) as batch:
        await batch.pool.run()
        rows = (await attempts(batch))[1:]
        found = (await stored(batch))["001"]
    assert [(r.outcome, r.mode) for r in rows] == [(Outcome.FAILED_RESUME, Mode.RESUME), (Outcome.DONE, Mode.FALLBACK)]
    assert rows[1].resumed_from == rows[0].session_id == session
    assert found.session_id == rows[1].session_id != session


@pytest.mark.parametrize("max_attempts", [1, 2, 3])
async def test_a_crash_before_any_answer_is_repeated_so_often(world: World, max_attempts: int) -> None:
    world.agents.acts["001"].extend([crash()] * 20)
    found = (await world.run(ticket(max_attempts=max_attempts)))["001"]
    assert (found.state, found.attempts) == (State.FAILED, max_attempts)
    assert len({s.start.session_id for s in world.agents.sessions}) == 1


@pytest.mark.parametrize("order", ["refused-first", "crash-first"])
async def test_crashes_and_refusals_together_are_bounded(world: World, order: str) -> None:
    await world.begin()
    refused = crash(1, speaks=False)
    world.agents.acts["001"].extend([refused, crash()] * 20 if order == "refused-first" else [crash(), refused] * 20)
    async with world.batch(ticket(max_attempts=3)) as batch:
        await batch.pool.run()
        rows = (await attempts(batch))[1:]
        assert (await stored(batch))["001"].state is State.FAILED
    assert len(rows) <= 4, "one fallback may come on top"
    assert [r.mode for r in rows].count(Mode.FALLBACK) <= 1


@pytest.mark.parametrize("between", [overloaded(), hang()], ids=["api-error", "quit"])
async def test_one_fallback_until_a_prompt_is_answered(world: World, between: Act) -> None:
    """Every resume is refused, and the fallback's own turn fails at the API or is cut off by a quit."""
    await world.begin()
    refused = crash(1, speaks=False)
    world.agents.acts["001"].extend([refused, between, refused])
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: len(world.agents.prompts("001")) >= 3)
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.FAILED)
        assert [r.mode for r in await attempts(batch)].count(Mode.FALLBACK) == 1
        world.agents.acts["001"].append(refused)
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert [r.mode for r in await attempts(batch)][-2:] == [Mode.RESUME, Mode.FALLBACK], (
            "the operator may try again"
        )


async def test_api_failures_between_crashes_forgive_none(world: World) -> None:
    world.agents.acts["001"].extend([crash(), overloaded()] * 20)
    async with world.batch(ticket(max_attempts=3)) as batch:
        await batch.pool.run()
        rows = await attempts(batch)
        assert (await stored(batch))["001"].state is State.FAILED
    assert [r.outcome for r in rows].count(Outcome.CRASHED) == 3


async def test_an_answered_prompt_ends_a_row_of_crashes(world: World) -> None:
    """Two crashes, then a turn that is answered and checked in vain, then two more: none of the rows is three long."""
    acts = [crash(), crash(), finish(), crash(), crash(), finish()]
    world.agents.acts["001"].extend(acts)
    check = ("sh", "-c", 'echo x >> "$0"; test $(wc -l < "$0") -ge 2', str(world.root / "checks"))
    assert (await world.run(ticket(max_attempts=3, verify=check)))["001"].state is State.DONE


async def test_the_operators_resume_forgives_crashes(world: World) -> None:
    world.agents.acts["001"].extend([crash()] * 3)
    async with world.batch(ticket(max_attempts=2)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.FAILED)
        assert batch.board["001"].attempts == 2
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert batch.board["001"].attempts == 4, "one more crash was borne, then it went well"


async def test_the_first_prompt_is_the_tickets_own_whatever_its_setup_has_left(world: World) -> None:
    """Also when the agent was killed before its session's file knew of it. Only work is told of as such."""
    setup = ("sh", "-c", "echo made > made.txt; echo changed >> hello.txt")
    (world.repo / "local.env").write_text("KEY=1\n")
    world.agents.starts["001"].append(Failure("killed", exit_code=-9))

    async def unread(session: FakeSession, uuid: str) -> None:
        raise Gone(Failure("killed", exit_code=-9))

    world.agents.acts["001"].append(unread)
    found = (await world.run(ticket(setup=setup, copy=("local.env",))))["001"]
    assert (found.state, found.attempts) == (State.DONE, 3)
    first, second = world.agents.prompts("001")
    assert (first.text, second.text) == ("Do 001.", "Do 001.")


async def test_a_worktree_that_nobody_knows_of_is_told_of_as_work(world: World) -> None:
    await world.run(ticket())
    path = world.state_dir / "worktrees" / "001"
    (path / "done.txt").write_text("half of it\n")
    for entry in world.state_dir.iterdir():
        if entry != path.parent:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    await world.run(ticket())
    text = world.agents.prompts("001")[-1].text
    assert text.startswith("Do 001.\n")
    assert "done.txt (new)" in text
