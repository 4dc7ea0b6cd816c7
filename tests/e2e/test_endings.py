"""Every ending of an attempt, on the real CLI against the scripted API."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core.model import Mode, Outcome, State, Why
from tests.e2e.stage import Stage, agents, bash, is_written, say, ticket, until, until_state, use

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.core.model import AttemptRecord, TicketSnapshot
    from supervisor.engine.batch import Batch

pytestmark = [pytest.mark.anyio, pytest.mark.cli]
WRITE = use("Write", "I write it.", file_path="new.txt", content="new\n")


async def _attempts(batch: Batch, ident: str = "001") -> tuple[AttemptRecord, ...]:
    return await batch.engine.journal.store.attempts(ident)


async def _play(stage: Stage, steps: list[dict[str, Any]], **more: Any) -> tuple[TicketSnapshot, list[AttemptRecord]]:
    async with stage.batch(stage.spec(ticket(**more)), {"001": steps}) as batch:
        await batch.pool.run()
        return batch.board["001"], list(await _attempts(batch))


async def test_success(stage: Stage) -> None:
    snapshot, (attempt,) = await _play(stage, [WRITE, say("All done.")])
    assert (snapshot.state, snapshot.subtype, snapshot.terminal_reason) == (State.DONE, "success", "completed")
    assert (attempt.outcome, attempt.mode, attempt.is_error) == (Outcome.DONE, Mode.FRESH, False)
    assert attempt.pid is not None
    assert attempt.ended is not None
    assert snapshot.turns == attempt.num_turns == 2
    assert snapshot.spent_usd == pytest.approx(attempt.cost_usd)
    assert snapshot.spent_usd > 0
    worktree = stage.state_dir / "worktrees" / "001"
    assert (worktree / "new.txt").read_text() == "new\n"
    assert not (stage.repo / "new.txt").exists(), "the operator's own tree is left alone"
    assert snapshot.branch == "supervise/stage/001"


async def test_max_turns(stage: Stage) -> None:
    snapshot, (attempt,) = await _play(stage, [WRITE, say("Never said.")], max_turns=1)
    assert (snapshot.state, snapshot.why, snapshot.subtype) == (State.NEEDS_YOU, Why.LIMIT, "error_max_turns")
    assert (attempt.outcome, attempt.terminal_reason) == (Outcome.LIMIT, "max_turns")
    assert "maximum number of turns" in attempt.errors[0]


async def test_max_budget(stage: Stage) -> None:
    big = {"usage": {"input": 500_000, "output": 20_000}}
    snapshot, (attempt,) = await _play(stage, [{**WRITE, **big}, say("Never said.")], budget_usd=0.5)
    assert (snapshot.state, snapshot.why, snapshot.subtype) == (State.NEEDS_YOU, Why.LIMIT, "error_max_budget_usd")
    assert attempt.terminal_reason == "budget_exhausted"
    assert attempt.cap_usd == pytest.approx(0.45)
    assert snapshot.headroom_usd is not None
    assert snapshot.headroom_usd < 0.05


async def test_overloaded_for_a_while(stage: Stage) -> None:
    """The CLI gives up after its own retries; the ticket is parked and resumes the same session."""
    steps = [WRITE, {"status": 529, "times": 6}, say("All done.")]
    async with stage.batch(stage.spec(ticket(), max_retries=1), {"001": steps}) as batch:
        await batch.pool.run()
        attempts = await _attempts(batch)
        assert batch.board["001"].state is State.DONE
    assert [a.outcome for a in attempts[:-1]] == [Outcome.API_ERROR] * (len(attempts) - 1)
    assert len(attempts) > 1
    assert {a.mode for a in attempts[1:]} == {Mode.RESUME}
    assert len({a.session_id for a in attempts}) == 1
    assert attempts[0].api_error_status == 529


async def test_unauthorized_needs_the_operator(stage: Stage) -> None:
    async with stage.batch(stage.spec(ticket(), max_retries=0), {"001": [{"status": 401, "times": -1}]}) as batch:
        await batch.pool.run()
        snapshot = batch.board["001"]
        (attempt,) = await _attempts(batch)
    assert (snapshot.state, snapshot.why) == (State.NEEDS_YOU, Why.AUTH)
    assert (attempt.outcome, attempt.api_error_status) == (Outcome.API_ERROR, 401)


async def test_a_request_that_is_refused_fails(stage: Stage) -> None:
    snapshot, (attempt,) = await _play(stage, [{"status": 400, "times": -1, "text": "no such thing"}])
    assert snapshot.state is State.FAILED
    assert "400" in snapshot.detail
    assert (attempt.outcome, attempt.subtype, attempt.terminal_reason) == (Outcome.API_ERROR, "success", "api_error")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"endless": True, "times": -1}, "aborted_streaming"),
        (bash("echo started > started; sleep 60"), "aborted_tools"),
    ],
    ids=["stream", "tool"],
)
async def test_interrupted(stage: Stage, step: dict[str, Any], reason: str) -> None:
    async with stage.batch(stage.spec(ticket()), {"001": [WRITE, step]}) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            await until(lambda: len(stage.served("001")) == 2)
            if reason == "aborted_tools":
                await until((stage.state_dir / "worktrees" / "001" / "started").exists)
            batch.submit("interrupt", ["001"])
            assert batch.board["001"].pending == "interrupt", "the mark is there before the engine has answered"
            await until_state(batch, "001", State.PAUSED)
        snapshot = batch.board["001"]
        (attempt,) = await _attempts(batch)
    assert (attempt.outcome, attempt.terminal_reason) == (Outcome.INTERRUPTED, reason)
    assert snapshot.session_id == attempt.session_id
    assert snapshot.pending is None


async def test_a_killed_agent_resumes_its_session(stage: Stage) -> None:
    steps = [WRITE, bash("touch here; sleep 30"), say("All done.")]
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            await until((stage.state_dir / "worktrees" / "001" / "here").exists)
            await until(lambda: is_written(stage.root, "touch here"))
            (agent,) = agents()
            os.kill(agent.pid, signal.SIGKILL)
        snapshot, attempts = batch.board["001"], await _attempts(batch)
    assert snapshot.state is State.DONE
    assert [(a.outcome, a.mode) for a in attempts] == [(Outcome.CRASHED, Mode.FRESH), (Outcome.DONE, Mode.RESUME)]
    assert attempts[0].exit_code == -9
    assert attempts[0].session_id == attempts[1].session_id


_ODD_CLI = """\
#!{python}
import os, signal, subprocess, sys
once = {once!r}
if os.path.exists(once):
    os.execv({cli!r}, [{cli!r}, *sys.argv[1:]])
