"""The dialogs over a real batch with scripted agents: what they look up, what they give, and what comes of it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.app.app import SuperviseApp
from supervisor.core import events as ev
from supervisor.core.model import State
from tests.app.conftest import Clock, Stage, keep_notices
from tests.app.test_dialogs import dialog, typed
from tests.e2e.stage import make_repo
from tests.engine.acts import finish
from tests.engine.world import World, running, ticket

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from supervisor.engine.batch import Batch
    from tests.engine.fake_session import Act, FakeSession

pytestmark = pytest.mark.anyio


def writes(text: str) -> Act:
    """Write a file, and finish."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        (session.start.cwd / "new.txt").write_text(text)
        session.agent_started = True
        session.put(ev.AgentSpoke(session.start.ticket, session.clock(), "I look at it."))
        session.speak(f"It says {text}.", ends=True)
        session.result(uuid, "success", "completed")

    return act


@asynccontextmanager
async def opened(root: Path) -> AsyncIterator[tuple[Stage, Batch]]:
    """Show a batch whose one ticket has answered two prompts, the second of them by writing a file."""
    world = World(root, make_repo(root / "template"))
    world.agents.acts["001"].extend([finish(), writes("one")])
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("message", ["001"], {"text": "Write it."})
        await world.until(lambda: len(world.agents.prompts("001")) == 2 and batch.board["001"].state is State.DONE)
        await anyio.wait_all_tasks_blocked()
        app = SuperviseApp(batch, clock=Clock())
        keep_notices(app)
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await pilot.pause()
            yield Stage(app, batch, pilot, Clock()), batch  # type: ignore[arg-type]


async def until(stage: Stage, true: Callable[[], object]) -> None:
    """Wait for git and the engine as well as for the screen."""
    with anyio.fail_after(45):
        while not true():
            await stage.pilot.pause()


async def test_files_are_taken_back_and_brought_back_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as (stage, batch):
        file = batch.engine.worktrees.path("001") / "new.txt"
        await stage.pilot.press("z")
        await until(stage, lambda: "Would change 1 file, +0 −1" in dialog(stage))
        assert "new.txt goes away" in dialog(stage)
        await stage.pilot.press("enter")
        await until(stage, lambda: not file.exists() and batch.board["001"].pending is None)
        await until(stage, lambda: "u undo" in stage.text())
        await stage.pilot.press("u")
        await until(stage, lambda: file.exists() and batch.board["001"].pending is None)
        assert file.read_text() == "one"


async def test_a_fork_is_made_from_an_earlier_place_and_selected(tmp_path: Path) -> None:
    async with opened(tmp_path) as (stage, batch):
        await stage.pilot.press("f", *typed("Otherwise."))
        await until(stage, lambda: "It says one." in dialog(stage))
        await stage.pilot.press("shift+tab", "shift+tab", "end", "ctrl+s")
        await until(stage, lambda: "001.2" in batch.board and batch.board["001.2"].state is State.DONE)
        await until(stage, lambda: stage.screen.table.cursor_ticket == "001.2")
        prompts = await batch.engine.journal.store.prompts("001.2")
        assert prompts[0].text.startswith("Otherwise.")
        assert not (batch.engine.worktrees.path("001.2") / "new.txt").exists()


async def test_starting_over_begins_anew(tmp_path: Path) -> None:
    async with opened(tmp_path) as (stage, batch):
        session = batch.board["001"].session_id
        await stage.pilot.press("R")
        await until(stage, lambda: "1 file, +0 −1 (new.txt)" in dialog(stage))
        await stage.pilot.press("enter")
        await until(stage, lambda: batch.board["001"].session_id not in (None, session))
        await until(stage, lambda: batch.board["001"].state is State.DONE)


async def test_a_refusal_of_the_engines_reaches_the_operator(tmp_path: Path) -> None:
    async with opened(tmp_path) as (stage, batch):
        batch.engine.specs.pop("001")
        await stage.pilot.press("f", *typed("x"), "ctrl+s")
        await until(stage, lambda: "not done: fork: 001 is not in the file any more" in stage.text())
        assert any("001 is not in the file any more" in notice.message for notice in stage.app._notifications)
