"""Verbs that meet each other, a start, an ending or a death: each counts once, and none of them gets stuck."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.asks import AnswerKind, AskAnswer
from supervisor.core.errors import StoreError
from supervisor.core.model import Mode, State
from supervisor.core.verbs import BY_NAME
from supervisor.engine import mailroom, offline, requests
from supervisor.engine.agent import Failure, ToolRequest
from supervisor.engine.planning import Planner
from supervisor.engine.request_fields import find_name
from tests.engine.acts import asks, crash, finish, hang
from tests.engine.world import World, a, check_books, running, stored, ticket

if TYPE_CHECKING:
    from supervisor.core.letters import Letter
    from supervisor.engine.batch import Batch
    from supervisor.engine.context import Engine
    from tests.engine.fake_session import FakeSession

pytestmark = pytest.mark.anyio
GONE = Failure("No conversation found", exit_code=1, subtype="error_during_execution")


def said(world: World, ident: str = "001") -> list[str]:
    """The first lines of what was sent to a ticket's agents."""
    return [s.text.split("\n", 1)[0] for s in world.agents.prompts(ident)]


async def test_a_message_is_not_lost_with_the_session_that_could_not_be_resumed(world: World) -> None:
    """It was stored for the session, which fails before the agent says anything: whoever takes over is told it."""
    world.agents.acts["001"] += [finish(), crash(1, speaks=False)]
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("message", ["001"], {"text": "Mind the footer."})
        await world.until(lambda: len(said(world)) == 3 and batch.board["001"].state is State.DONE)
        assert batch.board["001"].mode is Mode.FALLBACK
    told = world.agents.prompts("001")[-1].text
    assert told.startswith("Do 001.")
    assert told.endswith("Mind the footer.")


async def test_a_message_that_was_given_to_a_session_that_is_gone_is_told_to_the_next(world: World) -> None:
    world.agents.acts["001"] += [hang(), hang()]
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        batch.submit("message", ["001"], {"text": "Mind the footer.", "now": True})
        await world.until(lambda: said(world)[-1] == "Mind the footer.")
        batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["001"].state is State.PAUSED)
    world.agents.acts["001"].clear()
    world.agents.starts["001"].append(GONE)
    async with world.batch(ticket()) as batch, running(batch):
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert batch.board["001"].mode is Mode.FALLBACK
    assert "Mind the footer." in world.agents.prompts("001")[-1].text
    async with world.batch(ticket()) as batch:
        assert await Planner(ticket(), batch.engine)._written() == (), "an agent has come to an end with it"


async def test_the_same_request_twice_at_once_is_one_message(world: World) -> None:
    world.agents.acts["001"].append(hang(then=world.agents.default))
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        ident = str(uuid4())
        wish = {"do": "verb", "verb": "message", "tickets": ["001"], "args": {"text": "Hear me."}, "id": ident}
        async with anyio.create_task_group() as group:
            group.start_soon(requests.answer, batch, wish)
            group.start_soon(requests.answer, batch, wish)
        assert batch.board["001"].messages == 1
        world.agents.of("001")[0].interrupted.set()
        await world.until(lambda: batch.board["001"].state is State.DONE)
    assert said(world) == ["Do 001.", "Hear me."]


@pytest.mark.parametrize("moment", ["connecting", "prompt", "sending"])
async def test_a_message_for_now_counts_while_the_first_prompt_is_on_its_way(world: World, moment: str) -> None:
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket()) as batch:
        mail = {"text": "Other way round.", "now": True}

        def write() -> None:
            batch.submit("message", ["001"], mail)

        async def moment_(session: FakeSession) -> None:
            write()
            await world.until(lambda: batch.board["001"].messages)

        if moment == "prompt":
            world.disk.at(a(ev.PromptStored), write)
        else:
            world.agents.moments[moment] = moment_
        async with running(batch):
            await world.until(lambda: batch.board["001"].state is State.DONE)
        await check_books(batch)
    assert said(world) == ["Do 001.", "Other way round."]


async def test_two_messages_for_now_at_once(world: World) -> None:
    world.agents.acts["001"] += [hang(), hang()]
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        batch.submit("message", ["001"], {"text": "One.", "now": True})
        batch.submit("message", ["001"], {"text": "Two.", "now": True})
        await world.until(lambda: batch.board["001"].state not in (State.RUNNING, State.STARTING))
        assert batch.board["001"].state is State.DONE
        assert batch.board["001"].messages == 0
        await check_books(batch)
    assert said(world) == ["Do 001.", "One.", "Two."]


RM = ToolRequest("Bash", {"command": "rm -r build"}, "t1")


