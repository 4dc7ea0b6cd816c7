"""Asks over scripted agents: what the ticket shows, what outlives a rest, a death and a restart, and who is told."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.asks import AnswerKind, Ask, AskAnswer, AskKind, AskState
from supervisor.core.errors import AskRefused, StoreError
from supervisor.core.model import Outcome, State, Why
from supervisor.core.rulings import DecisionVerb
from supervisor.core.spec import EffectSpec
from supervisor.engine import offline, requests
from supervisor.engine.agent import Failure, Permission, ToolRequest
from supervisor.engine.desk import Ruling
from supervisor.engine.watchdog import Watchdog
from supervisor.engine.wishes import Wanted
from tests.engine.acts import asks, finish, hang
from tests.engine.fake_session import Gone
from tests.engine.world import World, a, attempts, check_books, running, stored, ticket

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from supervisor.engine.batch import Batch
    from tests.engine.fake_session import Act, FakeSession

pytestmark = pytest.mark.anyio
ALLOW, SESSION, DENY, STOP, REPLY = AnswerKind
RM = ToolRequest("Bash", {"command": "rm -r build"}, "t1", rules=("Bash(rm *)",))
LS = ToolRequest("Bash", {"command": "ls /etc"}, "t2", reason="outside of the worktree")
ASK = ToolRequest(
    "AskUserQuestion",
    {"questions": [{"question": "Which one?", "options": [{"label": "This"}, {"label": "That"}]}]},
    "t3",
)
PLAN = ToolRequest("ExitPlanMode", {"plan": "\n# The plan\n1. Do it."}, "t4")


async def asked(world: World, batch: Batch, count: int = 1, ident: str = "001") -> tuple[Ask, ...]:
    """Wait until so many asks of a ticket wait; return them."""
    await world.until(lambda: batch.board[ident].asks == count)
    found = batch.engine.asks.waiting(ident)
    assert len(found) == count
    return found


async def answer(batch: Batch, ask: Ask, kind: AnswerKind, message: str = "", **more: Any) -> Ask:
    """Answer an ask."""
    return await batch.engine.asks.answer(AskAnswer(ask.id, kind, message, **more))


async def rested(world: World, batch: Batch, ident: str = "001") -> None:
    """Wait until a ticket's agent is gone, and it waits."""
    await world.until(lambda: batch.board[ident].state is State.NEEDS_YOU and not batch.board[ident].live)


async def prompt(batch: Batch, ident: str = "001") -> str:
    """The last prompt the agent was sent."""
    found = await batch.engine.journal.store.last_prompt(ident)
    assert found is not None
    return found.text


@asynccontextmanager
async def checked(world: World, *tickets: Any, **more: Any) -> AsyncIterator[Batch]:
    """A batch whose books and asks must agree with the disk in the end."""
    async with world.batch(*tickets or (ticket(),), **more) as batch:
        yield batch
        await check_books(batch)
        await stored(batch)
        pending = await batch.engine.journal.store.pending_asks()
        assert {x.id: x for x in pending} == {x.id: x for x in batch.board.asks() if x.waits or x.granted}
        for snapshot in batch.board:
            assert snapshot.asks == sum(x.waits and x.ticket == snapshot.id for x in batch.board.asks())


async def test_a_ticket_waits_for_the_oldest_of_its_asks_and_goes_on_when_none_is_left(world: World) -> None:
    world.agents.acts["001"].append(asks(RM, LS, ASK, then=hang()))
    async with checked(world) as batch, running(batch):
        first, second, third = await asked(world, batch, 3)
        now = batch.board["001"]
        assert (now.state, now.why, now.live, now.detail) == (
            State.NEEDS_YOU, Why.APPROVE_TOOL, True, "Bash rm -r build",
        )  # fmt: skip
        assert (second.reason, second.rules, third.kind) == ("outside of the worktree", (), AskKind.QUESTION)
        await answer(batch, first, ALLOW)
        assert (batch.board["001"].state, batch.board["001"].detail) == (State.NEEDS_YOU, "Bash ls /etc")
        await answer(batch, second, DENY)
        assert (batch.board["001"].why, batch.board["001"].detail) == (Why.QUESTION, "Which one?")
        await answer(batch, third, REPLY, "That")
        assert (batch.board["001"].state, batch.board["001"].live) == (State.RUNNING, True)
        await world.until(lambda: len(world.agents.permissions) == 3)
    allowed, denied, replied = world.agents.permissions
    assert (allowed.allowed, allowed.for_session, allowed.input) == (True, False, None)
    assert (denied.allowed, denied.stop) == (False, False)
    assert denied.message == "The operator denied this. Go on without it."
    assert replied.input is not None
    assert replied.input["answers"] == {"Which one?": "That"}


