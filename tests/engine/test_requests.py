"""What another shell is answered by a running batch, over its socket, with scripted agents."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.cli import run_command
from supervisor.control_client import ask
from supervisor.core import events as ev
from supervisor.core.effects import EffectRequest, EffectState
from supervisor.core.model import State
from supervisor.core.verbs import VERBS
from supervisor.engine import mailroom, requests
from supervisor.engine.address import SOCKET
from supervisor.engine.socket import serve
from tests.engine import acts
from tests.engine.world import World, a, ticket

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from supervisor.core.effects import EffectRecord
    from supervisor.engine.batch import Batch

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def _running(world: World, slots: int = 2) -> AsyncIterator[Batch]:
    """A batch that listens, whose agents work until they are interrupted."""
    for ident in ("001-a", "002-b", "003-c"):
        world.agents.acts[ident].append(acts.hang())
    tickets = [ticket(ident) for ident in ("001-a", "002-b", "003-c")]
    async with world.batch(*tickets, slots=slots) as batch, anyio.create_task_group() as group:
        await group.start(serve, world.state_dir / SOCKET, partial(requests.answer, batch))
        group.start_soon(partial(batch.pool.run, stay=True))
        await world.until(lambda: batch.board.totals().count(State.RUNNING) == slots)
        yield batch
        batch.request_stop()
        await batch.pool.finished.wait()
        group.cancel_scope.cancel()


async def _ask(world: World, **request: Any) -> dict[str, Any]:
    answer = await anyio.to_thread.run_sync(ask, world.state_dir, request)
    assert answer is not None
    return answer


async def _shell(world: World, *argv: object) -> int:
    command = [str(x) for x in argv]
    return await anyio.to_thread.run_sync(run_command, [*command, "--state-dir", str(world.state_dir)])


async def test_a_verb_is_on_the_disk_when_it_is_answered(world: World) -> None:
    async with _running(world) as batch:
        answer = await _ask(world, do="verb", verb="interrupt", tickets=["001", "003", "9"])
        assert [(t["ticket"], t["accepted"], t["says"]) for t in answer["tickets"]] == [
            ("001-a", True, "its turn stops, then it is paused"),
            ("003-c", True, "is paused"),
            ("9", False, 'there is no ticket "9"'),
        ]
        written = [e.ticket for e in world.disk.written if isinstance(e, ev.LetterPosted) and e.verb == "interrupt"]
        assert sorted(written) == ["001-a", "003-c"]
        await world.until(lambda: batch.board["001-a"].state is State.PAUSED)
        assert batch.board["002-b"].state is State.RUNNING
        assert batch.board["003-c"].state is State.PAUSED
        answer = await _ask(world, do="verb", verb="resume", tickets=["002-b"])
        assert "only a resting ticket can be resumed" in answer["tickets"][0]["says"]


async def test_all_are_interrupted_together(world: World) -> None:
    async with _running(world) as batch:
        answer = await _ask(world, do="verb", verb="interrupt", tickets=[], all=True)
        assert [t["accepted"] for t in answer["tickets"]] == [True, True, True]
        await world.until(lambda: {t.state for t in batch.board} == {State.PAUSED})


async def test_a_disk_that_refuses_is_told(world: World) -> None:
    async with _running(world) as batch:
        world.disk.refuse_at(a(ev.LetterPosted))
        answer = await _ask(world, do="verb", verb="cancel", tickets=["001-a"])
        assert answer["tickets"] == [{"ticket": "001-a", "accepted": False, "says": "the disk is full"}]
        assert batch.board["001-a"].pending is None, "nothing is under way"


async def test_a_batch_that_stops_takes_no_verbs(world: World) -> None:
    async with _running(world) as batch:
        batch.request_stop()
        answer = await _ask(world, do="verb", verb="cancel", tickets=["003-c"])
        assert answer["tickets"][0]["accepted"] is False
        assert "stopping" in answer["tickets"][0]["says"]


async def test_every_verb_of_the_table_says_what_it_will_do() -> None:
    assert all(mailroom.will(verb, at_work=at_work) for verb in VERBS for at_work in (False, True))


async def test_the_command_goes_to_the_running_supervisor(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    async with _running(world) as batch:
        assert await _shell(world, "interrupt", "001") == 0
        await world.until(lambda: batch.board["001-a"].state is State.PAUSED)
        assert await _shell(world, "resume", "002") == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "001-a  accepted: its turn stops, then it is paused"
    assert said[1].startswith("002-b  refused: ")


NONSENSE: list[dict[str, Any]] = [
    {},
    {"do": None},
    {"do": ["verb"]},
    {"do": "explode"},
    {"do": "verb"},
    {"do": "verb", "verb": "fly", "tickets": []},
    {"do": "verb", "verb": {}, "tickets": []},
    {"do": "verb", "verb": "cancel"},
    {"do": "verb", "verb": "cancel", "tickets": "001"},
    {"do": "verb", "verb": "cancel", "tickets": [1]},
    {"do": "ruling"},
    {"do": "ruling", "verb": "fence", "key": "k", "version": 1},
    {"do": "ruling", "verb": "done", "key": "k"},
    {"do": "ruling", "verb": "done", "key": "k", "version": True},
    {"do": "ruling", "verb": "done", "key": "k", "version": "1"},
    {"do": "ruling", "verb": "done", "key": 7, "version": 1},
    {"do": "ruling", "verb": "done", "key": "k", "version": 1, "why": "x"},
    {"do": "ruling", "verb": "note", "key": "k", "why": 3},
    {"do": "probe"},
    {"do": "probe", "key": "k"},
]


async def test_nonsense_is_answered_and_changes_nothing(world: World) -> None:
    async with _running(world) as batch:
        before = [(t.state, t.pending) for t in batch.board]
        for request in NONSENSE:
            answer = await _ask(world, **request)
            assert answer["kind"] in ("BadRequest", "UnknownEffect"), request
        assert [(t.state, t.pending) for t in batch.board] == before


async def _unresolved(batch: Batch, op: str = "deploy") -> EffectRecord:
    desk = batch.engine.desk
    claim = await desk.claim(EffectRequest("001-a", op, ticket="001-a", payload={"to": "prod"}))
    return await desk.settle(claim.record, EffectState.UNRESOLVED, error="timed out")


async def test_status(world: World) -> None:
    async with _running(world) as batch:
        await _unresolved(batch)
        answer = await _ask(world, do="status")
    assert [(t["id"], t["state"]) for t in answer["tickets"]] == [
        ("001-a", "running"),
        ("002-b", "running"),
        ("003-c", "queued"),
    ]
    assert answer["effects"] == [
        {
            "key": "001-a:deploy",
            "ticket": "001-a",
            "state": "unresolved",
            "version": 2,
            "outcome": None,
            "owner_dead": True,
            "busy": False,
        }
    ]


async def test_a_decision_reaches_the_desk(world: World) -> None:
    async with _running(world) as batch:
        record = await _unresolved(batch)
        asked = {"do": "ruling", "verb": "done", "key": record.key, "why": "I looked", "outcome": "41", "actor": "ann"}
        answer = await _ask(world, **asked, version=record.version - 1)
        assert answer["kind"] == "StaleDecision"
        answer = await _ask(world, **asked, version=record.version)
        assert answer == {"key": record.key, "ticket": "001-a", "state": "done", "version": 3, "outcome": "41"}
        view = batch.board.effect(record.key)
        assert view is not None
        assert (view.record.state, view.log[-1].actor) == (EffectState.DONE, "ann")


async def test_two_decisions_at_once_and_one_is_taken(world: World) -> None:
    async with _running(world) as batch:
        record = await _unresolved(batch)
        answers: list[dict[str, Any]] = []

        async def decide(verb: str) -> None:
            asked = {"do": "ruling", "verb": verb, "key": record.key, "why": "x", "version": record.version}
            answers.append(await _ask(world, **asked))

        async with anyio.create_task_group() as group:
            for verb in ("done", "abandon", "not_done", "done"):
                group.start_soon(decide, verb)
        assert sorted("error" in answer for answer in answers) == [False, True, True, True]


async def test_once_more_is_one_decision_and_no_finding(world: World) -> None:
    async with _running(world) as batch:
        record = await _unresolved(batch)
        answer = await _ask(
            world, do="ruling", verb="once_more", key=record.key, why="x", version=record.version, ticket="001-a"
        )
        assert (answer["state"], answer["version"]) == ("granted", 3)
        rows = await batch.engine.desk.ledger.log(record)
        assert [(row.verb, row.from_state, row.to_state, row.reason) for row in rows[2:]] == [
            ("grant", "unresolved", "granted", "x (for 001-a)")
        ]
        assert await batch.engine.desk.ledger.verify() == ()


async def test_a_probe_that_there_is_none_of(world: World) -> None:
    async with _running(world) as batch:
        record = await _unresolved(batch)
        answer = await _ask(world, do="probe", key=record.key)
        assert answer["settled"] is False
        assert answer["says"]


async def test_effects_from_the_shell_of_a_running_batch(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    async with _running(world) as batch:
        record = await _unresolved(batch)
        assert await _shell(world, "effects", "grant", record.key, "--why", "x", "--yes") == 0
        assert await _shell(world, "effects", "probe", record.key) == 1
        assert await _shell(world, "effects", "list") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{record.key} is granted (version 3)"
    assert said[-1].split()[:2] == ["granted", record.key]
