"""Real agents' files are taken back, by git's snapshots and by the session's own checkpoints, without paying for it."""

from __future__ import annotations

import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.model import Mode, State
from supervisor.core.verbs import RESUME, REWIND, START_OVER
from supervisor.engine import checkpoints, rewinding
from tests.e2e.stage import Stage, agents, bash, say, ticket, until, until_state, use

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from supervisor.core.changes import Changes
    from supervisor.engine.batch import Batch

pytestmark = [pytest.mark.anyio, pytest.mark.cli]
BEFORE = {"hello.txt": "hello\n"}
EDITED = {"hello.txt": "HELLO\nand more\n", "new.txt": "new\n", "sub/deep.txt": "deep\n"}
BY_BASH = {"made.txt": "made\n"}


def place(stage: Stage) -> Path:
    return stage.state_dir / "worktrees" / "001"


def files(stage: Stage) -> dict[str, str]:
    """The worktree's files."""
    root = place(stage)
    return {str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file() and p.name != ".git"}


def _script(stage: Stage) -> list[dict[str, Any]]:
    root = place(stage)
    return [
        say("I know what to do."),
        use("Read", "I read it.", file_path=str(root / "hello.txt")),
        use("Edit", file_path=str(root / "hello.txt"), old_string="hello\n", new_string="HELLO\nand more\n"),
        use("Write", file_path=str(root / "new.txt"), content="new\n"),
        use("Write", file_path=str(root / "sub" / "deep.txt"), content="deep\n"),
        bash("echo made > made.txt"),
        say("Changed."),
        say("I see."),
        say("Fine."),
    ]


@asynccontextmanager
async def worked(stage: Stage) -> AsyncIterator[Batch]:
    """A ticket whose second prompt has changed four files, three of them by edits."""
    async with stage.batch(stage.spec(ticket()), {"001": _script(stage)}) as batch, anyio.create_task_group() as group:
        group.start_soon(lambda: batch.pool.run(stay=True))
        await until_state(batch, "001", State.DONE)
        batch.submit("message", ["001"], {"text": "Go on."})
        await settle(batch, 2)
        assert files(stage) == EDITED | BY_BASH
        yield batch
        batch.request_stop()


async def settle(batch: Batch, answered: int) -> None:
    """Wait until so many prompts are answered and the ticket is done."""
    with anyio.fail_after(45):
        while True:
            await until_state(batch, "001", State.DONE)
            prompts = await batch.engine.journal.store.prompts("001")
            if [p.answered for p in prompts] == [True] * answered and batch.board["001"].state is State.DONE:
                return
            await anyio.sleep(0.01)


async def rewind(batch: Batch, **told: str) -> tuple[bool, str]:
    """Take files back as another shell would, once nobody runs the ticket any more."""
    return await batch.pool.mailroom.request(REWIND, "001", told)


async def told_next(batch: Batch, answered: int) -> str:
    """Resume the ticket and return what its agent was told."""
    assert (await batch.pool.mailroom.request(RESUME, "001", {}))[0]
    await settle(batch, answered)
    return (await batch.engine.journal.store.prompts("001"))[-1].text


def kinds(changes: Changes) -> dict[str, str]:
    """What would happen to which file."""
    return {f.path: f.kind.value for f in changes.files}


async def test_a_snapshot_takes_all_back_and_an_undo_brings_it_forth(stage: Stage) -> None:
    async with worked(stage) as batch:
        paid, spent = len(stage.served("001")), batch.board["001"].spent_usd
        (place(stage) / "hello.txt").write_text("by hand\n")
        found = await rewinding.preview(batch.engine, "001", "2")
        assert kinds(found.changes) == {
            "hello.txt": "modified", "made.txt": "deleted", "new.txt": "deleted", "sub/deep.txt": "deleted",
        }  # fmt: skip
        assert [(f.path, f.insertions, f.deletions) for f in found.outside] == [("hello.txt", 1, 2)]
        assert files(stage)["made.txt"] == "made\n", "a dry run changes nothing"
        assert (await rewind(batch, to="2"))[0]
        assert files(stage) == BEFORE
        assert (await rewind(batch, source="undo"))[0]
        assert files(stage) == EDITED | BY_BASH | {"hello.txt": "by hand\n"}
        assert (await rewind(batch, to="2"))[0]
        assert (len(stage.served("001")), batch.board["001"].spent_usd) == (paid, spent)
        told = await told_next(batch, 3)
        assert "The operator took the files back to how they were before prompt 2" in told
        assert "- made.txt" in told
        assert len(stage.served("001")) == paid + 1
        assert [r.mode for r in await batch.engine.journal.store.attempts("001")] == [Mode.FRESH, *[Mode.RESUME] * 2]


