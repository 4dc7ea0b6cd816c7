"""Forks of real agents: a copy of the conversation and of the files, while the parent goes on; kills and restarts."""

from __future__ import annotations

import json
import subprocess
import uuid
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core.cuts import CutKind
from supervisor.core.letters import Letter
from supervisor.core.model import Mode, State
from supervisor.core.spec import EffectSpec
from supervisor.engine import forking, mailroom, transcripts
from tests.e2e.stage import QUICK, Stage, bash, is_written, say, ticket, until, until_state, use

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.engine.batch import Batch

pytestmark = [pytest.mark.anyio, pytest.mark.cli]
WRITE = use("Write", "I write it.", file_path="new.txt", content="one\u2028two\x85\n")
SCHEMA = {"type": "object", "required": ["body"], "properties": {"body": {"type": "string"}}}
POST = {**QUICK, "text": "Now I post it.", "tool": "mcp__effects__post", "input": {"body": "hello"}}
TELL = {"prompt": "Try it in another way."}


def _steps(stage: Stage, ident: str) -> list[int | None]:
    """Return the steps of its script that a ticket's agent was served, one after the other."""
    return [s.step for s in stage.served(ident)]


def _lines(stage: Stage, batch: Batch, ident: str) -> list[dict[str, Any]]:
    path = transcripts.find(stage.root / "claude", batch.board[ident].session_id or "")
    assert path is not None
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def _tree(batch: Batch, ident: str) -> Path:
    return batch.engine.worktrees.path(ident)


def _status(path: Path) -> str:
    argv = ["git", "status", "--porcelain"]
    return subprocess.run(argv, cwd=path, capture_output=True, text=True, check=True, timeout=30).stdout


async def _child(batch: Batch, ident: str, *states: State) -> None:
    await until(lambda: ident in batch.board)
    await until_state(batch, ident, *states)


async def test_a_ticket_at_work_is_forked_and_both_end_well(stage: Stage) -> None:
    world, go = stage.root / "world", stage.root / "go"
    effect = EffectSpec(
        "post", kind="once", description="Post.", input=SCHEMA, command=("sh", "-c", f"echo x >> {world}; echo posted")
    )
    wait = bash(f"touch here; while ! test -e {go}; do sleep 0.05; done", text="I wait.")
    steps = [WRITE, wait, POST, say("All done.")]
    spec = stage.spec(ticket(effects=("post",), budget_usd=9.0), slots=2, effects={"post": effect})
    async with stage.batch(spec, {"001": steps}) as batch, anyio.create_task_group() as group:
        group.start_soon(batch.pool.run)
        await until((_tree(batch, "001") / "here").exists)
        await until(lambda: is_written(stage.root, "touch here"))
        batch.submit("fork", ["001"], TELL)
        await until((_tree(batch, "001.2") / "here").exists)
        assert batch.board["001"].state is State.RUNNING
        go.touch()
        await until(lambda: all(t.state is State.DONE for t in batch.board))
        parent, child = batch.board["001"], batch.board["001.2"]
        (first,) = await batch.engine.journal.store.attempts("001")
        (second,) = await batch.engine.journal.store.attempts("001.2")
        prompts = await batch.engine.journal.store.prompts("001.2")
        ours, theirs = _lines(stage, batch, "001.2"), _lines(stage, batch, "001")
    assert _steps(stage, "001") == [0, 1, 2, 3], "as if nothing had happened"
    assert _steps(stage, "001.2") == [1, 2, 3], "its agent knew of the first step, and of no other"
    assert (first.mode, parent.subtype, parent.terminal_reason) == (Mode.FRESH, "success", "completed")
    assert (second.mode, second.resumed_from, second.session_id) == (Mode.FORK, parent.session_id, child.session_id)
    assert second.baseline_usd == 0.0
    assert child.spent_usd == pytest.approx(parent.spent_usd * 3 / 4, rel=0.01), "nothing of the parent's past"
    assert world.read_text() == "x\n", "one effect for both"
    assert [p.text.splitlines()[0] for p in prompts] == ["Try it in another way."]
    assert (_tree(batch, "001.2") / "new.txt").read_bytes() == (_tree(batch, "001") / "new.txt").read_bytes()
    assert _status(_tree(batch, "001.2")) == "?? here\n?? new.txt\n"
    shared = {line["uuid"] for line in ours if "uuid" in line} & {line["uuid"] for line in theirs if "uuid" in line}
    assert any("\u2028" in json.dumps(line, ensure_ascii=False) for line in ours if line.get("uuid") in shared)
    assert {line["cwd"] for line in ours if line.get("cwd") and line["uuid"] not in shared} == {
        str(_tree(batch, "001.2"))
    }


