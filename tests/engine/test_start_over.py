"""A ticket is started over: files, branch and conversation begin anew; effects, commits and what was there stay."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.effects import EffectRequest, EffectState
from supervisor.core.errors import StoreError
from supervisor.core.model import Mode, State
from supervisor.core.rewinds import Source
from supervisor.core.verbs import REWIND, START_OVER
from supervisor.engine import rewinding
from supervisor.engine.planning import Planner
from tests.engine.place import sh
from tests.engine.world import World, a, attempts, check_books, running, ticket

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from supervisor.engine.batch import Batch
    from tests.engine.fake_session import Act, FakeSession

pytestmark = pytest.mark.anyio
BRANCH = "supervise/stage/001"


def commit(*then: str) -> Act:
    """Commit a change, leave another one uncommitted, and run git once more."""

    async def act(session: FakeSession, uuid: str) -> None:
        root = session.start.cwd
        session.begin(uuid)
        (root / "hello.txt").write_text("committed\n")
        (root / ".gitignore").write_text("build/\n")
        sh(root, "add", ".")
        sh(root, "commit", "-q", "-m", "work of the agent's")
        (root / "hello.txt").write_text("not committed\n")
        (root / "new.txt").write_text("new\n")
        (root / "build").mkdir()
        (root / "build" / "out.txt").write_text("ignored\n")
        if then:
            sh(root, *then)
        session.speak("Committed.")
        session.result(uuid, "success", "completed")

    return act


def place(batch: Batch) -> Path:
    return batch.engine.worktrees.path("001")


async def settle(world: World, batch: Batch, prompts: int) -> None:
    """Wait until the agent has answered so many prompts and nobody runs the ticket."""
    await world.until(lambda: len(world.agents.prompts("001")) == prompts and batch.board["001"].state is State.DONE)
    await anyio.wait_all_tasks_blocked()


@asynccontextmanager
async def committed(world: World, *then: str, **more: Any) -> AsyncIterator[Batch]:
    """A batch whose ticket is done and has committed something."""
    world.agents.acts["001"].append(commit(*then))
    async with world.batch(ticket(**more)) as batch, running(batch):
        await settle(world, batch, 1)
        yield batch


async def start_over(batch: Batch) -> tuple[bool, str]:
    return await batch.pool.mailroom.request(START_OVER, "001", {})


async def over(batch: Batch) -> ev.StartedOver:
    """The start over on disk."""
    (event,) = [e for e in await batch.engine.journal.store.events("001") if isinstance(e, ev.StartedOver)]
    return event


async def test_it_begins_anew_and_keeps_what_was_there(world: World) -> None:
    count = world.root / "setups"
    async with committed(world, setup=("sh", "-c", 'echo x >> "$0"', str(count))) as batch:
        base, tip = sh(world.repo, "rev-parse", "main"), sh(world.repo, "rev-parse", BRANCH)
        found = await rewinding.preview(batch.engine, "001", "", Source.BASE)
        assert {f.path: f.kind.value for f in found.changes.files} == {
            ".gitignore": "deleted",
            "hello.txt": "modified",
            "new.txt": "deleted",
        }
        done, says = await start_over(batch)
        await settle(world, batch, 2)
        event = await over(batch)
        assert done
        assert event.snapshot[:12] in says
        assert sh(world.repo, "rev-parse", BRANCH) == base
        assert sh(place(batch), "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
        assert sh(place(batch), "status", "--porcelain", "--ignored") == "?? build/"
        assert (place(batch) / "hello.txt").read_text() == "hello\n"
        assert (place(batch) / "build" / "out.txt").exists(), "what git ignores stays"
        assert sh(world.repo, "show", f"{event.snapshot}:hello.txt") == "not committed"
        assert sh(world.repo, "rev-parse", f"{event.snapshot}^") == tip, "so the branch's commits are not lost"
        assert [s.text for s in world.agents.prompts("001")] == ["Do 001.", "Do 001."]
        assert len({s.session_id for s in world.agents.prompts("001")}) == 2
        assert [r.mode for r in await attempts(batch)] == [Mode.FRESH, Mode.FRESH]
        assert [p.in_session for p in await rewinding.checkpoints(batch.engine, "001")] == [True, False]
        await check_books(batch)
    assert count.read_text() == "x\nx\n", "it is set up again"


async def test_it_can_be_undone_as_far_as_files_go(world: World) -> None:
    async with committed(world) as batch:
        await start_over(batch)
        await settle(world, batch, 2)
        done, says = await batch.pool.mailroom.request(REWIND, "001", {"source": "undo"})
        assert done
        assert "before the ticket was started over" in says
        assert (place(batch) / "hello.txt").read_text() == "not committed\n"
        assert (place(batch) / "new.txt").read_text() == "new\n"
        done, says = await batch.pool.mailroom.request(REWIND, "001", {"to": "1", "source": "checkpoint"})
        assert not done
        assert "earlier conversation" in says


@pytest.mark.parametrize(
    "then",
    [
        ("switch", "-q", "--detach"),
        ("switch", "-q", "-c", "elsewhere"),
        ("checkout", "-q", "--force", "--detach", "main"),
    ],
)
async def test_a_worktree_that_left_its_branch_comes_back_to_it(world: World, then: tuple[str, ...]) -> None:
    async with committed(world, *then) as batch:
        tip = sh(world.repo, "rev-parse", BRANCH)
        assert (await start_over(batch))[0]
        await settle(world, batch, 2)
        assert sh(place(batch), "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
        assert sh(world.repo, "rev-parse", BRANCH) == sh(world.repo, "rev-parse", "main")
        assert "refs/supervisor" in sh(world.repo, "for-each-ref", "--contains", tip), "its commits are not lost"


async def test_a_branch_that_somebody_else_is_on_is_not_moved(world: World) -> None:
    async with committed(world, "switch", "-q", "--detach") as batch:
        other = world.root / "other"
        sh(world.repo, "worktree", "add", "-q", str(other), BRANCH)
        tip = sh(world.repo, "rev-parse", BRANCH)
        done, says = await start_over(batch)
        assert not done
        assert str(other) in says
        assert sh(world.repo, "rev-parse", BRANCH) == tip
        assert (place(batch) / "hello.txt").read_text() == "not committed\n", "the files are put back"
        assert batch.board["001"].state is State.DONE


async def test_a_rebase_that_was_left_in_the_middle_is_given_up(world: World) -> None:
    async def act(session: FakeSession, uuid: str) -> None:
        root = session.start.cwd
        session.begin(uuid)
        sh(root, "switch", "-q", "-c", "side")
        for branch, text in (("side", "one\n"), (BRANCH, "two\n")):
            sh(root, "switch", "-q", branch)
            (root / "hello.txt").write_text(text)
            sh(root, "commit", "-q", "-a", "-m", branch)
        with pytest.raises(Exception, match="rebase"):
            sh(root, "rebase", "-q", "side")
        session.speak("Stuck.")
        session.result(uuid, "success", "completed")

    world.agents.acts["001"].append(act)
    async with world.batch(ticket()) as batch, running(batch):
        await settle(world, batch, 1)
        assert "rebase in progress" in sh(place(batch), "status")
        assert (await start_over(batch))[0]
        await settle(world, batch, 2)
        assert "rebas" not in sh(place(batch), "status")
        assert sh(place(batch), "status", "--porcelain") == ""
        assert sh(world.repo, "rev-parse", BRANCH) == sh(world.repo, "rev-parse", "main")


async def test_it_forgives_a_fallback(world: World) -> None:
    async with committed(world) as batch:
        planner = Planner(ticket(), batch.engine)
        await batch.engine.journal.emit(ev.AttemptStarted("001", world.now(), 1, Mode.FALLBACK, "s"))
        assert not await planner.may_fall_back()
        assert (await start_over(batch))[0]
        assert await planner.may_fall_back()


async def test_copied_files_are_there_again(world: World) -> None:
    (world.repo / "local.env").write_text("KEY=1\n")
    async with committed(world, copy=("local.env",)) as batch:
        (place(batch) / "local.env").write_text("KEY=changed\n")
        await start_over(batch)
        await settle(world, batch, 2)
        assert (place(batch) / "local.env").read_text() == "KEY=1\n"


async def test_the_new_conversation_is_told_of_effects_and_of_nothing_else(world: World) -> None:
    async with committed(world) as batch:
        desk = batch.engine.desk
        claim = await desk.claim(EffectRequest("001", "post", effect="post", ticket="001", payload={"a": 1}))
        done, says = await start_over(batch)
        assert not done
        assert "under way" in says
        assert (place(batch) / "new.txt").exists()
        await desk.settle(claim.record, EffectState.DONE, outcome="comment 9001")
        found = await rewinding.preview(batch.engine, "001", "", Source.BASE)
        assert [r.key for r in found.stays_done] == ["001:post"]
        assert (await start_over(batch))[0]
        await settle(world, batch, 2)
        told = world.agents.prompts("001")[-1].text
        assert desk.under_way("001") == ()
    assert told.startswith("Do 001.\n\n---\nThe operator started this ticket over")
    assert "post: comment 9001" in told
    assert "Earlier attempts" not in told


async def test_a_death_before_it_is_written_down_only_repeats_it(world: World) -> None:
    world.disk.die_at(a(ev.StartedOver))
    with pytest.raises(StoreError):
        async with committed(world) as batch:
            await start_over(batch)
    async with world.batch(ticket()) as batch, running(batch):
        await settle(world, batch, 2)
        event = await over(batch)
        assert sh(world.repo, "show", f"{event.snapshot}:hello.txt") == "not committed"
        assert sh(world.repo, "log", "-1", "--format=%s", f"{event.snapshot}^") == "work of the agent's"
        assert await batch.engine.journal.store.open_letters() == ()
        assert sh(world.repo, "rev-parse", BRANCH) == sh(world.repo, "rev-parse", "main")


async def test_an_attempt_that_dies_right_after_is_begun_with_the_same_words(world: World) -> None:
    world.disk.die_at(a(ev.PromptStored, number=2))
    with pytest.raises(StoreError):
        async with committed(world) as batch:
            await start_over(batch)
            await world.until(lambda: world.disk.dead)
            await anyio.sleep_forever()
    async with world.batch(ticket()) as batch:
        await batch.pool.run()
        assert batch.board["001"].state is State.DONE
    first, second = world.agents.prompts("001")
    assert first.text == second.text == "Do 001."
    assert first.uuid != second.uuid
    assert first.session_id != second.session_id