async def test_an_answer_that_meets_the_last_agents_rest_is_gone_on_from(world: World) -> None:
    """Without a screen the run ends when nothing can move; a ticket that was answered just now can."""
    world.agents.acts["001"] += [asks(RM), asks(RM)]
    async with world.batch(ticket()) as batch:

        async def late(_: object) -> None:
            (ask,) = batch.engine.asks.waiting("001")
            await batch.engine.asks.answer(AskAnswer(ask.id, AnswerKind.ALLOW))

        world.agents.moments["closing"] = late
        await batch.pool.run()
        assert (await stored(batch))["001"].state is State.DONE


async def test_a_verb_that_comes_while_the_last_effect_ends_is_carried_out(world: World) -> None:
    """The pool has nothing to do any more, and waits for an effect: what is accepted meanwhile moves."""
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket()) as batch:
        waits, asked = anyio.Event(), anyio.Event()

        async def wait_idle() -> None:
            asked.set()
            await waits.wait()

        batch.engine.effects.wait_idle = wait_idle  # type: ignore[method-assign]
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            await world.until(lambda: batch.board["001"].detail == "I look at it.")
            batch.submit("interrupt", ["001"])
            await asked.wait()
            accepted, _ = await batch.pool.mailroom.request(BY_NAME["resume"], "001", {})
            assert accepted
            waits.set()
        assert (await stored(batch))["001"].state is State.DONE


async def test_a_mark_that_was_written_without_its_letter_holds_no_ticket_back(world: World) -> None:
    """Killed between the key press and its letter, while something else of the ticket was written."""
    world.agents.acts["001"].append(hang())
    tickets = (ticket("001"), ticket("002", after=("001",)))
    with pytest.raises(Exception, match="disk is full"):
        async with world.batch(*tickets) as batch, running(batch):
            await world.until(lambda: batch.board["001"].detail == "I look at it.")
            batch.board.apply(ev.VerbPending("002", world.now(), "cancel"))
            await batch.engine.journal.emit(ev.PriorityChanged("001", world.now(), 0))
            await batch.engine.journal.emit(ev.StateChanged("002", world.now(), State.QUEUED, detail="after 001 "))
            world.disk.die_at(a(ev.LetterPosted))
            batch.submit("cancel", ["002"])
            await world.until(lambda: world.disk.dead)
    world.agents.acts.clear()
    assert {t.state for t in (await world.run(*tickets)).values()} == {State.DONE}


@pytest.mark.parametrize("restart", [False, True])
async def test_a_bug_in_one_verb_stops_nobody_else(
    world: World, monkeypatch: pytest.MonkeyPatch, restart: bool
) -> None:
    async def buggy(engine: Engine, letter: Letter) -> str:
        raise ZeroDivisionError("bug")

    world.agents.acts["002"].append(hang(then=world.agents.default))
    async with world.batch(ticket("001"), ticket("002"), slots=2) as batch, running(batch):
        await world.until(lambda: batch.board["002"].detail == "I look at it.")
        await world.until(lambda: batch.board["001"].state is State.DONE)
        if restart:
            letter = ev.LetterPosted("001", world.now(), str(uuid4()), "fork", {"prompt": "Try."})
            await batch.engine.journal.emit(letter)
        else:
            monkeypatch.setitem(mailroom.HANDLERS, "fork", buggy)
            accepted, says = await batch.pool.mailroom.request(BY_NAME["fork"], "001", {"prompt": "Try."})
            assert (accepted, "ZeroDivisionError" in says) == (False, True)
            assert batch.board["001"].pending is None
            assert batch.board["002"].state is State.RUNNING
    if restart:
        monkeypatch.setitem(mailroom.HANDLERS, "fork", buggy)
        async with world.batch(ticket("001"), ticket("002"), slots=2) as batch:
            assert batch.board["001"].pending is None
            assert await batch.engine.journal.store.open_letters() == ()


async def test_words_that_cannot_be_written_down_refuse_one_verb_only(world: World) -> None:
    """A shell may hand over bytes that are no text; the refusal repeats them."""
    world.agents.acts["002"].append(hang(then=world.agents.default))
    async with world.batch(ticket("001"), ticket("002"), slots=2) as batch, running(batch):
        await world.until(lambda: batch.board["002"].detail == "I look at it.")
        await world.until(lambda: batch.board["001"].state is State.DONE)
        told = {"prompt": "Try \udcff.", "at": "\udcff"}
        accepted, _ = await batch.pool.mailroom.request(BY_NAME["fork"], "001", told)
        assert not accepted
        assert await batch.engine.journal.store.open_letters() == ()
        assert batch.board["002"].state is State.RUNNING


