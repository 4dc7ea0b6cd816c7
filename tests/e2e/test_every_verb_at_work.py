"""Every verb on real agents that start, or that are at work in each of the ways there are."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core.asks import AnswerKind, AskAnswer, AskState
from supervisor.core.model import Mode, Outcome, State
from supervisor.engine.process import descendants
from tests.e2e.every_verb import (
    BUSY,
    ENDLESS,
    FORK_SCRIPT,
    HEAR,
    LATER,
    UNBEGUN,
    WRITE,
    End,
    accepts,
    come_to,
    covers,
    forks,
    refuses,
    saw_its_file,
    sets_limits,
    stay_so,
)
from tests.e2e.stage import Stage, bash, running, say, ticket, until, until_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.engine.batch import Batch
    from supervisor.engine.context import Engine

pytestmark = [pytest.mark.anyio, pytest.mark.cli, pytest.mark.timeout(240)]
NAMES = ("interrupt", "cancel", "message", "calm")
OVERLOADED = {"status": 529, "times": 1, "retry_after": 10}
"""Longer than the test takes, and so short that the agent waits by itself and its ticket is not parked."""
WORDS = [say("One."), say("Two.")]


@dataclass(frozen=True, slots=True)
class Work:
    """One way of being at work."""

    name: str
    step: Callable[[Stage, str], dict[str, Any]]
    """What brings the ticket of a name there; how it ends is up to ``release``."""
    is_there: Callable[[Stage, Batch, str], bool]
    state: State = State.RUNNING
    release: Callable[[Stage, Batch, str], None] = lambda stage, batch, ident: None
    """Lets a turn go on that would not end by itself."""
    ends: bool = True
    """The turn ends once it was released; else only a message that does not wait for that gets through."""
    ticket: dict[str, Any] = field(default_factory=dict)


def _gate(stage: Stage, ident: str) -> Path:
    return stage.root / f"go-{ident}"


def _open(stage: Stage, _: Batch, ident: str) -> None:
    _gate(stage, ident).touch()


def _waits(stage: Stage, ident: str) -> str:
    return f"touch here; while ! test -e {_gate(stage, ident)}; do sleep 0.05; done"


def _is_here(_: Stage, batch: Batch, ident: str) -> bool:
    return (batch.engine.worktrees.path(ident) / "here").exists()


def _streams(stage: Stage, _: Batch, ident: str) -> bool:
    return len(stage.served(ident)) == 2


def _retries(_: Stage, batch: Batch, ident: str) -> bool:
    return batch.board[ident].until is not None


def _asks(_: Stage, batch: Batch, ident: str) -> bool:
    return batch.board[ident].asks == 1


def _allow(_: Stage, batch: Batch, ident: str) -> None:
    (ask,) = batch.engine.asks.waiting(ident)
    batch.answer(AskAnswer(ask.id, AnswerKind.ALLOW, seen_version=ask.version), lambda _: None)


WORKS = (
    Work("streams", lambda stage, ident: ENDLESS, _streams, ends=False),
    Work("uses a tool", lambda stage, ident: bash(_waits(stage, ident)), _is_here, release=_open),
    Work("is retried", lambda stage, ident: OVERLOADED, _retries, ends=False),
    Work(
        "asks",
        lambda stage, ident: bash("sh -c 'echo one > one'"),
        _asks,
        State.NEEDS_YOU,
        _allow,
        ticket={"allowed_tools": ()},
    ),
)


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
async def test_every_verb_while_an_agent(stage: Stage, work: Work) -> None:
    scripts = {name: [WRITE, work.step(stage, name), *WORDS] for name in NAMES} | {"calm.2": FORK_SCRIPT}
    spec = stage.spec(*(ticket(name, **work.ticket) for name in NAMES), slots=6)
    assert covers("interrupt", "cancel", "message", "fork", "budget", "priority", BUSY)

    async def there(ident: str) -> None:
        await until(lambda: work.is_there(stage, batch, ident), 40)
        await saw_its_file(stage, batch, ident)
        assert (batch.board[ident].state, batch.board[ident].live) == (work.state, True)

    async def stopped(verb: str) -> None:
        await there(verb)
        assert "its turn stops" in await accepts(batch, verb, verb)

    async def told() -> None:
        await there("message")
        await accepts(batch, "message", "message", text=HEAR, now=True)
        await accepts(batch, "message", "message", text=LATER)

    async def left_at_work() -> None:
        await there("calm")
        await refuses(batch, "calm", BUSY)
        await sets_limits(batch, "calm")
        await forks(stage, batch, "calm")
        await accepts(batch, "message", "calm", text=HEAR, now=not work.ends)
        assert batch.board["calm"].state is work.state
        work.release(stage, batch, "calm")

    stopped_end = End(State.PAUSED, (0, 1), (Mode.FRESH,), ("task",))
    ends = {
        "interrupt": stopped_end,
        "cancel": End(State.CANCELLED, (0, 1), (Mode.FRESH,), ("task",)),
        "message": End(State.DONE, (0, 1, 2, 3), (Mode.FRESH,), ("task", HEAR, LATER)),
        "calm": End(State.DONE, (0, 1, 2, 3) if work.ends else (0, 1, 2), (Mode.FRESH,), ("task", HEAR)),
        "calm.2": End(State.DONE, (0,), (Mode.FORK,), ("Try it in another way.",)),
    }
    async with stage.batch(spec, scripts) as batch:
        async with running(batch):
            async with anyio.create_task_group() as group:
                for verb in ("interrupt", "cancel"):
                    group.start_soon(stopped, verb)
                group.start_soon(told)
                group.start_soon(left_at_work)
            await come_to(stage, batch, ends)
        for verb in ("interrupt", "cancel"):
            (attempt,) = await batch.engine.journal.store.attempts(verb)
            assert attempt.outcome is Outcome.INTERRUPTED
            assert batch.board[verb].session_id == attempt.session_id, "a resume finds it"
        await stay_so(stage, batch, ends)
        asked = {a.ticket: a.state for a in batch.board.asks()}
        assert asked == (
            {
                "interrupt": AskState.RESTING,
                "cancel": AskState.WITHDRAWN,
                "message": AskState.WITHDRAWN,
                "calm": AskState.ANSWERED,
            }
            if work.name == "asks"
            else {}
        )


@dataclass(frozen=True, slots=True)
class Start:
    """One way of being about to begin."""

    name: str
    fork: Mapping[str, str]
    """Why there is nothing to fork yet."""
    attempts: int
    """How many are on the disk."""
    ticket: Callable[[Stage, str], dict[str, Any]] = lambda stage, ident: {}


def _setup(stage: Stage, ident: str) -> dict[str, Any]:
    return {"setup": ("sh", "-c", _waits(stage, ident))}


STARTS = (
    Start("its files are set up", {"fork": UNBEGUN["fork"]}, 0, _setup),
    Start("its agent connects", {"fork": "has not reached the disk: try again in a moment"}, 1),
)
_SLOW_CLI = """\
#!/bin/sh
if [ "$1" != -v ]; then
  ident=$(basename "$PWD")
  touch here
  while ! test -e {root}/go-"$ident"; do sleep 0.05; done