async def test_a_checkpoint_takes_edits_back_and_says_what_bash_did(stage: Stage) -> None:
    async with worked(stage) as batch:
        paid, spent = len(stage.served("001")), batch.board["001"].spent_usd
        found = await rewinding.preview(batch.engine, "001", "2", "checkpoint")
        assert kinds(found.changes) == {"hello.txt": "modified", "new.txt": "deleted", "sub/deep.txt": "deleted"}
        assert [one.path for one in found.not_restored] == ["made.txt"]
        assert found.not_kept == ()
        assert files(stage) == EDITED | BY_BASH
        assert agents() == []
        done, says = await rewind(batch, to="2", source="checkpoint")
        assert done
        assert "made.txt: not changed by the agent's edit tools" in says
        assert files(stage) == BEFORE | BY_BASH
        assert agents() == []
        assert (await rewind(batch, source="undo"))[0]
        assert files(stage) == EDITED | BY_BASH
        assert (await rewind(batch, source="undo"))[0]
        assert (len(stage.served("001")), batch.board["001"].spent_usd) == (paid, spent)
        assert len(await batch.engine.journal.store.attempts("001")) == 2, "asking a process is no attempt"
        told = await told_next(batch, 3)
        assert "as far as edits go, not what commands did" in told
        assert len(stage.served("001")) == paid + 1
        assert batch.board["001"].spent_usd > spent


async def test_a_ticket_that_is_started_over_begins_anew(stage: Stage) -> None:
    async with worked(stage) as batch:
        old = batch.board["001"].session_id
        assert (await batch.pool.mailroom.request(START_OVER, "001", {}))[0]
        await settle(batch, 3)
        assert files(stage).keys() >= BEFORE.keys()
        assert batch.board["001"].session_id != old
        prompts = await batch.engine.journal.store.prompts("001")
        assert [p.text for p in prompts] == ["Do 001.", "Go on.", "Do 001."]
        (event,) = [e for e in await batch.engine.journal.store.events("001") if isinstance(e, ev.StartedOver)]
        assert await batch.engine.snapshots.exists(event.snapshot)


async def test_the_process_says_what_the_code_reads(stage: Stage) -> None:
    """The CLI has no codes for its refusals, and tells no files when it does it; links it leaves alone."""
    async with worked(stage) as batch:
        second = (await batch.engine.journal.store.prompts("001"))[1].uuid
        elsewhere = stage.root / "elsewhere.txt"
        elsewhere.write_text("not ours\n")
        (place(stage) / "new.txt").unlink()
        (place(stage) / "new.txt").symlink_to(elsewhere)
        async with batch.engine.custody.of("001"), checkpoints.connected(batch.engine, "001") as session:
            for dry_run in (True, False):
                unknown = await session.rewind_files(str(uuid.uuid4()), dry_run=dry_run)
                assert "No file checkpoint found" in unknown.error
            dry = await session.rewind_files(second, dry_run=True)
            assert sorted(checkpoints.inside(place(stage), dry.files)) == sorted(EDITED)
            real = await session.rewind_files(second, dry_run=False)
            again = await session.rewind_files(second, dry_run=True)
        assert (real.files, real.error) == ((), "")
        assert real.skipped_links == 1
        assert list(checkpoints.inside(place(stage), again.files)) == ["new.txt"]
        assert elsewhere.read_text() == "not ours\n"
        assert not (place(stage) / "sub" / "deep.txt").exists()
        await until(lambda: agents() == [])