async def test_an_agent_that_is_kept_waiting_is_not_stalled(world: World) -> None:
    world.agents.acts["001"].append(asks(RM))
    async with checked(world) as batch, running(batch):
        (ask,) = await asked(world, batch)
        (session,), windows = world.agents.open(), 0
        wait = session.next_event

        async def counted() -> ev.Event | None:
            nonlocal windows
            windows += 1
            world.agents.changed()
            return await wait()

        session.next_event = counted  # type: ignore[method-assign]
        attempt = batch.pool._runners["001"]._attempt
        assert attempt is not None
        attempt._turns._watchdog = Watchdog(0.006)
        session.put(ev.Noted("001", world.now(), "from here on every silence is too long"))
        await world.until(lambda: windows > 5)
        attempt._turns._watchdog = Watchdog(600)
        await answer(batch, ask, ALLOW)
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert [x.outcome for x in await attempts(batch)] == [Outcome.DONE]


async def test_an_answer_that_does_not_fit_changes_nothing(world: World) -> None:
    world.agents.acts["001"].append(asks(LS))
    async with checked(world) as batch, running(batch):
        (ask,) = await asked(world, batch)
        for kind, words in ((REPLY, "not a reply"), (SESSION, "suggests no rule")):
            with pytest.raises(AskRefused, match=words):
                await answer(batch, ask, kind)
        with pytest.raises(AskRefused, match="no such ask"):
            await batch.engine.asks.answer(AskAnswer("nobody", ALLOW))
        with pytest.raises(AskRefused, match="changed"):
            await answer(batch, ask, ALLOW, seen_version=0)
        said: list[str | None] = []
        for _ in range(2):
            batch.answer(AskAnswer(ask.id, ALLOW, seen_version=ask.version), said.append)
        await world.until(lambda: len(said) == 2 and batch.board["001"].state is State.DONE)
        assert said == [None, "it was answered already: allowed"]


@pytest.mark.parametrize("how", ["interrupt", "quit", "headless"])
async def test_what_is_asked_outlives_the_agent_and_is_granted_once(world: World, how: str) -> None:
    """Answered at the next start; the very same call passes then, once, and another one asks again."""
    world.agents.acts["001"] += [asks(RM), asks(RM, then=asks_again), asks(LS)]
    async with checked(world) as batch:
        if how == "headless":
            await batch.pool.run()
        else:
            async with running(batch):
                await asked(world, batch)
                if how == "interrupt":
                    batch.submit("interrupt", ["001"])
                    await world.until(lambda: batch.board["001"].state is State.PAUSED)
        (ask,) = batch.board.asks()
        assert ask.state is AskState.RESTING
        assert batch.board["001"].state is (State.PAUSED if how == "interrupt" else State.NEEDS_YOU)
        assert not batch.board["001"].live
    async with checked(world) as batch, running(batch):
        (ask,) = batch.board.asks()
        await answer(batch, ask, ALLOW)
        if how == "interrupt":
            assert batch.board["001"].state is State.PAUSED, "what the operator stopped stays so"
            batch.submit("resume", ["001"])
        (other,) = await asked(world, batch)
        assert "allowed your call of Bash rm -r build, once" in await prompt(batch)
        assert [e.detail for e in world.disk.written if isinstance(e, ev.GrantUsed)] == ["Bash rm -r build"]
        assert other.summary == "rm -r build", "once is once"
        await answer(batch, other, DENY)
        await world.until(lambda: batch.board["001"].state is State.DONE)
    assert [p.allowed for p in world.agents.permissions] == [True, False]


async def asks_again(session: Any, uuid: str) -> None:
    """Call the same once more in the same turn."""
    await session.ask(RM)
    await session.finish(uuid)


