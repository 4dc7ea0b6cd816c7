"""A restart: every ticket in its own session, nothing paid for twice, and a fresh session only when a resume failed."""

from __future__ import annotations

import os
import signal
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.model import Mode, Outcome, PromptKind, State, Why
from supervisor.engine import transcripts
from tests.e2e.stage import Stage, agents, bash, is_written, say, ticket, until, until_state, use

if TYPE_CHECKING:
    from supervisor.core.model import AttemptRecord
    from supervisor.core.spec import TicketSpec
    from supervisor.engine.batch import Batch

pytestmark = [pytest.mark.anyio, pytest.mark.cli]
WRITE = use("Write", "I write it.", file_path="new.txt", content="new\n")
AGAIN = use("Write", "I write it again.", file_path="new.txt", content="newer\n")
Steps = list[dict[str, Any]]


async def _attempts(batch: Batch, ident: str = "001") -> tuple[AttemptRecord, ...]:
    return await batch.engine.journal.store.attempts(ident)


async def _move(batch: Batch, to: State, ident: str = "001") -> None:
    await batch.engine.journal.emit(ev.StateChanged(ident, batch.engine.clock(), to))


async def _interrupted(stage: Stage, steps: Steps, spec: TicketSpec | None = None) -> str:
    """Run a ticket into its second, endless step and let the supervisor rest; return the session id."""
    async with stage.batch(stage.spec(spec or ticket()), {"001": steps}) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            await until(lambda: len(stage.served("001")) == 2)
            batch.request_stop()
        assert batch.board["001"].state is State.QUEUED
        assert batch.board["001"].session_id is not None
        return batch.board["001"].session_id


ENDLESS: dict[str, Any] = {"endless": True, "text": "and so on"}


async def test_a_rested_ticket_goes_on_in_its_session_and_pays_nothing_twice(stage: Stage) -> None:
    steps = [WRITE, ENDLESS, say("All done.")]
    session = await _interrupted(stage, steps)
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch:
        await batch.pool.run()
        attempts = await _attempts(batch)
        snapshot = batch.board["001"]
        prompts = [e for e in await batch.engine.journal.store.events("001") if isinstance(e, ev.PromptStored)]
    assert snapshot.state is State.DONE
    assert [(a.mode, a.session_id, a.outcome) for a in attempts] == [
        (Mode.FRESH, session, Outcome.INTERRUPTED),
        (Mode.RESUME, session, Outcome.DONE),
    ]
    assert [p.kind for p in prompts] == [PromptKind.TASK, PromptKind.CONTINUE]
    steps_served = [s.step for s in stage.served("001")]
    assert steps_served.count(0) == 1, "the first step was paid once"
    assert attempts[1].baseline_usd is not None
    assert attempts[1].baseline_usd == pytest.approx(attempts[0].cost_usd, abs=1e-6)
    assert snapshot.spent_usd == pytest.approx(sum(a.cost_usd for a in attempts))


async def test_a_stale_id_falls_back_once_to_a_fresh_session_with_the_facts(stage: Stage) -> None:
    steps = [WRITE, ENDLESS, say("All done.")]
    old = await _interrupted(stage, steps)
    stale = str(uuid.uuid4())
    _replace_session(stage, old, stale)
    async with stage.batch(stage.spec(ticket()), {"001": [WRITE, say("All done.")]}) as batch:
        await batch.pool.run()
        attempts = await _attempts(batch)
        snapshot = batch.board["001"]
        prompts = [e for e in await batch.engine.journal.store.events("001") if isinstance(e, ev.PromptStored)]
    assert snapshot.state is State.DONE
    assert [a.mode for a in attempts] == [Mode.FRESH, Mode.RESUME, Mode.FALLBACK]
    assert [a.outcome for a in attempts[1:]] == [Outcome.FAILED_RESUME, Outcome.DONE]
    assert attempts[1].session_id == stale
    assert attempts[2].resumed_from == stale
    assert snapshot.session_id == attempts[2].session_id not in (old, stale)
    assert "No conversation found" in attempts[1].detail
    assert prompts[-1].text.startswith("Do 001.")
    assert "new.txt (new)" in prompts[-1].text
    assert [s.step for s in stage.served("001")].count(0) == 2, "exactly one extra start was paid"


