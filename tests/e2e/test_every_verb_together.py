"""Two verbs at once on one real ticket: whichever comes first, there is one right outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from supervisor.core.model import Mode, Outcome, State, Why
from tests.e2e.every_verb import (
    ENDLESS,
    FORK_SCRIPT,
    HEAR,
    TOLD,
    TRY,
    WRITE,
    End,
    come_to,
    saw_its_file,
    stay_so,
    until_streaming,
)
from tests.e2e.stage import Stage, bash, running, say, ticket, until, until_state

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.engine.batch import Batch

pytestmark = [pytest.mark.anyio, pytest.mark.cli, pytest.mark.timeout(240)]
FRESH, RESUME = Mode.FRESH, Mode.RESUME
LAST = [say("One."), say("Two.")]


def both_ways(*verbs: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return a ticket's name for each order in which two verbs can be given, and that order."""
    return [(" then ".join(order).replace(" ", "-"), order) for order in (verbs, verbs[::-1])]


def at_once(batch: Batch, ident: str, verbs: Iterable[str]) -> None:
    """Give verbs to a ticket without anything happening in between."""
    for verb in verbs:
        batch.submit(verb, [ident], TOLD.get(verb))


async def test_two_verbs_while_an_agent_streams(stage: Stage) -> None:
    """An interrupt holds a message back, a cancel is stronger than an interrupt, and nothing is paid after."""
    told, given_up = both_ways("interrupt", "message"), both_ways("interrupt", "cancel")
    names = [name for name, _ in told + given_up]
    spec = stage.spec(*map(ticket, names), slots=len(names))
    async with stage.batch(spec, {name: [WRITE, ENDLESS, *LAST] for name in names}) as batch:
        async with running(batch):
            await until_streaming(stage, batch, names)
            for name, verbs in told + given_up:
                at_once(batch, name, verbs)
            paused = End(State.PAUSED, (0, 1), (FRESH,), ("task",), messages=1)
            ends = {name: paused for name, _ in told}
            ends |= {name: End(State.CANCELLED, (0, 1), (FRESH,), ("task",)) for name, _ in given_up}
            await come_to(stage, batch, ends)
            for name in names:
                (attempt,) = await batch.engine.journal.store.attempts(name)
                assert attempt.outcome is Outcome.INTERRUPTED
            batch.submit("resume", [name for name, _ in told])
            ends |= {name: End(State.DONE, (0, 1, 2), (FRESH, RESUME), ("task", HEAR)) for name, _ in told}
            await come_to(stage, batch, ends)
        await stay_so(stage, batch, ends)


async def test_a_cancel_and_a_fork_while_an_agent_uses_a_tool(stage: Stage) -> None:
    """The ticket is given up, and the fork goes on from what it had said."""
    orders = both_ways("cancel", "fork")
    names = [name for name, _ in orders]
    wait = bash("touch here; sleep 60")
    scripts = {name: [WRITE, wait, *LAST] for name in names} | {f"{name}.2": FORK_SCRIPT for name in names}
    async with stage.batch(stage.spec(*map(ticket, names), slots=4), scripts) as batch:
        trees = {name: batch.engine.worktrees.path(name) for name in names}
        async with running(batch):
            for name, verbs in orders:
                await until((trees[name] / "here").exists, 40)
                await saw_its_file(stage, batch, name)
                at_once(batch, name, verbs)
            ends = {name: End(State.CANCELLED, (0, 1), (FRESH,), ("task",)) for name in names}
            ends |= {f"{name}.2": End(State.DONE, (0,), (Mode.FORK,), (TRY,)) for name in names}
            await until(lambda: len(list(batch.board)) == 4)
            await come_to(stage, batch, ends)
        await stay_so(stage, batch, ends)


async def test_a_budget_and_a_resume_of_a_ticket_that_has_used_its_budget_up(stage: Stage) -> None:
    """It goes on with the new budget, in its own session; a resume that came first has not used it up."""
    orders = both_ways("budget", "resume")
    names = [name for name, _ in orders]
    big = {**WRITE, "usage": {"input": 500_000, "output": 20_000}}
    spec = stage.spec(*(ticket(name, budget_usd=0.5) for name in names), slots=2)
    async with stage.batch(spec, {name: [big, *LAST] for name in names}) as batch:
        async with running(batch):
            for name, verbs in orders:
                await until_state(batch, name, State.NEEDS_YOU)
                assert batch.board[name].why is Why.LIMIT
                at_once(batch, name, verbs)
            ends = {name: End(State.DONE, (0, 1), (FRESH, RESUME), ("task", "continue")) for name in names}
            await come_to(stage, batch, ends)
            assert {t.budget_usd for t in batch.board} == {5.0}
        await stay_so(stage, batch, ends)


async def test_two_verbs_on_tickets_at_rest(stage: Stage) -> None:
    """Nobody is started in files that move; a message is heard once; of a cancel and a resume, the later holds."""
    rewound, told, given_up = both_ways("rewind", "resume"), both_ways("message", "resume"), ("resume", "cancel")
    orders = [*rewound, *told, ("given-up", given_up), ("taken-up", given_up[::-1])]
    names = [name for name, _ in orders]
    spec = stage.spec(*map(ticket, names), slots=len(names))
    async with stage.batch(spec, {name: [WRITE, ENDLESS, *LAST] for name in names}) as batch:
        async with running(batch):
            await until_streaming(stage, batch, names)
            batch.submit("interrupt", names)
            paused = End(State.PAUSED, (0, 1), (FRESH,), ("task",))
            await come_to(stage, batch, dict.fromkeys(names, paused))
            for name, verbs in orders:
                at_once(batch, name, verbs)
            on = End(State.DONE, (0, 1, 2), (FRESH, RESUME), ("task", "continue"))
            ends = dict.fromkeys(names, on) | {"given-up": replace(paused, state=State.CANCELLED)}
            ends |= {name: replace(on, prompts=("task", HEAR)) for name, _ in told}
            await come_to(stage, batch, ends)
        await stay_so(stage, batch, ends)
        for name, _ in rewound:
            assert not (batch.engine.worktrees.path(name) / "new.txt").exists()
            last = await batch.engine.journal.store.last_prompt(name)
            assert last is not None
            assert "The operator took the files back to how they were before prompt 1" in last.text
