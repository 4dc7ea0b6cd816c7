"""Asks of real agents: what each answer does to the call, to the ticket and to what comes after a rest."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core.asks import AnswerKind, Ask, AskAnswer, AskKind, AskState
from supervisor.core.model import Mode, State, Why
from supervisor.engine.stopped import WITHDRAWN
from supervisor.leaving import exit_code
from tests.e2e.stage import Stage, agents, bash, say, ticket, until, until_state, use

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from supervisor.core.spec import TicketSpec
    from supervisor.engine.batch import Batch

pytestmark = [pytest.mark.anyio, pytest.mark.cli]
ALLOW, SESSION, DENY, STOP, REPLY = AnswerKind
QUESTIONS = [
    {
        "question": "Which database?",
        "header": "Database",
        "options": [{"label": "SQLite", "description": "small"}, {"label": "Postgres", "description": "big"}],
        "multiSelect": False,
    },
    {
        "question": "Which systems?",
        "header": "Systems",
        "options": [{"label": "Linux", "description": "one"}, {"label": "macOS", "description": "two"}],
        "multiSelect": True,
    },
]


def careful(**more: Any) -> TicketSpec:
    """A ticket that has to ask."""
    return ticket(**{"permission_mode": "default", "allowed_tools": (), **more})


@asynccontextmanager
async def running(batch: Batch) -> AsyncIterator[None]:
    """Run the batch as under the screen; it is stopped in the end."""
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: batch.pool.run(stay=True))
        yield
        batch.request_stop()


async def asked(batch: Batch, tool: str, summary: str = "") -> Ask:
    """Wait until an ask for a tool waits, and return it."""
    found: list[Ask] = []

    def waits() -> bool:
        found[:] = [a for a in batch.board.asks() if a.waits and a.tool == tool and summary in a.summary]
        return bool(found)

    await until(waits)
    return found[0]


async def answer(batch: Batch, ask: Ask, kind: AnswerKind, message: str = "", **more: Any) -> None:
    """Answer an ask as a screen would."""
    said: list[str | None] = []
    batch.answer(AskAnswer(ask.id, kind, message, seen_version=ask.version, **more), said.append)
    await until(lambda: said)
    assert said == [None]


def told(batch: Batch) -> list[str]:
    """What the agent was told by its tools."""
    return [e.text for e in batch.board.transcript("001").since() if e.kind.value == "result"]


def notes(batch: Batch) -> list[str]:
    """What the transcript notes."""
    return [e.text for e in batch.board.transcript("001").since() if e.kind.value == "note"]


async def prompt(batch: Batch) -> str:
    """The last prompt the agent was sent."""
    stored = await batch.engine.journal.store.last_prompt("001")
    assert stored is not None
    return stored.text


async def test_each_answer_to_an_agent_that_waits(stage: Stage) -> None:
    steps = [
        bash("touch one"),
        bash("touch two"),
        bash("touch three && rm three"),
        bash("touch three && rm three", text="Of the same kind."),
        use("AskUserQuestion", questions=QUESTIONS),
        use("Write", file_path="new.txt", content="new\n"),
        use("Write", "Another one.", file_path="sub/new.txt", content="new\n"),
        bash("touch five"),
        bash("touch three && rm three", text="After the rest."),
        say("All done."),
    ]
    async with stage.batch(stage.spec(careful()), {"001": steps}) as batch, running(batch):
        worktree = batch.engine.worktrees.path("001")
        ask = await asked(batch, "Bash", "touch one")
        snapshot = batch.board["001"]
        assert (snapshot.state, snapshot.why, snapshot.live) == (State.NEEDS_YOU, Why.APPROVE_TOOL, True)
        assert (snapshot.detail, snapshot.asks) == ("Bash touch one", 1)
        assert (ask.kind, ask.state, ask.input["command"]) == (AskKind.PERMISSION, AskState.OPEN, "touch one")
        await answer(batch, ask, ALLOW)
        await answer(batch, await asked(batch, "Bash", "touch two"), DENY, "Two is too much.")
        ask = await asked(batch, "Bash", "touch three")
        assert ask.rules == ("Bash(touch three *)", "Bash(rm three *)")
        await answer(batch, ask, SESSION)
        ask = await asked(batch, "AskUserQuestion")
        assert (batch.board["001"].why, batch.board["001"].detail) == (Why.QUESTION, "Which database?")
        await answer(batch, ask, REPLY, answers={"1": "SQLite", "Which systems?": ["Linux", "macOS"]})
        ask = await asked(batch, "Write", "new.txt")
        assert (ask.detail, ask.rules) == ("Write new.txt", ("Edit(./**)",))
        await answer(batch, ask, SESSION)
        await answer(batch, await asked(batch, "Bash", "touch five"), STOP, "I take over.")
        await until_state(batch, "001", State.PAUSED)
        assert [a.tool_use_id for a in batch.board.asks() if a.waits] == []
        results = told(batch)
        assert results[-1].startswith("The user doesn't want to proceed"), "a denial stays one"
        assert [(worktree / n).exists() for n in ("one", "two", "new.txt", "sub/new.txt", "five")] == [
            True, False, True, True, False,
        ]  # fmt: skip
        assert results[1] == "Two is too much."
        assert '"Which database?"="SQLite", "Which systems?"="Linux, macOS"' in results[4]
        assert not (worktree / ".claude").exists(), "nothing is written into the worktree's settings"
        batch.submit("resume", ["001"])
        await until_state(batch, "001", State.DONE)
        assert "The operator denied your call of Bash touch five: I take over." in await prompt(batch)
        assert [a.answer for a in batch.board.asks()] == [ALLOW, DENY, SESSION, REPLY, SESSION, STOP], "no more asks"
        assert batch.board["001"].denials == 2


async def test_a_plan_is_written_only_once_it_is_approved(stage: Stage) -> None:
    write = use("Write", "I write it.", file_path="new.txt", content="new\n")
    steps = [
        write,
        bash("touch one"),
        use("ExitPlanMode", "The plan stands."),
        use("ExitPlanMode", "The better plan stands."),
        {**write, "text": "As planned."},
        say("All done."),
    ]
    spec = stage.spec(careful(permission_mode="plan"))
    async with stage.batch(spec, {"001": steps}) as batch, running(batch):
        await answer(batch, await asked(batch, "Bash"), DENY)
        ask = await asked(batch, "ExitPlanMode")
        assert (ask.kind, batch.board["001"].why) == (AskKind.PLAN, Why.QUESTION)
        await answer(batch, ask, DENY, "It lacks tests.")
        await answer(batch, await asked(batch, "ExitPlanMode"), ALLOW)
        await answer(batch, await asked(batch, "Write"), ALLOW)
        await until_state(batch, "001", State.DONE)
        results = told(batch)
        assert "plan mode" in results[0], "refused without asking"
        assert results[2] == "It lacks tests."
        assert (batch.engine.worktrees.path("001") / "new.txt").exists()


async def test_what_asks_at_once_rests_at_an_interrupt_and_is_dropped_for_a_message(stage: Stage) -> None:
    both = {
        "text": "Both.",
        "tools": [{"name": "Read", "input": {"file_path": name}} for name in ("/etc/hostname", "/etc/hosts")],
    }
    steps = [both, bash("touch one"), bash("touch two"), say("All done.")]
    async with stage.batch(stage.spec(careful()), {"001": steps}) as batch, running(batch):
        await until(lambda: batch.board["001"].asks == 2)
        batch.submit("interrupt", ["001"])
        await until_state(batch, "001", State.PAUSED)
        first, second = batch.board.asks()
        assert (first.state, second.state) == (AskState.RESTING, AskState.RESTING)
        assert told(batch) == [WITHDRAWN, WITHDRAWN]
        await answer(batch, first, DENY, "It is private.")
        assert batch.board["001"].state is State.PAUSED, "what the operator stopped stays stopped"
        batch.submit("resume", ["001"])
        ask = await asked(batch, "Bash", "touch one")
        assert "Read /etc/hostname: It is private." in await prompt(batch)
        now = batch.board.ask(second.id)
        assert now is not None
        assert now.state is AskState.WITHDRAWN, "the ticket went on without it"
        batch.submit("message", ["001"], {"text": "Do the second thing only.", "now": True})
        second_ask = await asked(batch, "Bash", "touch two")
        now = batch.board.ask(ask.id)
        assert now is not None
        assert now.state is AskState.WITHDRAWN
        assert await prompt(batch) == "Do the second thing only."
        await answer(batch, second_ask, ALLOW)
        await until_state(batch, "001", State.DONE)


async def test_an_ask_outlives_its_agent_and_what_was_allowed_runs_once(stage: Stage) -> None:
    steps = [
        bash("touch one"),
        bash("touch one", text="As allowed."),
        bash("touch one", text="And once more."),
        say("All done."),
    ]
    silent = careful(ident="002", permission_mode="dontAsk")
    scripts = {"001": steps, "002": [bash("touch one"), say("All done.")]}
    async with stage.batch(stage.spec(careful(), silent), scripts) as batch:
        await batch.pool.run()  # without a screen the ticket is let rest
        snapshot, other = batch.board["001"], batch.board["002"]
        assert (other.state, other.denials) == (State.DONE, 1), "this one never asks"
        assert (snapshot.state, snapshot.why, snapshot.live) == (State.NEEDS_YOU, Why.APPROVE_TOOL, False)
        assert exit_code(batch.board) == 3
        assert agents() == []
    async with stage.batch(stage.spec(careful()), {"001": steps}) as batch, running(batch):
        (ask,) = batch.board.asks()
        assert (ask.state, batch.board["001"].state) == (AskState.RESTING, State.NEEDS_YOU)
        await answer(batch, ask, ALLOW)
        again = await asked(batch, "Bash")
        assert "allowed your call of Bash touch one, once" in await prompt(batch)
        assert "let through as you had allowed · Bash touch one" in notes(batch)
        now = batch.board.ask(ask.id)
        assert now is not None
        assert (now.answer, now.granted, again.id != ask.id) == (ALLOW, False, True)
        await answer(batch, again, DENY)
        await until_state(batch, "001", State.DONE)
        assert batch.board["001"].denials == 1, "what rested was not denied"
        modes = [a.mode for a in await batch.engine.journal.store.attempts("001")]
        assert modes == [Mode.FRESH, Mode.RESUME]
