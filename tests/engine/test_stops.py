"""A wish of the operator, or the end of the supervisor, at every moment of an attempt: nothing is raised, the ticket
ends where it was wished to, no attempt stays open, and the next start goes on from there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.model import State
from supervisor.engine import turns
from tests.engine.acts import hang
from tests.engine.world import Pipe, World, a, attempts, check_books, running, stored, ticket, to

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.engine.batch import Batch
    from tests.engine.fake_session import FakeSession

pytestmark = pytest.mark.anyio
PASSES = ("true",)
NEVER_ENDS = ("sleep", "600")
ENDS = {"rest": State.QUEUED, "interrupt": State.PAUSED, "cancel": State.CANCELLED}
Wish = Callable[[], None]

WRITES: dict[str, Callable[[ev.Event], bool]] = {
    "starting": to(State.STARTING),
    "worktree": a(ev.WorktreeReady),
    "attempt": a(ev.AttemptStarted),
    "connected": a(ev.AttemptConnected),
    "running": to(State.RUNNING),
    "prompt": a(ev.PromptStored),
    "turn": a(ev.TurnEnded),
    "verifying": to(State.RUNNING, detail="verifying"),
    "verified": a(ev.Verified),
    "ended": a(ev.AttemptEnded),
    "done": to(State.DONE),
}
FINISHED = ["turn", "ended", "done"]
"""Too late for a ticket without a check: its work is done."""
UNFINISHED = [name for name in WRITES if name not in (*FINISHED, "verifying", "verified")]


def _wish(batch: Batch, how: str) -> None:
    if how == "rest":
        batch.request_stop()
    else:
        batch.submit(how, ["001"])


async def _play(world: World, how: str, arrange: Callable[[Wish], object], **more: Any) -> State:
    """Run a ticket, with the wish given where ``arrange`` puts it; return where it then rests."""
    async with world.batch(ticket(**more)) as batch:
        arrange(lambda: _wish(batch, how))
        await batch.pool.run()
        return await _at_rest(batch)


async def _at_rest(batch: Batch) -> State:
    await check_books(batch)
    snapshot = (await stored(batch))["001"]
    assert snapshot.pending is None
    assert not snapshot.live
    return snapshot.state


async def _goes_on(world: World, how: str, **more: Any) -> None:
    """The next start leaves alone what the operator stopped; a ticket that is taken up again gets done."""
    world.agents.acts.clear()
    before = len(world.agents.sessions)
    async with world.batch(ticket(**more)) as batch:
        await batch.pool.run()
        if how != "rest":
            assert await _at_rest(batch) is ENDS[how]
            assert len(world.agents.sessions) == before, "a restart alone starts nothing"
            async with running(batch):
                batch.submit("resume", ["001"])
                await world.until(lambda: batch.board["001"].state is State.DONE)
        assert await _at_rest(batch) is State.DONE


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("moment", UNFINISHED)
async def test_while_something_is_written(world: World, moment: str, how: str) -> None:
    world.agents.acts["001"].append(hang())
    assert await _play(world, how, lambda wish: world.disk.at(WRITES[moment], wish)) is ENDS[how]
    await _goes_on(world, how)


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("moment", FINISHED)
async def test_work_that_is_done_stays_done(world: World, moment: str, how: str) -> None:
    assert await _play(world, how, lambda wish: world.disk.at(WRITES[moment], wish)) is State.DONE
    assert (await world.run(ticket()))["001"].state is State.DONE
    assert len(world.agents.sessions) == 1


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("moment", ["turn", "verifying", "ended"])
async def test_work_that_is_not_verified_is_not_done(world: World, moment: str, how: str) -> None:
    """``ended`` is met by the attempt of a turn that was stopped before its check."""

    def arrange(wish: Wish) -> None:
        world.disk.at(WRITES["turn"] if moment == "ended" else WRITES[moment], wish)
        if moment == "ended":
            world.disk.at(WRITES["ended"], wish)

    check = NEVER_ENDS if moment == "verifying" else PASSES  # one that passes may do so before the wish has come
    assert await _play(world, how, arrange, verify=check) is ENDS[how]
    await _goes_on(world, how, verify=PASSES)


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("moment", ["verified", "done"])
async def test_work_that_is_verified_is_done(world: World, moment: str, how: str) -> None:
    assert await _play(world, how, lambda wish: world.disk.at(WRITES[moment], wish), verify=PASSES) is State.DONE


async def _stuck(_: FakeSession) -> None:
    await anyio.sleep_forever()


async def _heard(session: FakeSession) -> None:
    await session.interrupted.wait()


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize(
    ("moment", "then"),
    [("connecting", None), ("connecting", _stuck), ("sending", None), ("sending", _heard)],
    ids=["connecting", "stuck", "sending", "interrupted-before-sent"],
)
async def test_while_the_agent_is_spoken_to(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
    then: Callable[[FakeSession], Awaitable[None]] | None,
    how: str,
) -> None:
    if then is _heard:  # it does not return from sending before the interrupt, which waits for that
        monkeypatch.setattr(turns, "RESULT_GRACE_S", 0.2)

    def arrange(wish: Wish) -> None:
        def act(session: FakeSession) -> Awaitable[None] | None:
            wish()
            return then(session) if then is not None else None

        world.agents.moments[moment] = act

    world.agents.acts["001"].append(hang())
    assert await _play(world, how, arrange) is ENDS[how]
    await _goes_on(world, how)


@pytest.mark.parametrize("how", ENDS)
async def test_in_the_middle_of_a_turn(world: World, how: str) -> None:
    def arrange(wish: Wish) -> None:
        async def act(session: FakeSession, uuid: str) -> None:
            wish()
            await hang()(session, uuid)

        world.agents.acts["001"].append(act)

    assert await _play(world, how, arrange) is ENDS[how]
    await _goes_on(world, how)


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("moment", ["closing", "closed"])
async def test_while_the_agent_is_closed(world: World, moment: str, how: str) -> None:
    def arrange(wish: Wish) -> None:
        world.agents.moments[moment] = lambda _: wish()

    assert await _play(world, how, arrange) is State.DONE


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("command", ["setup", "verify"])
async def test_while_a_command_runs(world: World, tmp_path: Path, command: str, how: str) -> None:
    pipe = Pipe(tmp_path / "pipe")
    more: dict[str, Any] = {command: pipe.command}
    async with world.batch(ticket(**more)) as batch, anyio.create_task_group() as group:
        group.start_soon(batch.pool.run)
        await pipe.pid()
        _wish(batch, how)
        await pipe.end()
        await batch.pool.finished.wait()
        assert await _at_rest(batch) is ENDS[how]
        assert len(await attempts(batch)) == (command == "verify")
    await _goes_on(world, how, **{command: PASSES})
