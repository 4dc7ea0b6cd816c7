"""An effect that could not be written down did not run; its ticket stops for that, and is never done without it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from supervisor.core import events as ev
from supervisor.core.effects import EffectState
from supervisor.core.errors import StoreError
from supervisor.core.model import Outcome, State, Why
from supervisor.core.spec import EffectSpec
from supervisor.core.verbs import MESSAGE
from tests.engine.world import World, attempts, check_books, running, stored, ticket

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from supervisor.engine.batch import Batch
    from tests.engine.fake_session import Act, FakeSession

pytestmark = pytest.mark.anyio
FULL = "the disk is full"


def _effect(world: World) -> EffectSpec:
    script = f"echo x >> {world.root}/ran; echo posted"
    return EffectSpec("post", kind="once", description="Post it.", command=("sh", "-c", script))


def _asks(spec: EffectSpec, answers: list[str], *, heeds: bool = True, tells: bool = True) -> Act:
    """Ask for the effect; stop when told to, or be faster than that, or never say what the tool returned."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak("I post it.")
        assert session.start.caller is not None
        answers.append((await session.start.caller.call(spec, {"body": "hello"})).text)
        if tells:
            session.put(ev.ToolReturned(session.start.ticket, session.clock(), "t", answers[-1]))
        if heeds and "Nothing was done" in answers[-1]:
            await session.interrupted.wait()
            session.result(uuid, "error_during_execution", "aborted_tools", 0.01)
            return
        session.speak("All done.", ends=True)
        session.result(uuid, "success", "completed", 0.1)

    return act


@asynccontextmanager
async def broken(batch: Batch, *, only_showing: bool = False) -> AsyncIterator[None]:
    """Let the ledger refuse its next claim, before or after it is on the disk."""
    ledger = batch.engine.desk.ledger
    name = "log" if only_showing else "claim"
    whole = getattr(ledger, name)

    async def refuse(*_: object) -> None:
        setattr(ledger, name, whole)
        raise StoreError(FULL)

    setattr(ledger, name, refuse)
    yield


WAYS = pytest.mark.parametrize(
    ("heeds", "tells"), [(True, True), (False, True), (False, False)], ids=["stops", "goes-on", "silent"]
)


@WAYS
async def test_its_ticket_needs_the_operator_and_goes_on_to_run_it(world: World, heeds: bool, tells: bool) -> None:
    spec, told = _effect(world), list[str]()
    world.agents.acts["001"] += [_asks(spec, told, heeds=heeds, tells=tells), _asks(spec, told)]
    async with world.batch(ticket(effects=("post",)), effects={"post": spec}) as batch, broken(batch), running(batch):
        await world.until(lambda: batch.board["001"].state is State.NEEDS_YOU and not world.agents.open("001"))
        found = batch.board["001"]
        assert (found.why, found.detail) == (Why.LEDGER, f'effect "post" was not run: {FULL}')
        (first,) = await attempts(batch)
        assert (first.outcome, first.is_error) == (Outcome.INTERRUPTED, True)
        assert not (world.root / "ran").exists()
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
        await check_books(batch)
    assert told[0] == f"Nothing was done: the ledger cannot be written ({FULL}). Stop here; the operator sees to it."
    assert told[1:] == ["posted"]
    assert (world.root / "ran").read_text() == "x\n"


@WAYS
async def test_a_stop_that_comes_with_it_does_not_make_it_done_at_the_next_start(
    world: World, heeds: bool, tells: bool
) -> None:
    spec, told = _effect(world), list[str]()
    world.agents.acts["001"] += [_asks(spec, told, heeds=heeds, tells=tells), _asks(spec, told)]
    world.disk.at(lambda e: isinstance(e, ev.TurnEnded), lambda: batch.request_stop())
    async with world.batch(ticket(effects=("post",)), effects={"post": spec}) as batch, broken(batch), running(batch):
        await world.until(lambda: batch.pool.finished.is_set() or batch.board["001"].state is State.QUEUED)
    async with world.batch(ticket(effects=("post",)), effects={"post": spec}) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.DONE)
    assert told[1:] == ["posted"]


async def test_a_claim_that_could_not_be_shown_is_written_off(world: World) -> None:
    """It is on the disk, and nothing has run."""
    spec, told = _effect(world), list[str]()
    world.agents.acts["001"] += [_asks(spec, told), _asks(spec, told)]
    async with (
        world.batch(ticket(effects=("post",)), effects={"post": spec}) as batch,
        broken(batch, only_showing=True),
        running(batch),
    ):
        await world.until(lambda: batch.board["001"].state is State.NEEDS_YOU and not world.agents.open("001"))
        assert batch.board["001"].why is Why.LEDGER
        (held,) = await batch.engine.desk.ledger.records()
        assert (held.state, held.error) == (EffectState.REFUSED, f"it was not run: {FULL}")
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
    assert told[1:] == ["posted"]
    assert (world.root / "ran").read_text() == "x\n"


async def test_the_agent_is_told_to_ask_for_it_again_whatever_it_is_told_besides(world: World) -> None:
    spec, told = _effect(world), list[str]()
    asks = _asks(spec, told, heeds=False, tells=False)

    async def is_written_to(session: FakeSession, uuid: str) -> None:
        assert (await batch.pool.mailroom.request(MESSAGE, "001", {"text": "Mind the footer."}))[0]
        await asks(session, uuid)

    world.agents.acts["001"] += [is_written_to, _asks(spec, told)]
    async with world.batch(ticket(effects=("post",)), effects={"post": spec}) as batch, broken(batch), running(batch):
        await world.until(lambda: batch.board["001"].why is Why.LEDGER)
        assert batch.board["001"].messages == 1, "it would answer the message and be done"
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
        found = (await stored(batch))["001"]
    assert (found.messages, told[1:]) == (0, ["posted"])
    text = world.agents.prompts("001")[-1].text
    assert text.startswith("Mind the footer.")
    assert f'effect "post" was not run: {FULL}. That has been seen to: call it again if it is still wanted.' in text