async def test_a_ticket_with_several_resting_asks_goes_on_when_all_are_answered(world: World) -> None:
    world.agents.acts["001"].append(asks(RM, LS, ASK))
    async with checked(world) as batch:
        await batch.pool.run()
        first, second, third = batch.board.asks()
        async with running(batch):
            await answer(batch, first, DENY, "Keep it.")
            await answer(batch, second, DENY)
            assert batch.board["001"].state is State.NEEDS_YOU
            await world.until(lambda: batch.board["001"].detail == "Which one?")
            await answer(batch, third, REPLY, answers={"1": ["This", "That"]})
            await world.until(lambda: batch.board["001"].state is State.DONE)
        text = await prompt(batch)
    assert "The operator denied your call of Bash rm -r build: Keep it." in text
    assert "denied your call of Bash ls /etc. Go on without it." in text
    assert "- Which one? This, That" in text


async def test_an_agent_that_waits_gives_its_slot_to_who_needs_it(world: World) -> None:
    world.agents.acts["001"].append(asks(RM))
    async with checked(world, ticket(), ticket("002"), slots=1) as batch, running(batch):
        await world.until(lambda: batch.board["002"].state is State.DONE)
        assert (batch.board["001"].state, batch.board["001"].live) == (State.NEEDS_YOU, False)
        (ask,) = batch.engine.asks.waiting("001")
        await answer(batch, ask, ALLOW)
        await world.until(lambda: batch.board["001"].state is State.DONE)


async def test_a_message_that_shall_not_wait_takes_the_question_back(world: World) -> None:
    world.agents.acts["001"].append(asks(RM))
    async with checked(world) as batch, running(batch):
        (ask,) = await asked(world, batch)
        batch.submit("message", ["001"], {"text": "Leave it.", "now": True})
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert batch.board.asks()[0].state is AskState.WITHDRAWN
        assert await prompt(batch) == "Leave it."
        with pytest.raises(AskRefused, match="does not wait for this"):
            await answer(batch, ask, ALLOW)


@pytest.mark.parametrize("verb", ["cancel", "resume", "message", "start-over"])
async def test_a_ticket_that_goes_on_without_an_answer_asks_nothing_more(world: World, verb: str) -> None:
    world.agents.acts["001"] += [asks(RM, LS), hang()]
    async with checked(world) as batch:
        await batch.pool.run()
        first = batch.board.asks()[0]
        await answer(batch, first, ALLOW)
        async with running(batch):
            batch.submit(verb, ["001"], {"text": "Go on."} if verb == "message" else None)
            await world.until(lambda: not batch.board["001"].asks)
            await world.until(lambda: batch.board["001"].state in (State.CANCELLED, State.RUNNING))
            states = {x.summary: (x.state, x.granted) for x in batch.board.asks()}
    granted = verb in ("resume", "message")
    assert states == {"rm -r build": (AskState.ANSWERED, granted), "ls /etc": (AskState.WITHDRAWN, False)}


async def test_a_grant_ends_with_the_work_it_was_for(world: World) -> None:
    world.agents.acts["001"] += [asks(RM), finish()]
    async with checked(world) as batch:
        await batch.pool.run()
        await answer(batch, batch.board.asks()[0], ALLOW)
        async with running(batch):
            await world.until(lambda: batch.board["001"].state is State.DONE)
        assert not batch.board.asks()[0].granted


async def test_an_agent_that_dies_takes_its_question_with_it(world: World) -> None:
    world.agents.acts["001"].append(asks(RM))
    async with checked(world) as batch, running(batch):
        await asked(world, batch)
        await world.agents.open()[0].kill()
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert batch.board.asks()[0].state is AskState.WITHDRAWN
        assert [x.outcome for x in await attempts(batch)] == [Outcome.CRASHED, Outcome.DONE]


async def test_what_an_agent_asked_that_ends_without_a_word_is_over(world: World) -> None:
    """The process is gone, and its side has not yet taken the question back."""
    given: list[Permission] = []

    async def ask(session: FakeSession) -> None:
        assert session.start.asker is not None
        given.append(await session.start.asker.ask(RM))

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak()
        group.start_soon(ask, session)
        await asked(world, batch)
        raise Gone(Failure("gone", exit_code=-9))

    world.agents.acts["001"].append(act)
    async with checked(world) as batch, anyio.create_task_group() as group, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert [x.state for x in batch.board.asks()] == [AskState.WITHDRAWN]
    assert [p.allowed for p in given] == [False]


