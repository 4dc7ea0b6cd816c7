"""Every verb on real tickets that have come to rest, in each of the ways there are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.core.asks import AnswerKind, AskAnswer
from supervisor.core.model import Mode, State, Why
from supervisor.core.spec import EffectSpec
from tests.e2e.every_verb import (
    ENDLESS,
    FORK_SCRIPT,
    HEAR,
    NO_TURN,
    TRY,
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
    until_streaming,
)
from tests.e2e.stage import QUICK, Stage, agents, bash, running, say, ticket, until

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.engine.batch import Batch

pytestmark = [pytest.mark.anyio, pytest.mark.cli, pytest.mark.timeout(240)]
NAMES = ("message", "start-over", "cancel", "resume")
"""Of each, one verb takes it elsewhere; the last one is asked for all the others before."""
LAST = [say("One."), say("Two.")]
FRESH, RESUME = Mode.FRESH, Mode.RESUME


GOES_ON = End(State.DONE, (0, 2), (FRESH,), ("task",))


@dataclass(frozen=True, slots=True)
class Rest:
    """One way of having come to rest."""

    state: State
    why: Why | None
    step: dict[str, Any]
    """What brings the ticket there, after it has written a file."""
    refused: Mapping[str, str] = field(default_factory=dict)
    by: str = ""
    """The operator's verb that it rests by."""
    served: tuple[int, ...] = (0, 1)
    over: End = GOES_ON
    """What starting over comes to, by itself."""
    ticket: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the test is called."""
        return f"{self.state.value} {self.why.value}" if self.why else self.state.value


_IDLE = {"interrupt": NO_TURN}
_NOT_QUEUED = {"priority": "it does not wait for its turn"}
RESTS = (
    Rest(State.PAUSED, None, ENDLESS, _IDLE, "interrupt"),
    Rest(
        State.NEEDS_YOU,
        Why.LIMIT,
        say("First."),
        _IDLE,
        served=(0,),
        over=replace(GOES_ON, state=State.NEEDS_YOU, served=(0,)),
        ticket={"max_turns": 1},
    ),
    Rest(
        State.NEEDS_YOU,
        Why.APPROVE_TOOL,
        bash("sh -c 'echo one > one'"),
        _IDLE,
        over=replace(GOES_ON, served=(0, 1, 2)),
        ticket={"allowed_tools": ()},
    ),
    Rest(State.FAILED, None, {"status": 413, "times": 1, "text": "too long"}, _IDLE),
    Rest(
        State.DONE,
        None,
        say("All done."),
        _IDLE | _NOT_QUEUED | {"cancel": "is done already"},
        over=replace(GOES_ON, served=(0, 1)),
    ),
    Rest(
        State.CANCELLED,
        None,
        ENDLESS,
        _IDLE | _NOT_QUEUED | {"cancel": "is cancelled already", "message": "resume it first"},
        "cancel",
    ),
)


@pytest.mark.parametrize("rest", RESTS, ids=lambda rest: rest.name)
async def test_every_verb_on_a_ticket_that_is(stage: Stage, rest: Rest) -> None:
    names = [name for name in NAMES if name not in rest.refused]
    scripts = {name: [WRITE, rest.step, *LAST] for name in names} | {"resume.2": FORK_SCRIPT}
    moves = [name for name in names if name != "resume"]
    calm = ["fork", "rewind", "budget", *([] if "priority" in rest.refused else ["priority"])]
    assert covers(*names, *calm, rest.refused)
    spec = stage.spec(*(ticket(name, **rest.ticket) for name in names), slots=len(names))
    async with stage.batch(spec, scripts) as batch:
        if not rest.by:
            await batch.pool.run()
        async with running(batch):
            await _come_to_rest(stage, batch, rest, names)
            before = batch.board["resume"]
            await refuses(batch, "resume", rest.refused)
            assert batch.board["resume"] == before
            await sets_limits(batch, "resume", priority="priority" in calm)
            await forks(stage, batch, "resume")
            await takes_files_back(stage, batch, "resume")
            for name in (*moves, "resume"):
                await accepts(batch, name, name)
            if rest.why is Why.APPROVE_TOOL:
                await _allow(batch, "start-over")
            ends = _ends(rest, names)
            await come_to(stage, batch, ends)
        await stay_so(stage, batch, ends)
        assert (batch.engine.worktrees.path("resume.2") / "new.txt").exists()
        assert [a.ticket for a in batch.board.asks() if a.waits] == [], "what rested is dropped by whoever goes on"


async def _allow(batch: Batch, ident: str) -> None:
    """Allow what the agent of a ticket that was started over asks once more."""
    await until(lambda: batch.board[ident].live and batch.board[ident].asks)
    (ask,) = batch.engine.asks.waiting(ident)
    batch.answer(AskAnswer(ask.id, AnswerKind.ALLOW, seen_version=ask.version), lambda _: None)


async def _come_to_rest(stage: Stage, batch: Batch, rest: Rest, names: list[str]) -> None:
    if rest.by:
        await until_streaming(stage, batch, names)
        batch.submit(rest.by, names)
    await come_to(stage, batch, {name: End(rest.state, rest.served, (FRESH,), ("task",)) for name in names})
    assert {(t.why, t.live) for t in batch.board} == {(rest.why, False)}


def _ends(rest: Rest, names: list[str]) -> dict[str, End]:
    on = (*rest.served, rest.served[-1] + 1)
    over = rest.over
    assert over.served is not None
    ends = {
        "message": End(State.DONE, on, (FRESH, RESUME), ("task", HEAR)),
        "start-over": End(
            over.state, (*rest.served, *over.served), (FRESH, *over.modes), ("task", *over.prompts), sessions=2
        ),
        "cancel": End(State.CANCELLED, rest.served, (FRESH,), ("task",)),
        "resume": End(State.DONE, on, (FRESH, RESUME), ("task", "continue")),
    }
    return {name: ends[name] for name in names} | {"resume.2": End(State.DONE, (0,), (Mode.FORK,), (TRY,))}


async def test_every_verb_on_a_ticket_whose_effect_is_unresolved(stage: Stage) -> None:
    """Whatever takes it up again, no agent is paid before a person has said what became of the effect."""
    schema = {"type": "object", "required": ["body"], "properties": {"body": {"type": "string"}}}
    effect = EffectSpec("post", kind="once", description="Post.", input=schema, command=("sh", "-c", "exit 1"))
    post = {**QUICK, "text": "I post it.", "tool": "mcp__effects__post", "input": {"body": "hello"}}
    names = ("calm", "start-over")
    scripts = {name: [WRITE, post, *LAST] for name in names} | {"calm.2": FORK_SCRIPT}
    spec = stage.spec(*(ticket(name, effects=("post",)) for name in names), slots=2, effects={"post": effect})
    refused = {"interrupt": NO_TURN, "resume": "settle it first"}
    assert covers("message", "cancel", "start-over", "fork", "rewind", "budget", "priority", refused)
    stuck = (State.NEEDS_YOU, Why.UNRESOLVED_EFFECT)
    async with stage.batch(spec, scripts) as batch:
        async with running(batch):
            await until(lambda: {(t.state, t.why) for t in batch.board} == {stuck} and not agents(), 40)
            first = {name: tuple(s.step for s in stage.served(name)) for name in names}
            moves: list[tuple[str, State]] = []
            batch.board.listen(lambda e, _, after: moves.append((e.ticket, after.state)))

            async def comes_back(verb: str, ident: str) -> None:
                moves.clear()
                await accepts(batch, verb, ident)
                queued = (ident, State.QUEUED)
                await until(lambda: queued in moves and (batch.board[ident].state, batch.board[ident].why) == stuck)
                assert (ident, State.STARTING) not in moves

            await refuses(batch, "calm", refused)
            await sets_limits(batch, "calm")
            await takes_files_back(stage, batch, "calm")
            await comes_back("message", "calm")
            await comes_back("start-over", "start-over")
            await forks(stage, batch, "calm")
            await accepts(batch, "cancel", "calm")
            ends = {
                "calm": End(State.CANCELLED, first["calm"], (FRESH,), ("task",), messages=1),
                "start-over": End(State.NEEDS_YOU, first["start-over"], (FRESH,), ("task",)),
                "calm.2": End(State.DONE, (0,), (Mode.FORK,), (TRY,)),
            }
            await come_to(stage, batch, ends)
        await stay_so(stage, batch, ends)
        (attempt,) = await batch.engine.journal.store.attempts("start-over")
        assert batch.board["start-over"].session_id != attempt.session_id
