"""Forks with scripted agents: what the child begins with, that the parent goes on, and kills at every step."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.cuts import CutKind
from supervisor.core.effects import EffectState
from supervisor.core.errors import ConfigError, StoreError
from supervisor.core.model import Mode, State, Why
from supervisor.core.rulings import DecisionVerb
from supervisor.core.spec import EffectSpec
from supervisor.engine import forking
from supervisor.engine.desk import Ruling
from tests.engine.acts import finish, hang, unbegun
from tests.engine.world import World, a, attempts, check_books, running, stored, ticket

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.core.letters import Letter
    from supervisor.engine.batch import Batch
    from supervisor.engine.effect_caller import ToolAnswer
    from tests.engine.fake_session import Act, FakeSession

pytestmark = pytest.mark.anyio
TELL = {"prompt": "Try it without the cache.\nAt once."}


def use(session: FakeSession, ident: str) -> None:
    """Call a tool and get its result, as the session's file tells it."""
    call = {"type": "tool_use", "id": ident, "name": "Write", "input": {}}
    session.write({"type": "assistant", "message": {"id": f"m-{ident}", "content": [call]}})
    result = {"type": "tool_result", "tool_use_id": ident, "content": "ok"}
    session.write({"type": "user", "message": {"content": [result]}})


def works(name: str, text: str, until: anyio.Event | None = None) -> Act:
    """Write a file with a tool, and finish, at once or after an event."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        use(session, f"toolu_{name}")
        (session.start.cwd / name).write_text(text)
        session.agent_started = True
        session.put(ev.AgentSpoke(session.start.ticket, session.clock(), "I look at it."))
        if until is not None:
            await until.wait()
        session.speak(f"{name} is written.", ends=True)
        session.result(uuid, "success", "completed")

    return act


def lines(world: World, session_id: str | None) -> list[dict[str, Any]]:
    """Return a session's file."""
    assert session_id is not None
    return [json.loads(line) for line in world.agents.path(session_id).read_text().splitlines()]