async def test_what_is_asked_is_kept_on_the_disk_before_the_agent_is_interrupted(world: World) -> None:
    world.agents.acts["001"].append(asks(RM, LS))
    async with checked(world) as batch, running(batch):
        await asked(world, batch, 2)
        kept: list[int] = []
        world.agents.moments["interrupting"] = lambda _: kept.append(
            sum(isinstance(e, ev.AskRested) for e in world.disk.written)
        )
        batch.submit("interrupt", ["001"])
        await world.until(lambda: batch.board["001"].state is State.PAUSED)
    assert kept == [2]


async def test_deny_and_stop(world: World) -> None:
    world.agents.acts["001"] += [asks(RM, LS), hang()]
    async with checked(world) as batch, running(batch):
        first, _ = await asked(world, batch, 2)
        await answer(batch, first, STOP, "I look myself.")
        assert batch.board["001"].pending == "interrupt"
        await world.until(lambda: batch.board["001"].state is State.PAUSED)
        assert batch.board["001"].pending is None
        assert [x.state for x in batch.board.asks()] == [AskState.RESTING, AskState.ANSWERED], "the other one is kept"
        assert await batch.engine.journal.store.open_letters() == ()
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.RUNNING and len(world.agents.sent) == 2)
        assert "denied your call of Bash rm -r build: I look myself." in await prompt(batch)


async def test_deny_and_stop_of_a_ticket_that_rests(world: World) -> None:
    world.agents.acts["001"].append(asks(RM))
    async with checked(world) as batch:
        await batch.pool.run()
        await answer(batch, batch.board.asks()[0], STOP)
        assert (batch.board["001"].state, batch.board["001"].detail) == (State.PAUSED, "you denied Bash rm -r build")


@pytest.mark.parametrize("moment", [a(ev.AskRested), a(ev.AttemptEnded)], ids=["resting", "ended"])
async def test_a_death_while_it_rests_keeps_the_question(world: World, moment: Any) -> None:
    world.agents.acts["001"].append(asks(RM))
    async with world.batch(ticket()) as batch:
        world.disk.die_at(moment)
        with pytest.raises(StoreError):
            await batch.pool.run()
    async with checked(world) as batch:
        assert (batch.board["001"].state, batch.board["001"].live) == (State.NEEDS_YOU, False)
        assert [x.state for x in batch.board.asks()] == [AskState.RESTING]
        await batch.pool.run()
        assert len(world.agents.sessions) == 1, "it waits for the answer, not for the next start"


async def test_a_death_while_an_answer_is_written_leaves_it_to_be_answered(world: World) -> None:
    world.agents.acts["001"].append(asks(RM))
    async with world.batch(ticket()) as batch:
        with pytest.raises(StoreError):
            async with running(batch):
                (ask,) = await asked(world, batch)
                world.disk.die_at(a(ev.AskAnswered))
                with pytest.raises(StoreError):
                    await answer(batch, ask, ALLOW)
                assert batch.board.asks()[0].state is AskState.OPEN, "nothing is shown that is not written"
                batch.request_stop()
                await batch.pool.finished.wait()
    assert world.agents.permissions == [], "and nothing is done"
    async with checked(world) as batch:
        assert [x.state for x in batch.board.asks()] == [AskState.RESTING]
        await answer(batch, batch.board.asks()[0], ALLOW)
        world.agents.acts["001"].append(asks(RM))
        await batch.pool.run()
        assert batch.board["001"].state is State.DONE
    assert [p.allowed for p in world.agents.permissions] == [True]


async def test_a_death_after_deny_and_stop_pauses_at_the_next_start(world: World) -> None:
    world.agents.acts["001"].append(asks(RM))
    async with world.batch(ticket()) as batch:
        with pytest.raises(StoreError):
            async with running(batch):
                (ask,) = await asked(world, batch)
                world.disk.die_at(a(ev.TurnEnded))
                await answer(batch, ask, STOP)
                await batch.pool.finished.wait()
    found = (await world.run(ticket()))["001"]
    assert (found.state, found.pending) == (State.PAUSED, None)
    assert len(world.agents.sessions) == 1