def _replace_session(stage: Stage, old: str, new: str) -> None:
    """What a lost transcript looks like: the database names a session that Claude Code does not know."""
    from supervisor.store.database import connect

    db = connect(stage.state_dir / "state.db")
    db.execute("UPDATE tickets SET session_id = ? WHERE session_id = ?", [new, old])
    db.close()
    path = transcripts.find(stage.root / "claude", old)
    assert path is not None
    # A file of that name that holds no conversation: it looks resumable until it is tried.
    path.with_name(f"{new}.jsonl").write_text("")


async def test_a_session_that_never_reached_the_disk_is_begun_under_the_same_id(stage: Stage) -> None:
    """The prompt is stored, the supervisor dies before the CLI has written anything."""
    spec, session, prompt = ticket(), str(uuid.uuid4()), str(uuid.uuid4())
    async with stage.batch(stage.spec(spec), {}) as batch:
        emit, now = batch.engine.journal.emit, batch.engine.clock()
        await emit(ev.StateChanged("001", now, State.STARTING))
        await emit(ev.AttemptStarted("001", now, number=1, mode=Mode.FRESH, session_id=session))
        await emit(ev.PromptStored("001", now, number=1, uuid=prompt, kind=PromptKind.TASK, text=spec.prompt))
    async with stage.batch(stage.spec(spec), {"001": [WRITE, say("All done.")]}) as batch:
        assert str(batch.recovered) == "recovered: 1 cut-off attempt closed"
        await batch.pool.run()
        attempts = await _attempts(batch)
        assert batch.board["001"].state is State.DONE
        last = await batch.engine.journal.store.last_prompt("001")
    assert [(a.mode, a.session_id, a.outcome) for a in attempts] == [
        (Mode.FRESH, session, Outcome.LOST),
        (Mode.FRESH, session, Outcome.DONE),
    ]
    assert last is not None
    assert (last.uuid, last.text) == (prompt, spec.prompt), "the same prompt under its own uuid"


@pytest.mark.parametrize(
    ("limit", "raised", "subtype"),
    [
        ({"max_turns": 1}, {"max_turns": 9}, "error_max_turns"),
        ({"budget_usd": 0.5}, {"budget_usd": 9.0}, "error_max_budget_usd"),
    ],
)
async def test_a_limit_is_raised_and_the_session_goes_on(
    stage: Stage, limit: dict[str, Any], raised: dict[str, Any], subtype: str
) -> None:
    steps = [{**WRITE, "usage": {"input": 500_000, "output": 20_000}}, say("All done.")]
    async with stage.batch(stage.spec(ticket(**limit)), {"001": steps}) as batch:
        await batch.pool.run()
        first = batch.board["001"]
        assert (first.state, first.why, first.subtype) == (State.NEEDS_YOU, Why.LIMIT, subtype)
    async with stage.batch(stage.spec(ticket(**raised)), {"001": steps}) as batch:
        assert batch.board["001"].state is State.NEEDS_YOU, "a restart alone raises nothing"
        await _move(batch, State.QUEUED)
        await batch.pool.run()
        attempts = await _attempts(batch)
        snapshot = batch.board["001"]
    assert snapshot.state is State.DONE
    assert [a.mode for a in attempts] == [Mode.FRESH, Mode.RESUME]
    assert len({a.session_id for a in attempts}) == 1
    assert snapshot.spent_usd == pytest.approx(sum(a.cost_usd for a in attempts))
    assert attempts[1].cost_usd < attempts[0].cost_usd, "the resumed call is counted by its difference"
    assert [s.step for s in stage.served("001")] == [0, 1]


async def test_paused_stays_paused_and_nothing_is_sent(stage: Stage) -> None:
    steps = [WRITE, ENDLESS, say("All done.")]
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch, anyio.create_task_group() as group:
        group.start_soon(batch.pool.run)
        await until(lambda: len(stage.served("001")) == 2)
        batch.submit("interrupt", ["001"])
        await until_state(batch, "001", State.PAUSED)
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch:
        await batch.pool.run()
        assert batch.board["001"].state is State.PAUSED
        assert len(await _attempts(batch)) == 1
        assert len(stage.served("001")) == 2