def git(path: Path, *args: str) -> str:
    """Run git in a worktree."""
    done = subprocess.run(["git", *args], cwd=path, capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()


def tree(batch: Batch, ident: str) -> Path:
    """Return a ticket's worktree."""
    return batch.engine.worktrees.path(ident)


async def letters(batch: Batch) -> list[Letter]:
    """Return the letters that are still open."""
    return list(await batch.engine.journal.store.open_letters())


async def test_a_running_ticket_is_forked_and_notices_nothing(world: World) -> None:
    go = anyio.Event()
    world.agents.acts["001"].append(works("new.txt", "new\n", until=go))
    async with world.batch(ticket(model="sonnet"), slots=2) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        for name in ("kept.txt", "gone.txt"):
            (tree(batch, "001") / name).write_text("committed\n")
        git(tree(batch, "001"), "add", "kept.txt", "gone.txt")
        git(tree(batch, "001"), "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "some")
        (tree(batch, "001") / "kept.txt").write_text("changed\n")
        (tree(batch, "001") / "gone.txt").unlink()
        batch.submit("fork", ["001"], TELL)
        assert batch.board["001"].pending == "fork"
        await world.until(lambda: "001.2" in batch.board and batch.board["001.2"].state is State.DONE)
        assert batch.board["001"].state is State.RUNNING
        go.set()
        await world.until(lambda: batch.board["001"].state is State.DONE)
        parent, child = batch.board["001"], batch.board["001.2"]
        (record,), (own,) = await attempts(batch, "001.2"), await attempts(batch, "001")
        await check_books(batch)
        assert await letters(batch) == []
        assert (tree(batch, "001.2") / "new.txt").read_text() == "new\n"
        assert (tree(batch, "001.2") / "kept.txt").read_text() == "changed\n"
        status = git(tree(batch, "001.2"), "status", "--porcelain").split()
        assert status == ["D", "gone.txt", "M", "kept.txt", "??", "new.txt"], "what was not committed still is not"
        assert git(tree(batch, "001.2"), "rev-parse", "HEAD") == git(tree(batch, "001"), "rev-parse", "HEAD")
    assert (parent.pending, parent.attempts, own.mode) == (None, 1, Mode.FRESH)
    assert not world.agents.of("001")[0].interrupted.is_set()
    assert [p.text for p in world.agents.prompts("001")] == ["Do 001."]
    assert (record.mode, record.resumed_from, record.cost_usd) == (Mode.FORK, parent.session_id, 0.1)
    assert child.session_id == record.session_id != parent.session_id
    assert (child.parent, child.title, child.spent_usd) == ("001", "Try it without the cache.", 0.1)
    assert (child.branch, child.base_commit) == ("supervise/stage/001.2", parent.base_commit)
    copied = [line["uuid"] for line in lines(world, parent.session_id)][:3]
    assert [line["uuid"] for line in lines(world, child.session_id)][:3] == copied, "up to the result of the tool"
    assert {line["sessionId"] for line in lines(world, child.session_id)} == {child.session_id}


async def test_the_child_is_told_its_task_first_and_then_where_it_is(world: World) -> None:
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("fork", ["001"], {**TELL, "title": "Other", "budget_usd": 2.5, "max_turns": 7, "model": "haiku"})
        await world.until(lambda: "001.2" in batch.board and batch.board["001.2"].state is State.DONE)
        child = batch.board["001.2"]
        (sent,) = world.agents.prompts("001.2")
        assert sent.text.startswith("Try it without the cache.\nAt once.\n\n---\nThis is 001.2, a fork of 001:")
        assert f"Your working tree is {tree(batch, '001.2')}, " in sent.text
        assert "as 001 had them when the fork was made" in sent.text
        assert f"Paths under {tree(batch, '001')} are those of 001" in sent.text
        assert (child.title, child.budget_usd, child.max_turns, child.model) == ("Other", 2.5, 7, "haiku")
        assert not child.stale_instructions


async def _two_turns(world: World, batch: Batch) -> None:
    """Let ticket 001 write one file, be written to, and write another."""
    await world.until(lambda: batch.board["001"].state is State.DONE)
    batch.submit("message", ["001"], {"text": "And b."})
    await world.until(lambda: len(world.agents.prompts("001")) == 2 and batch.board["001"].state is State.DONE)


PLACES: dict[str, tuple[int, list[str], int]] = {
    "after the first turn": (1, ["a.txt"], 2),
    "within the second turn": (2, ["a.txt"], 2),
    "after the second turn": (3, ["a.txt", "b.txt"], 0),
}


@pytest.mark.parametrize("place", PLACES)
async def test_a_fork_from_an_earlier_place_has_the_files_of_that_time(world: World, place: str) -> None:
    at, files, prompt = PLACES[place]
    world.agents.acts["001"].extend([works("a.txt", "a\n"), works("b.txt", "b\n")])
    async with world.batch(ticket()) as batch, running(batch):
        await _two_turns(world, batch)
        found = await forking.cut_points(batch.engine, "001")
        assert [(c.kind, c.prompt_number) for c in found] == [
            (CutKind.TOOLS, 1), (CutKind.REPLY, 1), (CutKind.TOOLS, 2), (CutKind.REPLY, 2),
        ]  # fmt: skip
        (tree(batch, "001") / "later.txt").touch()
        batch.submit("fork", ["001"], {**TELL, "at": found[at].uuid})
        await world.until(lambda: "001.2" in batch.board and batch.board["001.2"].state is State.DONE)
        names = {p.name for p in tree(batch, "001.2").iterdir()} - {".git", "hello.txt"}
        assert names == {*files, *(["later.txt"] if prompt == 0 else [])}
        (sent,) = world.agents.prompts("001.2")
        assert (f"before prompt {prompt} of" if prompt else "when the fork was made") in sent.text
        (child,) = batch.engine.forks.values()
        assert child.cut == found[at].uuid


async def test_a_prompt_means_the_place_before_it_and_files_may_be_those_of_now(world: World) -> None:
    world.agents.acts["001"].extend([works("a.txt", "a\n"), works("b.txt", "b\n")])
    async with world.batch(ticket()) as batch, running(batch):
        await _two_turns(world, batch)
        found = await forking.cut_points(batch.engine, "001")
        _, second = await batch.engine.journal.store.prompts("001")
        batch.submit("fork", ["001"], {**TELL, "at": second.uuid, "files": "now"})
        await world.until(lambda: "001.2" in batch.board and batch.board["001.2"].state is State.DONE)
        assert batch.engine.forks["001.2"].cut == found[1].uuid
        assert (tree(batch, "001.2") / "b.txt").exists()


async def test_a_fork_of_a_fork_can_go_back_before_the_first_one(world: World) -> None:
    world.agents.acts["001"].extend([works("a.txt", "a\n"), works("b.txt", "b\n")])
    world.agents.acts["001.2"].append(works("c.txt", "c\n"))
    async with world.batch(ticket(priority=3)) as batch, running(batch):
        await _two_turns(world, batch)
        batch.submit("fork", ["001"], TELL)
        await world.until(lambda: "001.2" in batch.board and batch.board["001.2"].state is State.DONE)
        found = await forking.cut_points(batch.engine, "001.2")
        assert [c.prompt_number for c in found] == [1, 1, 2, 2, 3, 3]
        batch.submit("fork", ["001.2"], {"prompt": "From the first turn on.", "at": found[1].uuid})
        await world.until(lambda: "001.2.2" in batch.board and batch.board["001.2.2"].state is State.DONE)
        names = {p.name for p in tree(batch, "001.2.2").iterdir()} - {".git", "hello.txt"}
        child = batch.board["001.2.2"]
        assert [t.id for t in batch.board.rows()] == ["001", "001.2", "001.2.2"]
    assert names == {"a.txt"}, "the snapshot is the root's"
    assert (child.parent, child.priority) == ("001.2", 3)
    assert [line["uuid"] for line in lines(world, child.session_id)][:4] == [
        line["uuid"] for line in lines(world, batch.board["001"].session_id)
    ][:4]


async def test_names_that_are_taken_are_passed_over(world: World) -> None:
    git(world.repo, "branch", "supervise/stage/001.3")
    async with world.batch(ticket(), ticket("001.2")) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("fork", ["001"], TELL)
        await world.until(lambda: "001.4" in batch.board and batch.board["001.4"].state is State.DONE)
        batch.submit("fork", ["001"], TELL)
        await world.until(lambda: "001.5" in batch.board and batch.board["001.5"].state is State.DONE)


async def _said(batch: Batch, told: dict[str, Any]) -> str:
    from supervisor.core.verbs import FORK

    accepted, says = await batch.pool.mailroom.request(FORK, "001", told)
    assert not accepted
    assert [t.id for t in batch.board.rows()] == ["001"]
    assert (batch.board["001"].pending, await letters(batch)) == (None, [])
    return says


async def test_what_cannot_be_forked_is_refused_with_the_reason(world: World) -> None:
    world.agents.acts["001"].extend([works("a.txt", "a\n"), works("b.txt", "b\n")])
    async with world.batch(ticket()) as batch, running(batch):
        await _two_turns(world, batch)
        first, second = await batch.engine.journal.store.prompts("001")
        assert "is no message" in await _said(batch, {**TELL, "at": "elsewhere"})
        assert "anything before that message" in await _said(batch, {**TELL, "at": first.uuid})
        for snapshot in await batch.engine.snapshots.list("001"):
            git(world.repo, "update-ref", "-d", snapshot.ref)
        git(world.repo, "-c", "gc.reflogExpire=now", "gc", "--quiet", "--prune=now")
        assert "files as of prompt 2" in await _said(batch, {**TELL, "at": second.uuid})
        world.agents.path(batch.board["001"].session_id or "").unlink()
        assert "has not reached the disk" in await _said(batch, TELL)


async def test_a_ticket_that_has_not_said_anything_is_not_forked(world: World) -> None:
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].detail == "I look at it.")
        assert "has not said anything yet" in await _said(batch, TELL)