async def test_a_disk_that_refuses_a_question_stops_the_batch_and_nothing_is_done(world: World) -> None:
    world.agents.acts["001"].append(asks(RM))
    async with world.batch(ticket()) as batch:
        world.disk.die_at(a(ev.AskOpened))
        with pytest.raises(StoreError):
            await batch.pool.run()
    assert [p.allowed for p in world.agents.permissions] == [False] * len(world.agents.permissions)
    world.agents.acts["001"].append(asks(RM))
    assert (await world.run(ticket()))["001"].state is State.NEEDS_YOU, "it is asked again"


@pytest.mark.parametrize("how", ["rest", "interrupt", "cancel"])
async def test_an_answer_that_comes_while_the_agent_is_stopped_counts_for_the_next_one(world: World, how: str) -> None:
    """The wish is known and the agent not interrupted yet: it would not hear the answer."""
    world.agents.acts["001"] += [asks(RM), asks(RM)]
    async with checked(world) as batch, running(batch):
        (ask,) = await asked(world, batch)

        async def late(_: object) -> None:
            await answer(batch, ask, ALLOW)

        world.agents.moments["interrupting"] = late
        if how == "rest":
            batch.pool._runners["001"].stop(Wanted.REST)
        else:
            batch.submit(how, ["001"])
        await world.until(lambda: batch.board["001"].state in (State.DONE, State.PAUSED, State.CANCELLED))
        granted = [x.granted for x in batch.board.asks()]
    if how == "rest":
        assert [p.allowed for p in world.agents.permissions] == [True], "the next agent was let through"
        assert len(world.agents.sessions) == 2
    assert granted == [how == "interrupt"]


async def test_plans_and_rules_outlive_the_process_that_knew_them(world: World) -> None:
    edit = ToolRequest("Write", {"file_path": "/x"}, "t5", planning=True)
    world.agents.acts["001"] += [asks(edit, then=asks(PLAN, RM)), hang()]
    async with checked(world, ticket(permission_mode="plan", allowed_tools=("Read",))) as batch:
        await batch.pool.run()
        assert "plan mode" in world.agents.permissions[0].message, "refused without asking"
        plan, rm = batch.board.asks()
        assert (plan.kind, plan.summary, plan.why) == (AskKind.PLAN, "# The plan", Why.QUESTION)
        await answer(batch, plan, ALLOW, "Mind the tests.")
        await answer(batch, rm, SESSION)
        async with running(batch):
            await world.until(lambda: len(world.agents.sent) == 2)
        first, second = (s.start for s in world.agents.sessions)
        assert (first.permission_mode, first.allowed_tools) == ("plan", ("Read",))
        assert (second.permission_mode, second.allowed_tools) == ("default", ("Read", "Bash(rm *)"))
        text = await prompt(batch)
    assert "approved your plan, and plan mode is over: carry it out.\nThey wrote: Mind the tests." in text
    assert "and the like: Bash(rm *)" in text


async def test_secrets_are_taken_out_and_long_inputs_cut(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "open-sesame-please")
    curl = "curl -H 'Authorization: open-sesame-please' http://localhost"
    given = {"command": curl, "long": "x" * 1_000_000, "list": list(range(5_000)), "odd": "\ud83d\0"}
    request = ToolRequest("Bash", given, "t1", "open-sesame-please", rules=(f"Bash({curl})",))
    world.agents.acts["001"].append(asks(request))
    async with checked(world) as batch, running(batch):
        (ask,) = await asked(world, batch)
        assert ask.summary == "curl -H 'Authorization: [DEPLOY_TOKEN]' http://localhost"
        assert (ask.rules, ask.reason) == ((), "[DEPLOY_TOKEN]")
        assert ask.input["long"].endswith("more characters")
        assert ask.input["list"][-1] == "… 4800 more"
        assert ask.input["odd"] == "\ufffd\u2400"
        await answer(batch, ask, DENY, "never say open-sesame-please")
        await world.until(lambda: batch.board["001"].state is State.DONE)
    held = b"".join(path.read_bytes() for path in world.state_dir.glob("state.db*"))
    assert b"sesame" not in held
    assert len(held) < 1_000_000


