"""Every verb on real tickets that nobody works on yet, or again: in the queue, and parked."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core.model import Mode, State
from tests.e2e.every_verb import (
    BUSY,
    FORK_SCRIPT,
    HEAR,
    NO_TURN,
    TRY,
    UNBEGUN,
    WRITE,
    End,
    accepts,
    come_to,
    covers,
    forks,
    refuses,
    sets_limits,
    stay_so,
    takes_files_back,
)
from tests.e2e.stage import Stage, running, say, ticket

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from supervisor.core.spec import BatchSpec
    from supervisor.engine.batch import Batch
    from supervisor.engine.context import Engine

pytestmark = [pytest.mark.anyio, pytest.mark.cli, pytest.mark.timeout(240)]
FRESH, RESUME = Mode.FRESH, Mode.RESUME
NAMES = ("interrupt", "cancel", "message", "start-over", "calm")
LAST = [say("One."), say("Two.")]
NOT_RESTING = {"resume": BUSY["resume"]}


async def test_every_verb_on_a_ticket_that_has_not_begun(stage: Stage) -> None:
    """Those that were stopped have nothing to fork or rewind either, and begin when they are resumed."""
    names = ("interrupt", "cancel", "message", "calm")
    refused = UNBEGUN | NOT_RESTING
    assert covers("interrupt", "cancel", "message", "budget", "priority", refused)
    queued, done = End(State.QUEUED, sessions=0), End(State.DONE, (0,), (FRESH,), ("task",))
    spec = stage.spec(*map(ticket, names), slots=1)
    async with stage.batch(spec, dict.fromkeys(names, LAST)) as batch:
        batch.pause_starting(True)
        async with running(batch):
            await refuses(batch, "calm", refused)
            await sets_limits(batch, "calm")
            for verb in ("interrupt", "cancel", "message"):
                await accepts(batch, verb, verb)
            ends = {
                "interrupt": End(State.PAUSED, sessions=0),
                "cancel": End(State.CANCELLED, sessions=0),
                "message": End(State.QUEUED, sessions=0, messages=1),
                "calm": queued,
            }
            await come_to(stage, batch, ends)
            await refuses(batch, "interrupt", UNBEGUN | {"interrupt": NO_TURN})
            words = {"message": "resume it first", "cancel": "is cancelled already", "priority": "does not wait"}
            await refuses(batch, "cancel", UNBEGUN | {"interrupt": NO_TURN} | words)
            batch.pause_starting(False)
            ends |= {"message": End(State.DONE, (0, 1), (FRESH,), ("task", HEAR)), "calm": done}
            await come_to(stage, batch, ends)
            for ident in ("interrupt", "cancel"):
                await accepts(batch, "resume", ident)
                ends[ident] = done
            await come_to(stage, batch, ends)
        await stay_so(stage, batch, ends)
        assert stage.server is not None
        assert stage.server.served()[0].ticket == "calm", "its priority was raised"


Waiting = tuple["Batch", "Callable[[], object]"]
"""A batch whose tickets wait, and what lets them go on."""


@asynccontextmanager
async def queued_again(stage: Stage) -> AsyncIterator[Waiting]:
    """Tickets whose agents were done, and that the operator has taken up again while nothing starts."""
    async with stage.batch(_spec(stage), _scripts(say("All done."))) as batch, running(batch):
        await come_to(stage, batch, {name: End(State.DONE, (0, 1), (FRESH,), ("task",)) for name in NAMES})
        batch.pause_starting(True)
        for name in NAMES:
            await accepts(batch, "resume", name)
        yield batch, lambda: batch.pause_starting(False)


@asynccontextmanager
async def parked(stage: Stage) -> AsyncIterator[Waiting]:
    """Tickets that the API has failed; it is asked again when the clocks say so."""
    passed = [0.0]

    def adjust(engine: Engine) -> None:
        engine.backoff_s = 300.0
        engine.clock, engine.running = lambda: time.time() + passed[0], lambda: anyio.current_time() + passed[0]

    async def let_pass() -> None:
        """Let time go by twenty times as fast as it does: agents are started one by one, seconds apart."""
        passed[0] = 600.0
        while True:
            batch.set_slots(6)  # the pool looks at the clock again
            await anyio.sleep(0.05)
            passed[0] += 1.0

    overloaded = {"status": 529, "times": 1}
    opened = stage.batch(_spec(stage), _scripts(overloaded), adjust)
    async with opened as batch, running(batch), anyio.create_task_group() as group:
        yield batch, lambda: group.start_soon(let_pass)
        group.cancel_scope.cancel()


def _spec(stage: Stage) -> BatchSpec:
    return stage.spec(*map(ticket, NAMES), slots=6, max_retries=0)


def _scripts(step: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {name: [WRITE, step, *LAST] for name in NAMES} | {"calm.2": FORK_SCRIPT}


@pytest.mark.parametrize(
    ("waiting", "state", "over"), [(queued_again, State.QUEUED, (0, 1)), (parked, State.PARKED, (0, 2))]
)
async def test_every_verb_on_a_ticket_that_waits(
    stage: Stage,
    waiting: Callable[[Stage], AbstractAsyncContextManager[Waiting]],
    state: State,
    over: tuple[int, ...],
) -> None:
    """What it is told holds it back or waits with it; nothing is paid before it may go on."""
    assert covers(*NAMES[:-1], "fork", "rewind", "budget", "priority", NOT_RESTING)
    once, twice = (FRESH,), (FRESH, RESUME)
    waits = End(state, (0, 1), once, ("task",))
    ends = {
        "interrupt": End(State.PAUSED, (0, 1), once, ("task",)),
        "cancel": End(State.CANCELLED, (0, 1), once, ("task",)),
        "message": replace(waits, messages=1),
        "start-over": replace(waits, state=State.QUEUED),
        "calm": waits,
        "calm.2": End(State.QUEUED, sessions=0),
    }
    async with waiting(stage) as (batch, go_on):
        await come_to(stage, batch, dict.fromkeys(NAMES, waits))
        await refuses(batch, "calm", NOT_RESTING)
        await sets_limits(batch, "calm")
        await takes_files_back(stage, batch, "calm")
        await forks(stage, batch, "calm")
        for verb in NAMES[:-1]:
            await accepts(batch, verb, verb)
        await come_to(stage, batch, ends)
        go_on()
        ends |= {
            "message": End(State.DONE, (0, 1, 2), twice, ("task", HEAR)),
            "start-over": End(State.DONE, (0, 1, *over), (FRESH, FRESH), ("task", "task"), sessions=2),
            "calm": End(State.DONE, (0, 1, 2), twice, ("task", "continue")),
            "calm.2": End(State.DONE, (0,), (Mode.FORK,), (TRY,)),
        }
        await come_to(stage, batch, ends)
        await stay_so(stage, batch, ends)