async def test_a_child_whose_first_prompt_was_dropped_gets_it_again(world: World) -> None:
    world.agents.acts["001.2"].append(unbegun())
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("fork", ["001"], TELL)
        await world.until(lambda: world.agents.prompts("001.2"))
    assert (await world.run(ticket()))["001.2"].state is State.DONE
    first, again = world.agents.prompts("001.2")
    assert first == again


STEPS: dict[str, tuple[Callable[[ev.Event], bool], int]] = {
    "its row": (a(ev.TicketAdded, ticket="001.2"), 1),
    "its origin": (a(ev.Forked), 1),
    "the letter's end": (a(ev.LettersClosed), 1),
}


@pytest.mark.parametrize("step", STEPS)
async def test_a_death_before_the_child_is_written_leaves_none_and_the_next_start_makes_one(
    world: World, step: str
) -> None:
    async with world.batch(ticket()) as batch:
        with pytest.raises(StoreError):
            async with running(batch):
                await world.until(lambda: batch.board["001"].state is State.DONE)
                world.disk.die_at(*STEPS[step])
                batch.submit("fork", ["001"], TELL)
                await batch.pool.finished.wait()
        assert [t.id for t in await batch.engine.journal.store.snapshots()] == ["001"]
    async with world.batch(ticket()) as batch:
        assert batch.board["001.2"].state is State.QUEUED
        assert (batch.board["001"].pending, await letters(batch)) == (None, [])
        await batch.pool.run()
        assert [(t.id, t.state) for t in (await stored(batch)).values()] == [("001", State.DONE), ("001.2", State.DONE)]
        assert len(await batch.engine.journal.store.forks()) == 1
    (session,) = world.agents.of("001.2")
    assert session.start.resume
    names = {path.stem for path in world.agents.path("x").parent.glob("*")}
    assert names == {s.start.session_id for s in world.agents.sessions}, "the file of the first try was written again"