async def test_other_shells_list_and_answer(world: World) -> None:
    world.agents.acts["001"] += [asks(RM, ASK), finish()]
    async with checked(world) as batch:
        async with running(batch):
            await asked(world, batch, 2)

            async def do(**request: Any) -> dict[str, Any]:
                return await requests.answer(batch, request)

            listed = (await do(do="asks", ticket="001"))["asks"]
            assert [x["detail"] for x in listed] == ["Bash rm -r build", "Which one?"]
            assert listed[0]["takes"] == ["allow", "allow_session", "deny", "deny_stop"]
            assert "name one of" in (await do(do="answer", ask="001", kind="allow"))["error"]
            assert 'there is no ask or ticket "9"' in (await do(do="answer", ask="9", kind="allow"))["error"]
            for bad in ({"kind": "yes"}, {"kind": "reply", "answers": {"1": 1}}, {"kind": "deny", "version": "1"}):
                assert (await do(do="answer", ask=listed[0]["ask"], **bad))["kind"] == "BadRequest"
            given = await do(do="answer", ask=listed[0]["ask"][:8], kind="deny", message="No.", actor="me", version=1)
            assert (given["state"], given["answer"], given["version"]) == ("answered", "deny", 2)
        assert [x.actor for x in batch.board.asks() if x.answer] == ["me"]
    request: dict[str, Any] = {"do": "answer", "ask": "001", "kind": "reply", "message": "That"}
    assert (await offline.answer(world.state_dir, {"do": "asks"}))["asks"][0]["detail"] == "Which one?"
    assert (await offline.answer(world.state_dir, request))["state"] == "answered"
    assert (await offline.answer(world.state_dir, request))["error"] == "001 asks nothing"
    assert (await world.run(ticket()))["001"].state is State.DONE
    assert "- Which one? That" in world.agents.sent[-1].text


POST = EffectSpec("post", kind="once", description="Post.", command=("true",), approval="always")


def _both(first: str, go: anyio.Event) -> Act:
    """Ask for a tool and for an effect and wait for both answers; the second one only once ``go`` is set."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak()
        caller = session.start.caller
        assert caller is not None

        async def call(what: str) -> None:
            await (caller.call(POST, {"body": "hello"}) if what == "effect" else session.ask(RM))

        async with anyio.create_task_group() as group:
            group.start_soon(_cancel_at, session.interrupted, group.cancel_scope)
            async with anyio.create_task_group() as both:
                both.start_soon(call, first)
                await go.wait()
                both.start_soon(call, "tool" if first == "effect" else "effect")
            group.cancel_scope.cancel()
        if session.interrupted.is_set():
            session.result(uuid, "error_during_execution", "aborted_tools", 0.01)
        else:
            await session.finish(uuid)

    return act


async def _cancel_at(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


async def _approve(batch: Batch) -> None:
    record = await batch.engine.desk.ledger.by_key("001:post")
    await batch.engine.desk.rule(Ruling(record.key, DecisionVerb.APPROVE, record.version))


@pytest.mark.parametrize("first", ["effect", "tool"])
@pytest.mark.parametrize("answered", ["effect", "tool"])
@pytest.mark.parametrize("live", [True, False], ids=["live", "rested"])
async def test_a_tool_and_an_effect_at_once(world: World, first: str, answered: str, live: bool) -> None:
    """Whichever was asked and answered first: the ticket goes on when both are answered, and says what is left."""
    go = anyio.Event()
    world.agents.acts["001"].append(_both(first, go))
    more: dict[str, Any] = {"effects": {"post": POST}}
    async with checked(world, ticket(effects=("post",)), **more) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.NEEDS_YOU)
        go.set()
        await world.until(lambda: batch.board["001"].asks and batch.board.effects())
        if not live:
            batch.pool._runners["001"].stop(Wanted.REST)
            await rested(world, batch)
            await world.until(lambda: "001" not in batch.pool._runners)

        async def do(what: str) -> None:
            await (_approve(batch) if what == "effect" else answer(batch, batch.board.asks()[0], DENY))

        await do(answered)
        left = (Why.APPROVE_TOOL, "Bash rm -r build") if answered == "effect" else (Why.APPROVE_EFFECT, _WANTS)
        await world.until(lambda: (batch.board["001"].why, batch.board["001"].detail) == left)
        assert (batch.board["001"].state, batch.board["001"].live) == (State.NEEDS_YOU, live)
        await do("tool" if answered == "effect" else "effect")
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert len(world.agents.sessions) == (1 if live else 2)


_WANTS = 'effect "post" wants approval'