async def test_changed_instructions_are_said_in_the_next_prompt(stage: Stage) -> None:
    steps = [WRITE, ENDLESS, say("All done.")]
    await _interrupted(stage, steps)
    changed = ticket(prompt="Do it in another way.", rules="Never use tabs.")
    async with stage.batch(stage.spec(changed), {"001": steps}) as batch:
        assert batch.board["001"].stale_instructions
        await batch.pool.run()
        assert not batch.board["001"].stale_instructions
        last = await batch.engine.journal.store.last_prompt("001")
    assert last is not None
    assert "Do it in another way." in last.text
    assert "Never use tabs." in last.text


async def test_another_tickets_session_is_refused(stage: Stage) -> None:
    from supervisor.core.errors import StoreError

    steps = [WRITE, say("All done.")]
    async with stage.batch(stage.spec(ticket("001"), ticket("002")), {"001": steps, "002": steps}) as batch:
        await batch.pool.run()
        theirs = batch.board["002"].session_id
        assert theirs is not None
        stolen = ev.SessionReplaced("001", batch.engine.clock(), number=1, session_id=theirs)
        with pytest.raises(StoreError, match="UNIQUE"):
            await batch.engine.journal.emit(stolen)
        assert batch.board["001"].session_id != theirs


async def test_a_repeated_prompt_uuid_is_not_answered_twice(stage: Stage) -> None:
    """The fact behind the rule: the CLI echoes a uuid that it has seen, and makes no call."""
    from supervisor.engine.agent import SessionStart
    from supervisor.engine.session import ClaudeSession

    session, prompt = str(uuid.uuid4()), str(uuid.uuid4())
    async with stage.batch(stage.spec(ticket()), {"001": [say("All done."), say("Never said.")]}) as batch:
        launch = batch.engine.launch
        start = SessionStart(
            "001", 1, stage.repo, launch.cli, session, model="sonnet",
            env={"CLAUDE_CONFIG_DIR": str(launch.config_dir), **launch.env("001")},
        )  # fmt: skip
        assert await _one_turn(ClaudeSession(start, batch.engine.clock), prompt) is not None
        again = ClaudeSession(replace(start, attempt=2, resume=True), batch.engine.clock)
        assert await _one_turn(again, prompt, seconds=3.0) is None
        assert len(stage.served("001")) == 1


async def _one_turn(session: Any, prompt: str, seconds: float = 30.0) -> ev.TurnEnded | None:
    async with anyio.create_task_group() as group:
        await session.connect()
        group.start_soon(session.read)
        await session.send(prompt, "hello")
        found = None
        with anyio.move_on_after(seconds):
            while (event := await session.next_event()) is not None:
                if isinstance(event, ev.TurnEnded):
                    found = event
                    break
        await session.close()
        session.drain()
        group.cancel_scope.cancel()
    return found


async def test_the_baseline_after_a_kill_is_what_the_session_still_knows(stage: Stage) -> None:
    """The cost of a killed turn is lost to the session but not to us: it is estimated, once."""
    usage = {"usage": {"input": 100_000, "output": 1_000}}
    steps = [{**say("Part one."), **usage}, {**bash("touch here; sleep 60"), **usage}, {**say("All done."), **usage}]
    spec = ticket(verify=("sh", "-c", "test -e here"), verify_rounds=3)
    async with stage.batch(stage.spec(spec), {"001": steps}) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            await until((stage.state_dir / "worktrees" / "001" / "here").exists)
            await until(lambda: is_written(stage.root, "touch here"))
            (agent,) = agents()
            os.kill(agent.pid, signal.SIGKILL)
        attempts = await _attempts(batch)
        snapshot = batch.board["001"]
    assert snapshot.state is State.DONE
    assert [a.outcome for a in attempts] == [Outcome.CRASHED, Outcome.DONE]
    assert snapshot.estimated_usd > 0
    one_call = attempts[1].cost_usd
    assert attempts[0].cost_usd == pytest.approx(2 * one_call, rel=0.05), "one reported and one estimated call"
    assert snapshot.spent_usd == pytest.approx(3 * one_call, rel=0.05)