@pytest.mark.parametrize("moment", [ev.WorktreeReady, ev.AttemptStarted, ev.PromptStored, ev.TurnEnded])
async def test_a_child_that_was_killed_as_it_began_begins_right(world: World, moment: type[ev.Event]) -> None:
    world.agents.acts["001"].append(works("new.txt", "new\n"))
    async with world.batch(ticket()) as batch:
        world.disk.die_at(a(moment, ticket="001.2"))
        with pytest.raises(StoreError):
            async with running(batch):
                await world.until(lambda: batch.board["001"].state is State.DONE)
                batch.submit("fork", ["001"], TELL)
                await batch.pool.finished.wait()
    async with world.batch(ticket()) as batch:
        await batch.pool.run()
        child = (await stored(batch))["001.2"]
        rows = await attempts(batch, "001.2")
        assert (tree(batch, "001.2") / "new.txt").read_text() == "new\n"
    assert child.state is State.DONE
    assert {row.session_id for row in rows} == {child.session_id}
    taken_in = moment is ev.TurnEnded
    assert rows[-1].mode is (Mode.RESUME if taken_in else Mode.FORK)
    texts = [p.text for p in world.agents.prompts("001.2")]
    assert all(text.startswith("Try it without the cache.") for text in texts[: None if not taken_in else 1])