open(once, "w").close()
real = subprocess.Popen([{cli!r}, *sys.argv[1:]], stdout=subprocess.PIPE)
signal.signal(signal.SIGTERM, lambda *_: real.terminate())
for line in real.stdout:
    sys.stdout.buffer.write(line)
    if {after!r}.encode() in line:
        for extra in {extra!r}:
            sys.stdout.buffer.write(extra.encode() + b"\\n")
        if {end!r}:
            sys.stdout.buffer.flush()
            real.kill()
            os._exit(0)
    sys.stdout.buffer.flush()
sys.exit(real.wait())
"""
"""The real CLI behind a filter that, in its first run, adds lines to its output or ends it."""


def _odd_cli(stage: Stage, *, after: str, extra: tuple[str, ...] = (), end: bool = False) -> Path:
    path, once = stage.root / "odd-cli", str(stage.root / "once")
    path.write_text(
        _ODD_CLI.format(python=sys.executable, cli=str(stage.cli), once=once, after=after, extra=extra, end=end)
    )
    path.chmod(0o700)
    return path


async def test_an_agent_that_ends_without_a_result_is_a_crash(stage: Stage) -> None:
    stage.cli = _odd_cli(stage, after="I write it.", end=True)
    snapshot, attempts = await _play(stage, [WRITE, say("All done.")])
    assert snapshot.state is State.DONE
    assert attempts[0].outcome is Outcome.CRASHED
    assert attempts[0].exit_code in (None, 0)
    assert "without a result" in attempts[0].detail
    assert attempts[-1].outcome is Outcome.DONE


async def test_crashes_without_progress_are_bounded(stage: Stage) -> None:
    path = stage.root / "broken"
    path.write_text("#!/bin/sh\necho something is broken >&2\nkill -9 $$\n")
    path.chmod(0o700)
    stage.cli = path
    snapshot, attempts = await _play(stage, [], max_attempts=2)
    assert snapshot.state is State.FAILED
    assert [a.outcome for a in attempts] == [Outcome.CRASHED] * 2
    assert "something is broken" in attempts[0].stderr_tail


async def test_a_two_megabyte_line_is_just_a_long_line(stage: Stage) -> None:
    snapshot, (attempt,) = await _play(stage, [say("All done.", size=2_000_000)])
    assert (snapshot.state, attempt.outcome) == (State.DONE, Outcome.DONE)


async def test_messages_of_unknown_kinds_are_counted_and_passed_over(stage: Stage) -> None:
    lines = (
        '{"type":"brand_new","uuid":"x"}',
        '{"type":"system","subtype":"brand_new","uuid":"x","session_id":"y"}',
        '{"type":"result","uuid":"x"}',
        '{"type":"assistant","message":{"content":"not a list"}}',
    )
    stage.cli = _odd_cli(stage, after="I write it.", extra=lines)
    async with stage.batch(stage.spec(ticket()), {"001": [WRITE, say("All done.")]}) as batch:
        await batch.pool.run()
        assert batch.board["001"].state is State.DONE
        assert batch.board.unknown >= 4


async def test_twelve_tickets_at_once(stage: Stage) -> None:
    idents = [f"{n:03}" for n in range(12)]
    scripts = {i: [WRITE, say(f"Done with {i}.")] for i in idents}
    async with stage.batch(stage.spec(*map(ticket, idents), slots=12), scripts) as batch:
        await batch.pool.run()
        assert {t.state for t in batch.board} == {State.DONE}
        assert len({t.session_id for t in batch.board}) == 12
    heads = stage.repo / ".git" / "refs" / "heads" / "supervise" / "stage"
    assert {p.name for p in heads.iterdir()} == set(idents)
