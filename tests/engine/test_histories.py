"""What is read back and what is heard live are one conversation: each entry once, in order, over all sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervisor.app.histories import Histories
from supervisor.core.errors import SupervisorError
from supervisor.core.model import EntryKind, PromptKind, State
from supervisor.core.verbs import FORK, START_OVER
from supervisor.engine.agent import Failure
from supervisor.engine.reader import Reader
from tests.engine.acts import hang
from tests.engine.world import running, ticket

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from supervisor.core.board import Board
    from supervisor.core.model import TicketSnapshot
    from supervisor.engine.batch import Batch
    from tests.engine.world import World

pytestmark = pytest.mark.anyio
TELL = {"prompt": "Try it without the cache."}


class Screen:
    """Looks at tickets as a screen does, and waits for what it reads."""

    def __init__(self, batch: Batch, world: World) -> None:
        self.board: Board = batch.board
        self._reader = Reader(batch.engine)
        self._histories = Histories(self, world.now)  # type: ignore[arg-type]
        self._asked: list[tuple[Callable[[Any], Awaitable[Any]], Callable[[Any], None]]] = []

    def look(self, work: Callable[[Any], Awaitable[Any]], answered: Callable[[Any], None]) -> None:
        """Note what is looked up."""
        self._asked.append((work, answered))

    async def shows(self, ident: str = "001") -> list[str]:
        """Look at a ticket and return what there is to read of it; of prompts only why they were sent."""
        self._histories.want(self.board[ident])
        asked, self._asked = self._asked, []
        for work, answered in asked:
            answered(await work(self._reader))
        entries = self.board.transcript(ident).since()
        assert [entry.seq for entry in entries] == list(range(entries[0].seq, entries[-1].seq + 1))
        return [str(e.prompt) if e.kind is EntryKind.PROMPT else e.text for e in entries]


def is_in(batch: Batch, state: State, attempts: int, ident: str = "001") -> Callable[[], bool]:
    def so() -> bool:
        now: TicketSnapshot = batch.board[ident]
        return (now.state, now.attempts) == (state, attempts)

    return so


TURN = ["All done.", "success · completed · 1 turn · $0.10"]
FIRST = ["task", *TURN, "verify, round 1: passed"]


def over(shown: list[str]) -> list[str]:
    """Leave out the commit, whose name differs from run to run."""
    return ["started over" if text.startswith("started over") else text for text in shown]


async def test_a_start_over_after_a_restart_repeats_nothing(world: World) -> None:
    spec = ticket(verify=("true",))
    async with world.batch(spec) as batch, running(batch):
        await world.until(is_in(batch, State.DONE, 1))
    async with world.batch(spec) as batch, running(batch):
        screen = Screen(batch, world)
        assert await screen.shows() == FIRST
        await batch.pool.mailroom.request(START_OVER, "001", {})
        assert over(await screen.shows()) == [*FIRST, "started over"], "before the new session is begun"
        await world.until(is_in(batch, State.DONE, 2))
        told = await screen.shows()
        assert over(told) == [*FIRST, "started over", *FIRST]
    async with world.batch(spec) as batch, running(batch):
        assert await Screen(batch, world).shows() == told, "all of it comes from files and the store now"


async def test_what_is_looked_at_late_is_whole_all_the_same(world: World) -> None:
    spec = ticket(verify=("true",))
    async with world.batch(spec) as batch, running(batch):
        await world.until(is_in(batch, State.DONE, 1))
    async with world.batch(spec) as batch, running(batch):
        await batch.pool.mailroom.request(START_OVER, "001", {})
        await world.until(is_in(batch, State.DONE, 2))
        screen = Screen(batch, world)
        assert over(await screen.shows()) == [*FIRST, "started over", *FIRST]
        batch.submit("message", ["001"], {"text": "Once more."})
        await world.until(is_in(batch, State.DONE, 3))
        assert over(await screen.shows()) == [*FIRST, "started over", *FIRST, "message", *TURN, FIRST[-1]]


async def test_a_conversation_that_cannot_be_resumed_stands_before_the_one_that_took_over(world: World) -> None:
    await world.begin()
    world.agents.starts["001"].append(Failure("No conversation found", exit_code=1, subtype="error_during_execution"))
    async with world.batch(ticket()) as batch, running(batch):
        screen = Screen(batch, world)
        begun = await screen.shows()
        assert begun[:2] == ["task", "I look at it."]
        await world.until(is_in(batch, State.DONE, 3))
        told = await screen.shows()
        assert told[: len(begun)] == begun
        assert told.count("I look at it.") == 1
        assert told[-3:] == ["task", *TURN]
    async with world.batch(ticket()) as batch, running(batch):
        assert await Screen(batch, world).shows() == told


async def test_a_fork_shows_its_parents_conversation_once_also_after_it_was_started_over(world: World) -> None:
    parents = ["task", *TURN[:1]]
    own = ["task", *TURN]
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(is_in(batch, State.DONE, 1))
        await batch.pool.mailroom.request(FORK, "001", TELL)
        await world.until(is_in(batch, State.DONE, 1, "001.2"))
        assert await Screen(batch, world).shows("001.2") == [*parents, *own]
    async with world.batch(ticket()) as batch, running(batch):
        screen = Screen(batch, world)
        assert await screen.shows("001.2") == [*parents, *own]
        await batch.pool.mailroom.request(START_OVER, "001.2", {})
        await world.until(is_in(batch, State.DONE, 2, "001.2"))
        assert over(await screen.shows("001.2")) == [*parents, *own, "started over", *own]
    async with world.batch(ticket()) as batch, running(batch):
        assert over(await Screen(batch, world).shows("001.2")) == [*parents, *own, "started over", *own]


async def test_a_ticket_that_has_not_begun_is_not_looked_up(world: World) -> None:
    async with world.batch(ticket()) as batch:
        screen = Screen(batch, world)
        screen._histories.want(None)
        screen._histories.want(batch.board["001"])
        assert screen._asked == []


async def test_what_cannot_be_read_is_left_out(world: World) -> None:
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        screen = Screen(batch, world)
        before = batch.board.transcript("001").since()
        screen._histories.want(batch.board["001"])
        ((_, answered),) = screen._asked
        answered(SupervisorError("the store is locked"))
        assert batch.board.transcript("001").since() == before
        assert before[0].prompt is PromptKind.TASK