async def test_forks_are_known_after_a_restart_and_follow_their_parent(world: World) -> None:
    async with world.batch(ticket(), ticket("002")) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("fork", ["001"], {**TELL, "budget_usd": 1.0})
        await world.until(lambda: "001.2" in batch.board)
        batch.submit("cancel", ["001.2"])
        await world.until(lambda: batch.board["001.2"].state is State.CANCELLED)
        batch.submit("budget", ["001.2"], {"budget_usd": 3.0})
        await world.until(lambda: batch.board["001.2"].budget_usd == 3.0)
    async with world.batch(ticket("002")) as batch, running(batch):
        assert "001.2" not in batch.engine.specs, "nobody knows what it may do"
        assert batch.board["001.2"].parent == "001"
    more: dict[str, Any] = {"verify": ("true",), "rules": "Be brief.", "after": ("002",)}
    async with world.batch(ticket("002"), ticket(**more)) as batch, running(batch):
        spec = batch.engine.specs["001.2"]
        assert spec == replace(
            ticket(**more), id="001.2", title="Try it without the cache.", prompt=TELL["prompt"], after=(),
            base=spec.base, budget_usd=1.0,
        )  # fmt: skip
        assert batch.board["001.2"].budget_usd == 3.0, "the operator's own"
        batch.submit("resume", ["001.2"])
        await world.until(lambda: batch.board["001.2"].state is State.DONE)
        assert batch.board["001.2"].detail == "verified"
    with pytest.raises(ConfigError, match=r'"001\.2".*name of a fork'):
        async with world.batch(ticket(), ticket("001.2")):
            pass


async def test_a_child_whose_conversation_is_lost_is_told_what_the_parents_task_was(world: World) -> None:
    async with world.batch(ticket()) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)

        def lose() -> None:
            world.agents.path(batch.board["001.2"].session_id or "").unlink()

        world.disk.at(a(ev.WorktreeReady, ticket="001.2"), lose)
        batch.submit("fork", ["001"], TELL)
        await world.until(lambda: "001.2" in batch.board and batch.board["001.2"].state is State.DONE)
        (sent,) = world.agents.prompts("001.2")
        assert sent.text.startswith("Try it without the cache.")
        assert "forked from 001, whose task was:\n\nDo 001." in sent.text
        assert (await attempts(batch, "001.2"))[0].mode is Mode.FRESH


def effect(script: str, **more: Any) -> EffectSpec:
    """An effect that runs a command."""
    return EffectSpec("post", kind="once", description="Post it.", command=("sh", "-c", script), **more)


