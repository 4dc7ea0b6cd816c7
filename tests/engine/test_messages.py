"""What the operator writes reaches the agent once, in order, whenever we are killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.core import events as ev
from supervisor.core.model import Mode, PromptKind, State
from supervisor.core.verbs import BY_NAME
from supervisor.engine import pruning
from supervisor.store import reading
from tests.engine.acts import crash, finish, hang, limit, unbegun
from tests.engine.world import World, a, check_books, running, stored, ticket, to

if TYPE_CHECKING:
    from supervisor.engine.batch import Batch

pytestmark = pytest.mark.anyio


def said(world: World, ident: str = "001") -> list[str]:
    """The first lines of what was sent to a ticket's agents."""
    return [s.text.split("\n", 1)[0] for s in world.agents.prompts(ident)]


async def test_a_message_waits_for_the_turns_end_and_comes_before_the_check(world: World) -> None:
    world.agents.acts["001"].append(hang(then=world.agents.default))
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        batch.submit("message", ["001"], {"text": "Mind the footer."})
        batch.submit("message", ["001"], {"text": "And the header."})
        await world.until(lambda: batch.board["001"].messages == 2)
        assert said(world) == ["Do 001."]
        world.agents.of("001")[0].interrupted.set()
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert said(world) == ["Do 001.", "Mind the footer.", "And the header."]
        assert len(world.agents.of("001")) == 1
        assert await batch.engine.journal.store.open_letters() == ()
        prompts = await batch.engine.journal.store.prompts("001")
        assert [p.kind for p in prompts] == [PromptKind.TASK, PromptKind.MESSAGE, PromptKind.MESSAGE]


async def test_a_message_for_now_interrupts_the_turn(world: World) -> None:
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        batch.submit("message", ["001"], {"text": "Stop, other way round.", "now": True})
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert said(world) == ["Do 001.", "Stop, other way round."]
        assert len(world.agents.of("001")) == 1
        await check_books(batch)


async def test_a_message_for_now_lets_the_agent_begin_its_prompt_first(world: World) -> None:
    """An interrupt of a prompt that was not begun would drop it."""
    world.agents.acts["001"].append(unbegun())
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: world.agents.sent)
        batch.submit("message", ["001"], {"text": "Hello.", "now": True})
        await world.until(lambda: batch.board["001"].messages == 1)
        assert not world.agents.of("001")[0].interrupted.is_set()
        batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["001"].state is State.PAUSED)
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert said(world)[-2:] == ["Do 001.", "Hello."]


@pytest.mark.parametrize("state", [State.PAUSED, State.NEEDS_YOU, State.FAILED, State.DONE])
async def test_a_message_takes_a_resting_ticket_up_again(world: World, state: State) -> None:
    acts = {State.NEEDS_YOU: limit(), State.FAILED: crash()}
    world.agents.acts["001"].append(acts.get(state) or (hang() if state is State.PAUSED else world.agents.default))
    async with world.batch(ticket(max_attempts=1)) as batch, running(batch):
        if state is State.PAUSED:
            await world.until(lambda: batch.board["001"].detail == "I look at it.")
            batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["001"].state is state)
        batch.submit("message", ["001"], {"text": "Go on like this."})
        await world.until(lambda: len(world.agents.of("001")) == 2)
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert said(world)[-1] == "Go on like this."
        assert world.agents.of("001")[-1].start.resume
        assert batch.board["001"].messages == 0
        await stored(batch)


async def test_an_attempt_reads_no_more_of_a_long_history_than_of_a_short_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.agents.acts["001"] += [crash() if number % 3 == 2 else finish() for number in range(16)]
    monkeypatch.setattr(pruning, "EVERY", 1000)  # looks at all of it, but seldom
    read: list[str] = []
    whole = reading.event_from_row
    monkeypatch.setattr(reading, "event_from_row", lambda row: read.append(row["type"]) or whole(row))
    counts: list[int] = []
    async with world.batch(ticket(verify=("true",))) as batch, running(batch):
        for number in range(12):
            words = f"Once more: {number}."
            batch.submit("message", ["001"], {"text": words})
            await world.until(lambda words=words: words in said(world))  # type: ignore[misc]
            await world.until(lambda: batch.board["001"].state is State.DONE and not batch.board["001"].messages)
            counts.append(len(read))
            read.clear()
    assert 0 < max(counts[4:]) <= max(counts[:4]), counts


async def test_a_message_to_a_queued_ticket_follows_its_first_prompt(world: World) -> None:
    async with world.batch(ticket()) as batch:
        mailroom = batch.pool.mailroom
        async with running(batch):
            assert await mailroom.request(BY_NAME["message"], "001", {"text": "Also that."})
            await world.until(lambda: batch.board["001"].state is State.DONE)
        assert said(world) == ["Do 001.", "Also that."]


async def test_an_interrupted_ticket_keeps_its_messages_and_stays_paused(world: World) -> None:
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        batch.submit("message", ["001"], {"text": "Later."})
        await world.until(lambda: batch.board["001"].messages == 1)
        batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["001"].state is State.PAUSED)
    async with world.batch(ticket()) as batch, running(batch):
        assert (batch.board["001"].state, batch.board["001"].messages) == (State.PAUSED, 1)
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
    assert said(world) == ["Do 001.", "Later."]


async def test_a_message_that_comes_while_the_ending_is_written_is_not_left_behind(world: World) -> None:
    async with world.batch(ticket()) as batch:

        def write() -> None:
            batch.submit("message", ["001"], {"text": "One more thing."})

        world.disk.at(a(ev.AttemptEnded), write)
        async with running(batch):
            await world.until(lambda: batch.board["001"].state is State.DONE and not batch.board["001"].messages)
    assert said(world) == ["Do 001.", "One more thing."]


@pytest.mark.parametrize("moment", ["posted", "delivered", "answered"])
async def test_a_crash_delivers_a_message_exactly_once(world: World, moment: str) -> None:
    world.agents.acts["001"].append(hang(then=world.agents.default))
    moments = {
        "posted": lambda e: isinstance(e, ev.PromptStored) and e.kind is PromptKind.MESSAGE,
        "delivered": lambda e: isinstance(e, ev.TurnEnded) and said(world)[-1] == "Hear me.",
        "answered": to(State.DONE),
    }
    with pytest.raises(Exception, match="disk is full"):
        async with world.batch(ticket()) as batch, running(batch):
            await world.until(lambda: batch.board["001"].detail == "I look at it.")
            batch.submit("message", ["001"], {"text": "Hear me."})
            await world.until(lambda: batch.board["001"].messages == 1)
            world.disk.die_at(moments[moment])
            world.agents.of("001")[0].interrupted.set()
            await world.until(lambda: world.disk.dead)
    await world.run(ticket())
    async with world.batch(ticket()) as batch:
        assert batch.board["001"].state is State.DONE
        assert batch.board["001"].messages == 0
        assert await batch.engine.journal.store.open_letters() == ()
    heard = {s.uuid for s in world.agents.sent if s.text.startswith("Hear me.")}
    assert len(heard) == 1
    assert [s for s in world.agents.sessions if s.start.ticket == "001" and not s.start.resume][1:] == []
    assert Mode.FALLBACK not in await modes(batch)


async def modes(batch: Batch) -> set[Mode]:
    """The modes of all attempts."""
    return {batch.board["001"].mode or Mode.FRESH}