def test_a_name_means_a_ticket_or_the_parent_of_a_family() -> None:
    known = [f"{n:05}" for n in range(20_000)]
    assert find_name("0", known, "ticket")[0] is None, "and the screen does not wait for it"
    assert find_name("a", ["a-b", "a-b.2", "a-b.2.2"], "ticket") == ("a-b", "")
    assert find_name("a-b.", ["a-b", "a-b.2", "a-b.2.2"], "ticket") == ("a-b.2", "")


async def test_a_ticket_that_is_given_up_while_it_is_started_over_stays_given_up(world: World) -> None:
    await world.begin()
    async with world.batch(ticket()) as batch:
        batch.engine.holds.set("test", "nothing starts by itself")
        async with running(batch):
            begin_anew, seen = batch.engine.worktrees.begin_anew, anyio.Event()

            async def slow(ident: str, commit: str) -> None:
                batch.submit("cancel", ["001"])
                await world.until(lambda: batch.board["001"].pending == "cancel")
                await anyio.wait_all_tasks_blocked()
                await batch.engine.journal.store.open_letters()
                await begin_anew(ident, commit)
                seen.set()

            batch.engine.worktrees.begin_anew = slow  # type: ignore[method-assign, assignment]
            batch.submit("start-over", ["001"])
            await seen.wait()
            await world.until(lambda: batch.board["001"].session_id is None)
            await world.until(lambda: batch.board["001"].state is State.CANCELLED)
            assert batch.board["001"].pending is None


async def test_what_was_told_while_nobody_ran_is_done_in_the_order_of_telling(world: World) -> None:
    await world.begin()
    for verb in ("start-over", "cancel"):
        reply = await offline.answer(world.state_dir, {"do": "verb", "verb": verb, "tickets": ["001"]})
        assert reply["tickets"][0]["accepted"]
    snapshot = (await world.run(ticket()))["001"]
    assert (snapshot.state, snapshot.session_id) == (State.CANCELLED, None)


async def test_a_key_that_nobody_takes_any_more_says_so(world: World) -> None:
    async with world.batch(ticket()) as batch:
        batch.submit("cancel", ["001"])
        assert batch.board["001"].pending is None
        assert "cancel" in batch.board.transcript("001").since()[-1].text


async def _raise(batch: Batch, **told: object) -> None:
    wish = {"do": "verb", "verb": "budget", "tickets": ["001"], "args": told, "id": str(uuid4())}
    reply = await requests.answer(batch, wish)
    assert reply["tickets"][0]["accepted"], reply


async def test_two_who_raise_a_budget_at_once_both_raise_it(world: World) -> None:
    async with world.batch(ticket(budget_usd=1.0, max_turns=9)) as batch:
        batch.engine.holds.set("test", "nothing starts by itself")
        async with running(batch), anyio.create_task_group() as group:
            group.start_soon(partial(_raise, batch, raise_usd=1.0))
            group.start_soon(partial(_raise, batch, raise_usd=1.0))
            group.start_soon(partial(_raise, batch, max_turns=30))
            batch.submit("budget", ["001"], {"raise_usd": 0.5})
            await world.until(lambda: batch.board["001"].budget_usd == 3.5)
        found = (await stored(batch))["001"]
    assert (found.budget_usd, found.max_turns) == (3.5, 30)


async def test_a_raise_that_a_dead_supervisor_left_is_made_once(world: World) -> None:
    async with world.batch(ticket(budget_usd=1.0)) as batch:
        batch.engine.holds.set("test", "nothing starts by itself")
        world.disk.die_at(a(ev.LimitsChanged))
        with pytest.raises(StoreError):
            async with running(batch):
                batch.submit("budget", ["001"], {"raise_usd": 1.0})
                await anyio.sleep_forever()
    for _ in range(2):
        async with world.batch(ticket(budget_usd=1.0)) as batch:
            assert batch.board["001"].budget_usd == 2.0


async def test_a_raise_meets_a_budget_that_was_taken_away_meanwhile(world: World) -> None:
    async with world.batch(ticket(budget_usd=1.0)) as batch:
        batch.engine.holds.set("test", "nothing starts by itself")
        async with running(batch):
            batch.submit("budget", ["001"], {"no_budget": True})
            batch.submit("budget", ["001"], {"raise_usd": 1.0})
            said = batch.board.transcript("001")
            await world.until(lambda: any("no budget that could be raised" in item.text for item in said.since()))
            assert (batch.board["001"].budget_usd, batch.board["001"].pending) == (None, None)