def calls(spec: EffectSpec, answers: list[ToolAnswer], then: anyio.Event | None = None) -> Act:
    """Ask for an effect, and finish unless the ticket is stopped for it."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        use(session, "toolu_0")
        assert session.start.caller is not None
        answers.append(await session.start.caller.call(spec, {"body": "hello"}))
        session.put(ev.ToolReturned(session.start.ticket, session.clock(), "t", answers[-1].text))
        if then is not None:
            await then.wait()
        if "not known" in answers[-1].text:
            await session.interrupted.wait()
            session.result(uuid, "error_during_execution", "aborted_tools", 0.01)
            return
        session.speak("All done.", ends=True)
        session.result(uuid, "success", "completed")

    return act


async def test_an_effect_that_both_ask_for_runs_once(world: World) -> None:
    go, spec, told = anyio.Event(), effect(f"echo x >> {world.root}/ran; echo posted"), list[Any]()
    world.agents.acts["001"].append(calls(spec, told, then=go))
    world.agents.acts["001.2"].append(calls(spec, told))
    async with world.batch(ticket(effects=("post",)), slots=2, effects={"post": spec}) as batch, running(batch):
        await world.until(lambda: told)
        batch.submit("fork", ["001"], TELL)
        await world.until(lambda: "001.2" in batch.board and batch.board["001.2"].state is State.DONE)
        go.set()
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert [v.record.key for v in batch.board.effects()] == ["001:post"]
        assert await batch.engine.desk.ledger.verify() == ()
    assert (world.root / "ran").read_text() == "x\n"
    assert [answer.text for answer in told] == ["posted", "posted"]
    assert "- post: posted" in world.agents.prompts("001.2")[0].text


async def test_an_effect_of_its_own_runs_for_each_and_the_child_is_told_so(world: World) -> None:
    spec, told = effect(f"echo $SUPERVISOR_TICKET >> {world.root}/ran; echo posted", scope="ticket"), list[Any]()
    world.agents.acts["001"].append(calls(spec, told))
    world.agents.acts["001.2"].append(calls(spec, told))
    async with world.batch(ticket(effects=("post",)), effects={"post": spec}) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
        batch.submit("fork", ["001"], TELL)
        await world.until(lambda: "001.2" in batch.board and batch.board["001.2"].state is State.DONE)
        assert sorted(v.record.key for v in batch.board.effects()) == ["001.2:post", "001:post"]
    assert (world.root / "ran").read_text() == "001\n001.2\n"
    sent = world.agents.prompts("001.2")[0].text
    assert "post of 001: was that ticket's own" in sent
    assert "- post: posted" not in sent


async def test_an_unresolved_effect_holds_all_who_asked_and_one_answer_wakes_them(world: World) -> None:
    spec, told = effect("exit 1"), list[Any]()
    world.agents.acts["001"].append(calls(spec, told))
    world.agents.acts["001.2"].append(calls(spec, told))
    world.agents.acts["001.3"].append(finish())
    async with world.batch(ticket(effects=("post",)), slots=2, effects={"post": spec}) as batch, running(batch):
        await world.until(lambda: batch.board["001"].why is Why.UNRESOLVED_EFFECT)
        batch.submit("fork", ["001"], TELL)
        await world.until(lambda: "001.2" in batch.board and batch.board["001.2"].why is Why.UNRESOLVED_EFFECT)
        batch.submit("fork", ["001"], TELL)
        await world.until(lambda: "001.3" in batch.board and batch.board["001.3"].state is State.DONE)
    async with world.batch(ticket(effects=("post",)), slots=2, effects={"post": spec}) as batch, running(batch):
        assert {t.id: t.state for t in batch.board} == {
            "001": State.NEEDS_YOU, "001.2": State.NEEDS_YOU, "001.3": State.DONE,
        }  # fmt: skip
        (view,) = batch.board.effects()
        assert view.record.ticket == "001"
        assert sorted(view.askers) == ["001", "001.2"]
        assert [row.verb for row in view.log] == ["claim", "settle", "ask"]
        ruling = Ruling("001:post", DecisionVerb.DONE, view.record.version, "I looked", outcome="it is there")
        await batch.engine.desk.rule(ruling)
        await world.until(lambda: all(t.state is State.DONE for t in batch.board))
        assert await batch.engine.desk.ledger.verify() == ()
    assert len(world.agents.prompts("001.2")) == 2, "it was not asked again and again meanwhile"
    assert all("post: it is there" in world.agents.prompts(i)[-1].text for i in ("001", "001.2"))


async def test_a_grant_is_for_one_ticket_and_the_other_is_told_whose_it_is(world: World) -> None:
    ran = world.root / "ran"
    spec, told = effect(f"echo x >> {ran}; test $(wc -l < {ran}) = 2"), list[Any]()
    for ident in ("001", "001.2"):
        world.agents.acts[ident].extend([calls(spec, told), calls(spec, told)])
    async with world.batch(ticket(effects=("post",)), slots=1, effects={"post": spec}) as batch, running(batch):
        await world.until(lambda: batch.board["001"].why is Why.UNRESOLVED_EFFECT)
        batch.submit("fork", ["001"], TELL)
        await world.until(lambda: "001.2" in batch.board and batch.board["001.2"].why is Why.UNRESOLVED_EFFECT)
        (view,) = batch.board.effects()
        ruling = Ruling("001:post", DecisionVerb.GRANT, view.record.version, "nothing arrived", ticket="001.2")
        await batch.engine.desk.once_more(ruling)
        await world.until(lambda: all(t.state is State.DONE for t in batch.board))
        (view,) = batch.board.effects()
    assert (view.record.state, view.record.ticket) == (EffectState.DONE, "001.2")
    assert ran.read_text() == "x\nx\n"
    assert "post: The operator allows 001.2 to run this once, and nobody else." in world.agents.prompts("001")[-1].text
    assert "post: The operator allows this to run once" in world.agents.prompts("001.2")[-1].text
    assert ["under way" in answer.text for answer in told] == [False, False, True, False]