fi
exec {cli} "$@"
"""
"""The real CLI, once it is let."""


def _slow_cli(stage: Stage) -> Path:
    path = stage.root / "slow-cli"
    path.write_text(_SLOW_CLI.format(root=stage.root, cli=stage.cli))
    path.chmod(0o700)
    return path


@pytest.mark.parametrize("start", STARTS, ids=lambda start: start.name)
async def test_every_verb_while_a_ticket_starts_and(stage: Stage, start: Start) -> None:
    names = (*NAMES, "now")
    scripts = {name: [say("One."), say("Two."), say("Three.")] for name in names}
    spec = stage.spec(*(ticket(name, **start.ticket(stage, name)) for name in names), slots=6)
    if start.attempts:
        stage.cli = _slow_cli(stage)
    refused = {**BUSY, **start.fork}
    assert covers("interrupt", "cancel", "message", "budget", "priority", refused)
    none = () if not start.attempts else (Mode.FRESH,)
    ends = {
        "interrupt": End(State.PAUSED, (), none, (), start.attempts),
        "cancel": End(State.CANCELLED, (), none, (), start.attempts),
        "message": End(State.DONE, (0, 1, 2), (Mode.FRESH,), ("task", HEAR, LATER)),
        "now": End(State.DONE, None, (Mode.FRESH,), ("task", HEAR)),
        "calm": End(State.DONE, (0,), (Mode.FRESH,), ("task",)),
    }

    def adjust(engine: Engine) -> None:
        engine.starts = anyio.CapacityLimiter(len(names))

    async with stage.batch(spec, scripts, adjust) as batch:
        async with running(batch):
            await until(lambda: all(_is_here(stage, batch, name) for name in names), 40)
            assert {t.state for t in batch.board} == {State.STARTING}
            await refuses(batch, "calm", refused)
            await sets_limits(batch, "calm")
            await accepts(batch, "message", "now", text=HEAR, now=True)
            for words in (HEAR, LATER):
                await accepts(batch, "message", "message", text=words)
            for verb in ("interrupt", "cancel"):
                assert "its turn stops" in await accepts(batch, verb, verb)
            assert batch.board["calm"].state is State.STARTING
            await until_state(batch, "interrupt", State.PAUSED)
            await until_state(batch, "cancel", State.CANCELLED)
            for name in ("calm", "message", "now"):
                _open(stage, batch, name)
            await come_to(stage, batch, ends)
        await stay_so(stage, batch, ends)
        places = {str(batch.engine.worktrees.path(name)) for name in names}
    assert not [p for p in descendants(os.getpid()) if _directory(p.pid) in places], "nothing is left that would start"


def _directory(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return ""
