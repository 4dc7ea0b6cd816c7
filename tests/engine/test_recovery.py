"""What a start makes of what it finds: refused and failed sessions, finished work, stored wishes, lost worktrees."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.core import events as ev
from supervisor.core.errors import StoreError
from supervisor.core.model import Mode, PromptKind, State, Why
from tests.engine.acts import finish, hang, limit, report, unbegun
from tests.engine.world import Pipe, World, a, attempts, check_books, running, stored, ticket, to

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.engine.batch import Batch
    from tests.engine.fake_session import Act

pytestmark = pytest.mark.anyio
COUNTS = ("sh", "-c", 'echo x >> "$0"')


async def _die_at(world: World, matches: Callable[[ev.Event], bool], **more: Any) -> None:
    """Run until the supervisor dies at an event, which is not written."""
    world.disk.die_at(matches)
    async with world.batch(ticket(**more)) as batch:
        with pytest.raises(StoreError):
            await batch.pool.run()


FINISHED = {"ended": a(ev.AttemptEnded), "state": to(State.DONE)}


@pytest.mark.parametrize("verify", [False, True], ids=["plain", "verified"])
@pytest.mark.parametrize("moment", FINISHED)
async def test_work_that_was_finished_before_a_death_is_only_recorded(world: World, moment: str, verify: bool) -> None:
    more: dict[str, Any] = {"verify": (*COUNTS, str(world.root / "checks"))} if verify else {}
    await _die_at(world, FINISHED[moment], **more)
    async with world.batch(ticket(**more)) as batch:
        assert batch.board["001"].state is State.QUEUED
        await batch.pool.run()
        found = (await stored(batch))["001"]
        await check_books(batch)
    assert (found.state, found.spent_usd, found.attempts) == (State.DONE, 0.1, 1)
    assert found.detail == ("verified" if verify else "")
    assert len(world.agents.sessions) == 1


async def test_a_death_before_the_verdict_is_written_only_repeats_the_check(world: World) -> None:
    checks = world.root / "checks"
    await _die_at(world, a(ev.Verified), verify=(*COUNTS, str(checks)))
    assert (await world.run(ticket(verify=(*COUNTS, str(checks)))))["001"].state is State.DONE
    assert len(world.agents.sessions) == 1
    assert checks.read_text() == "x\nx\n"


async def test_a_stop_during_the_check_only_repeats_the_check(world: World, tmp_path: Path) -> None:
    pipe = Pipe(tmp_path / "pipe")
    async with world.batch(ticket(verify=pipe.command)) as batch, running(batch):
        await pipe.pid()
        batch.request_stop()
        await pipe.end()
    async with world.batch(ticket(verify=("false",), verify_rounds=1)) as batch:
        assert batch.board["001"].state is State.QUEUED
        await batch.pool.run()
        assert (await stored(batch))["001"].why is Why.VERIFY
        rows = await attempts(batch)
    assert [p.text.splitlines()[0] for p in world.agents.prompts("001")] == [
        "Do 001.",
        "The check `false` ended with exit code 1. Fix the cause and finish the ticket.",
    ]
    assert [r.mode for r in rows] == [Mode.FRESH, Mode.RESUME]


async def test_rounds_of_the_check_are_counted_over_restarts(world: World) -> None:
    more: dict[str, Any] = {"verify": ("false",), "verify_rounds": 2}
    world.agents.acts["001"].extend([finish(), hang()])
    async with world.batch(ticket(**more)) as batch, running(batch):
        await world.until(lambda: len(world.agents.prompts("001")) >= 2)
    async with world.batch(ticket(**more)) as batch:
        await batch.pool.run()
        found = (await stored(batch))["001"]
        written = await batch.engine.journal.store.events("001")
    assert (found.state, found.why) == (State.NEEDS_YOU, Why.VERIFY)
    assert [e.round for e in written if isinstance(e, ev.Verified)] == [1, 2, 3]
    kinds = [e.kind for e in written if isinstance(e, ev.PromptStored)]
    assert kinds == [PromptKind.TASK, PromptKind.VERIFY, PromptKind.CONTINUE, PromptKind.VERIFY]


@pytest.mark.parametrize(
    ("act", "state", "why"),
    [
        (limit(), State.NEEDS_YOU, Why.LIMIT),
        (report("error_during_execution", "model_error", text="no"), State.FAILED, None),
    ],
    ids=["limit", "failed"],
)
async def test_an_ending_that_was_recorded_before_a_death_is_kept(
    world: World, act: Act, state: State, why: Why | None
) -> None:
    world.agents.acts["001"].append(act)
    await _die_at(world, to(state))
    found = (await world.run(ticket()))["001"]
    assert (found.state, found.why) == (state, why)
    assert len(world.agents.sessions) == 1


WISHES = {"interrupt": State.PAUSED, "cancel": State.CANCELLED}


@pytest.mark.parametrize("verb", WISHES)
@pytest.mark.parametrize("moment", [a(ev.TurnEnded), a(ev.AttemptEnded)], ids=["turn", "ended"])
async def test_a_wish_that_was_stored_before_a_death_is_carried_out(
    world: World, verb: str, moment: Callable[[ev.Event], bool]
) -> None:
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket()) as batch:
        world.disk.die_at(moment)
        world.disk.at(a(ev.PromptStored), lambda: batch.submit(verb, ["001"]))
        with pytest.raises(StoreError):
            await batch.pool.run()
    found = (await world.run(ticket()))["001"]
    assert (found.state, found.pending) == (WISHES[verb], None)
    assert len(world.agents.sessions) == 1


async def test_a_resume_that_was_stored_before_a_death_is_carried_out(world: World) -> None:
    await _rest(world, "interrupt")
    async with world.batch(ticket()) as batch:
        world.disk.die_at(to(State.QUEUED))
        with pytest.raises(StoreError):
            async with running(batch):
                batch.submit("resume", ["001"])
                await batch.pool.finished.wait()
    found = (await world.run(ticket()))["001"]
    assert (found.state, found.pending) == (State.DONE, None)


async def _rest(world: World, verb: str) -> None:
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        batch.submit(verb, ["001"])
        await world.until(lambda: batch.board["001"].state is WISHES[verb])


@pytest.mark.parametrize("verb", WISHES)
async def test_a_quit_does_not_undo_a_wish(world: World, verb: str) -> None:
    """Quit while the agent is still being interrupted for the wish."""
    world.agents.acts["001"].append(hang())

    async with world.batch(ticket()) as batch:
        world.agents.moments["interrupting"] = lambda _: batch.request_stop()
        world.disk.at(a(ev.PromptStored), lambda: batch.submit(verb, ["001"]))
        await batch.pool.run()
        assert (await stored(batch))["001"].state is WISHES[verb]
    assert (await world.run(ticket()))["001"].state is WISHES[verb]
    assert len(world.agents.sessions) == 1


async def test_a_dropped_prompt_is_sent_again_in_the_session_it_was_meant_for(world: World) -> None:
    session = await world.begin()
    world.agents.acts["001"].append(unbegun())
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: len(world.agents.prompts("001")) >= 2)
    await world.run(ticket())
    assert world.agents.prompts("001")[1] == world.agents.prompts("001")[2]
    assert {s.session_id for s in world.agents.sent} == {session}


def _lose_worktree(batch: Batch) -> None:
    shutil.rmtree(batch.engine.worktrees.path("001"))


async def test_setup_is_repeated_until_it_has_succeeded_in_the_new_worktree(world: World) -> None:
    setups, broken = world.root / "setups", world.root / "broken"
    more: dict[str, Any] = {"setup": ("sh", "-c", 'echo x >> "$0"; ! test -e "$1"', str(setups), str(broken))}
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket(**more)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
    _lose_worktree(batch)
    broken.touch()
    found = (await world.run(ticket(**more)))["001"]
    assert found.state is State.FAILED
    assert found.detail.startswith("setup: exit 1")
    broken.unlink()
    async with world.batch(ticket(**more)) as batch, running(batch):
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
    assert setups.read_text() == "x\n" * 3
    assert len(world.agents.sessions) == 2
