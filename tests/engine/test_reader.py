"""What a ticket's screen looks up: what the ticket is, its logs, its changes, and its past as a timeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.app.app import SuperviseApp
from supervisor.core.model import Outcome, State
from supervisor.core.timeline import Timeline
from supervisor.engine.reader import Reader
from tests.engine.acts import hang
from tests.engine.test_rewinding import AFTER, place, worked
from tests.engine.world import running, ticket
from widgets.attempt_facts import why_ended
from widgets.diff_text import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.engine.batch import Batch
    from tests.engine.world import World

pytestmark = pytest.mark.anyio


async def test_a_ticket_is_what_the_file_says(world: World) -> None:
    spec = ticket(prompt="Do it well.", budget_usd=2.0)
    async with world.batch(spec) as batch:
        reader = Reader(batch.engine)
        assert await reader.spec("001") == spec
        assert await reader.spec("no such ticket") is None


async def test_logs_are_the_commands_own_and_the_sessions(world: World) -> None:
    async with worked(world, verify=("sh", "-c", "echo checked")) as batch:
        logs = [Path(path) for path in await Reader(batch.engine).logs("001")]
        assert [path.name for path in logs if path.suffix == ".log"] == ["verify.log"]
        assert "checked" in logs[0].read_text()


async def test_an_attempt_whose_check_failed_says_so(world: World) -> None:
    spec = ticket(verify=("sh", "-c", "exit 3"), verify_rounds=1)
    async with world.batch(spec) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.NEEDS_YOU)
        (attempt,) = await Reader(batch.engine).attempts("001")
        assert attempt.outcome is Outcome.DONE
        assert why_ended(attempt)[0] == "done: check failed, 2 rounds, the last with exit code 3"


async def test_a_ticket_that_has_not_begun_has_no_logs(world: World) -> None:
    async with world.batch(ticket()) as batch:
        assert await Reader(batch.engine).logs("001") == ()


async def test_every_diff_can_be_read_as_lines(world: World) -> None:
    async with worked(world) as batch:
        reader = Reader(batch.engine)
        found = {change.path: change for change in (await reader.changes("001")).files}
        assert found.keys() == AFTER.keys()
        for path, change in found.items():
            diff = parse(await reader.diff("001", path))
            assert sum(line.sign == "+" for line in diff.lines) == change.insertions
            assert sum(line.sign == "-" for line in diff.lines) == change.deletions
        diff = parse(await reader.diff("001", "hello.txt"))
        assert [(line.sign, line.text, line.old, line.new) for line in diff.lines] == [
            ("-", "hello", 1, 0),
            ("+", "HELLO", 0, 1),
        ]


async def test_what_is_stored_makes_the_timeline(world: World) -> None:
    async with worked(world) as batch:
        made = Timeline.of(await Reader(batch.engine).events())
        lane = made.lanes["001"]
        assert State.RUNNING in [span.state for span in lane.spans]
        assert all(span.end is not None for span in lane.spans)
        assert [state for _, state in lane.endings] == [State.DONE, State.DONE]
        assert made.total == pytest.approx(batch.board["001"].spent_usd)


async def test_a_tickets_screen_and_the_timeline_over_a_real_batch(world: World) -> None:
    async with worked(world) as batch:
        app = SuperviseApp(batch)
        async with app.run_test(size=(120, 30)) as pilot:

            async def shows(key: str, *words: str) -> None:
                await pilot.press(key)
                with anyio.fail_after(45):
                    while not all(part in screen(app) for part in words):
                        await pilot.pause(0.02)

            await shows("enter", "001", "try 2 (resume)", "Changed.")
            await shows("2", "▸Attempts 2", "fresh", "resume", "done")
            await shows("4", "▸Changes 4", "A bash.txt", "M hello.txt", "1 + bash")
            await shows("j", "1 - hello", "1 + HELLO")
            await shows("t", 'since prompt 2, "Go on."', "4 files")
            await shows("5", "▸Checkpoints 2", "Go on.", "4 files  +4 −1")
            await shows("6", "Do 001.", str(place(batch)), "supervise/")
            await shows("escape", "WHY / NOW")
            await shows("T", "TIMELINE", "now╷", "001", "✓")
            await shows("escape", "WHY / NOW")


async def test_a_message_is_on_the_tickets_screen_until_the_agent_has_it_also_after_a_restart(world: World) -> None:
    mark = "◌ you, not given yet · Mind the footer."
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        batch.submit("message", ["001"], {"text": "Mind the footer."})
        await on_screen(batch, lambda shown: mark in shown)
        batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["001"].state is State.PAUSED)
        (letter,) = await Reader(batch.engine).messages("001")
        assert letter.args["text"] == "Mind the footer."
    async with world.batch(ticket()) as batch, running(batch):
        await on_screen(batch, lambda shown: mark in shown and "paused" in shown)
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
        told = (
            "» you · Mind the footer. ",
            "  · added by the supervisor: The previous turn was cut off: it was interrupte…",
        )
        await on_screen(batch, lambda shown: mark not in shown and all(words in shown for words in told))
        await on_screen(batch, lambda shown: shown.count("› I look at it.") == 1)
        assert await Reader(batch.engine).messages("001") == ()


async def on_screen(batch: Batch, is_so: Callable[[str], bool]) -> None:
    """Wait until something is so on the ticket's screen."""
    app = SuperviseApp(batch)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
        with anyio.fail_after(45):
            while not is_so(screen(app)):
                await pilot.pause(0.02)


def screen(app: SuperviseApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())