async def test_forks_from_earlier_messages_and_of_a_fork(stage: Stage) -> None:
    more = use("Write", "And another.", file_path="more.txt", content="more\n")
    steps = [WRITE, say("First part."), more, say("Second part."), say("Third part.")]
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch, anyio.create_task_group() as group:
        group.start_soon(lambda: batch.pool.run(stay=True))
        await until_state(batch, "001", State.DONE)
        batch.submit("message", ["001"], {"text": "Go on."})
        await until(lambda: len(_steps(stage, "001")) == 4)
        await until_state(batch, "001", State.DONE)
        cuts = await forking.cut_points(batch.engine, "001")
        assert [(c.kind, c.words, c.prompt_number) for c in cuts] == [
            (CutKind.TOOLS, "Write: I write it.", 1),
            (CutKind.REPLY, "First part.", 1),
            (CutKind.TOOLS, "Write: And another.", 2),
            (CutKind.REPLY, "Second part.", 2),
        ]
        batch.submit("fork", ["001"], {**TELL, "at": cuts[1].uuid})
        await _child(batch, "001.2", State.DONE)
        assert _steps(stage, "001.2") == [2, 3]
        batch.submit("fork", ["001.2"], TELL)
        await _child(batch, "001.2.2", State.DONE)
        assert _steps(stage, "001.2.2") == [4]
        batch.submit("fork", ["001.2"], {**TELL, "at": cuts[0].uuid, "files": "now"})
        await _child(batch, "001.2.3", State.DONE)
        assert _steps(stage, "001.2.3") == [1], "from before the first fork"
        batch.request_stop()
        first = batch.board["001"].spent_usd / 4
        spent = {t.id: round(t.spent_usd / first) for t in batch.board}
    assert spent == {"001": 4, "001.2": 2, "001.2.2": 1, "001.2.3": 1}
    names = {ident: {p.name for p in _tree(batch, ident).iterdir()} - {".git"} for ident in spent}
    assert names["001.2"] == {"hello.txt", "new.txt", "more.txt"}
    assert names["001.2.3"] == {"hello.txt", "new.txt", "more.txt"}
    assert batch.board["001.2.2"].base_commit == batch.board["001"].base_commit


async def test_a_fork_from_before_a_compaction_is_told_what_was_said_and_not_the_summary(stage: Stage) -> None:
    """The CLI's own ``resume_session_at`` would show the summary to it, which tells of what came later."""
    full = {"usage": {"input": 990_000, "output": 10}}
    steps = [bash("true"), {**bash("echo 2"), **full}, bash("echo 3"), say("All done."), say("Again.")]
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch, anyio.create_task_group() as group:
        group.start_soon(lambda: batch.pool.run(stay=True))
        await until_state(batch, "001", State.DONE)
        assert any(line.get("subtype") == "compact_boundary" for line in _lines(stage, batch, "001"))
        first, *_, last = await forking.cut_points(batch.engine, "001")
        batch.submit("fork", ["001"], {**TELL, "at": first.uuid, "files": "now"})
        await _child(batch, "001.2", State.DONE)
        batch.submit("fork", ["001"], {**TELL, "at": last.uuid, "files": "now"})
        await _child(batch, "001.3", State.DONE)
        batch.request_stop()
    assert _steps(stage, "001.2")[0] == 1
    assert _steps(stage, "001.3") == [4]


async def test_a_letter_that_outlived_its_supervisor_is_carried_out_once(stage: Stage) -> None:
    steps = [WRITE, say("All done."), say("Done in another way.")]
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch:
        await batch.pool.run()
        letter = Letter(str(uuid.uuid4()), "001", "fork", batch.engine.clock(), {**TELL, "at": "", "files": "then"})
        await mailroom.post(batch.engine.journal, letter)
    for _ in range(2):
        async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch:
            assert [t.id for t in batch.board.rows()] == ["001", "001.2"]
            assert batch.board["001"].pending is None
            await batch.pool.run()
            assert batch.board["001.2"].state is State.DONE
    assert _steps(stage, "001.2") == [2]
