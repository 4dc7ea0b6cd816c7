"""The effect runner over a real ledger, without any agent: what breaks is told apart, and breaks nothing else."""

from __future__ import annotations

import threading
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core.board import Board
from supervisor.core.effects import EffectRecord, EffectRequest, EffectState
from supervisor.core.rulings import DecisionVerb
from supervisor.core.spec import EffectSpec
from supervisor.engine.desk import EffectDesk, Ruling
from supervisor.engine.effect_caller import EffectCaller, tell
from supervisor.engine.effects import EffectRunner
from supervisor.store.ledger import Ledger
from supervisor.store.tickets import TicketStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from supervisor.core.errors import StoreError

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def _runner(tmp_path: Path, *specs: EffectSpec) -> AsyncIterator[EffectRunner]:
    store = TicketStore(tmp_path / "state.db")
    await store.open()
    by_name = {s.name: s for s in specs}
    desk = EffectDesk(Ledger(store.database), Board(), by_name)
    await desk.open()
    async with anyio.create_task_group() as group:
        yield EffectRunner(desk, by_name, group, tmp_path)
    await store.close()


def _sh(script: str, name: str = "post", **more: Any) -> EffectSpec:
    return EffectSpec(name, kind="once", description="x", command=("sh", "-c", script), **more)


def _py(function: str, name: str = "post", **more: Any) -> EffectSpec:
    return EffectSpec(name, kind="once", description="x", handler=f"{__name__}:{function}", **more)


async def _do(runner: EffectRunner, name: str = "post", payload: Any = None) -> EffectRecord:
    claim = await runner.desk.claim(EffectRequest("001", name, effect=name, ticket="001", payload=payload or {}))
    return await runner.run(runner.specs[name], claim.record)


async def test_a_command_that_leaves_something_behind_has_ended_all_the_same(tmp_path: Path) -> None:
    async with _runner(tmp_path, _sh("echo fine; sleep 60 & exit 0")) as runner:
        with anyio.fail_after(30):
            record = await _do(runner)
    assert (record.state, record.outcome) == (EffectState.DONE, "fine")


async def test_output_is_bounded_and_made_text(tmp_path: Path) -> None:
    async with _runner(tmp_path, _sh(r"printf '\377ok'; head -c 100000 /dev/zero", max_output_bytes=1_000)) as runner:
        record = await _do(runner)
    assert record.state is EffectState.DONE
    assert str(record.outcome).startswith("\ufffdok")
    assert len(str(record.outcome)) <= 1_000


async def test_output_is_not_cut_in_the_middle_of_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cr3t-value-99")
    says = "printf 0123456789; printenv MY_TOKEN; head -c 1000 /dev/zero"
    async with _runner(tmp_path, _sh(says, max_output_bytes=16, env=("MY_TOKEN",))) as runner:
        record = await _do(runner)
    assert (record.state, record.outcome) == (EffectState.DONE, "0123456789[MY_TO")


async def test_a_command_in_a_relative_place_is_looked_for_beside_the_batch(tmp_path: Path) -> None:
    (tmp_path / "go.sh").write_text("#!/bin/sh\necho went\n")
    (tmp_path / "go.sh").chmod(0o700)
    spec = EffectSpec("post", kind="once", description="x", command=("./go.sh",))
    async with _runner(tmp_path, spec) as runner:
        assert (await _do(runner)).outcome == "went"


def odd(payload: Any, context: Any) -> Any:
    """A handler whose outcome JSON cannot hold."""
    return datetime(2026, 1, 5)


async def test_an_outcome_that_cannot_be_stored_is_still_done(tmp_path: Path) -> None:
    async with _runner(tmp_path, _py("odd")) as runner:
        record = await _do(runner)
    assert (record.state, record.outcome) == (EffectState.DONE, "datetime.datetime(2026, 1, 5, 0, 0)")


async def test_a_handler_that_cannot_be_imported_is_refused_and_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "broken_handler_module.py").write_text("import os\nos.environ['NO_SUCH_VARIABLE_HERE']\n")
    broken = EffectSpec("bad", kind="once", description="x", handler="broken_handler_module:f")
    async with _runner(tmp_path, broken, _sh("echo fine")) as runner:
        refused = await _do(runner, "bad")
        assert (await _do(runner)).state is EffectState.DONE
    assert refused.state is EffectState.REFUSED
    assert "KeyError" in refused.error


_gate = threading.Event()


def slow(payload: Any, context: Any) -> str:
    """A handler that goes on in its thread after its time is over."""
    _gate.wait(20)
    return "late"


async def test_a_thread_that_was_given_up_on_is_not_called_dead(tmp_path: Path) -> None:
    _gate.clear()
    async with _runner(tmp_path, _py("slow", timeout_s=0.1)) as runner:
        record = await _do(runner)
        assert record.state is EffectState.UNRESOLVED
        (view,) = runner.desk._board.effects()
        assert view.owner_dead is False, "it may still happen"
        _gate.set()
        with anyio.fail_after(30):
            while runner.is_executing("001:post"):  # noqa: ASYNC110 - a thread tells nobody
                await anyio.sleep(0.01)
        await runner.desk.refresh(record)
        assert runner.desk._board.effects()[0].owner_dead is True


async def test_leaving_for_good_makes_what_is_under_way_unresolved(tmp_path: Path) -> None:
    async with _runner(tmp_path, _sh("touch begun; sleep 60")) as runner:
        claim = await runner.desk.claim(EffectRequest("001", "post", effect="post", ticket="001", payload={}))
        async with anyio.create_task_group() as group:
            group.start_soon(runner.run, runner.specs["post"], claim.record)
            with anyio.fail_after(30):
                while not (tmp_path / "begun").exists():  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            assert runner.running == ("001:post",)
            runner.abandon_running()
        found = await runner.desk.ledger.by_key("001:post")
    assert (found.state, found.error) == (EffectState.UNRESOLVED, "it was left while it was under way")


async def test_once_more_wakes_only_when_it_is_granted(tmp_path: Path) -> None:
    async with _runner(tmp_path, _sh("exit 1")) as runner:
        record = await _do(runner)
        woken: list[EffectState] = []
        runner.desk.on_decided = lambda r: woken.append(r.state)
        granted = await runner.desk.once_more(Ruling("001:post", DecisionVerb.GRANT, record.version, "not there"))
    assert granted.state is EffectState.GRANTED
    assert woken == [EffectState.GRANTED]


class _Asker:
    ticket = scope = "001"
    stuck: EffectRecord | None = None
    lost = ""

    def said(self) -> str:
        return ""

    async def waits(self, record: EffectRecord) -> None:
        """Nothing waits here."""

    async def goes_on(self, record: EffectRecord) -> None:
        """Nothing waits here."""

    def is_stuck(self, record: EffectRecord) -> None:
        self.stuck = record

    def is_lost(self, effect: str, fault: StoreError) -> None:
        self.lost = f"{effect}: {fault}"


async def test_after_a_stuck_effect_nothing_else_is_begun(tmp_path: Path) -> None:
    async with _runner(tmp_path, _sh("exit 1", "aa"), _sh("touch happened", "bb")) as runner:
        caller = EffectCaller(runner, _Asker())
        first = await caller.call(runner.specs["aa"], {})
        second = await caller.call(runner.specs["bb"], {})
    assert "not known whether this happened" in first.text
    assert "another effect has to be settled first" in second.text
    assert not (tmp_path / "happened").exists()


async def test_a_payload_with_a_secret_is_refused_and_written_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "sesame-1234-open")
    monkeypatch.setenv("AUTH_MODE", "production")
    async with _runner(tmp_path, _sh("cat", key="{body}")) as runner:
        caller = EffectCaller(runner, _Asker())
        refused = await caller.call(runner.specs["post"], {"body": "with sesame-1234-open inside"})
        plain = await caller.call(runner.specs["post"], {"body": "production"})
    assert "the secret value of $MY_API_TOKEN" in refused.text
    assert plain.text == '{"body":"production"}'
    assert b"sesame" not in (tmp_path / "state.db").read_bytes()


def test_a_claim_without_an_end_is_not_told_as_undone() -> None:
    record = EffectRecord("001", "post", "once", "post", "001", EffectState.CLAIMED, 1, 1, 1, "", {}, "key")
    assert "not known" in tell(record).text
    assert "Nothing was done" not in tell(record).text


async def test_a_denial_is_told_with_its_reason(tmp_path: Path) -> None:
    async with _runner(tmp_path, _sh("touch happened", approval="always")) as runner:
        answers: list[str] = []

        async def call() -> None:
            answers.append((await EffectCaller(runner, _Asker()).call(runner.specs["post"], {})).text)

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await anyio.wait_all_tasks_blocked()
            await _asked(runner)
            await runner.desk.rule(Ruling("001:post", DecisionVerb.DENY, 1, "not on\x1b a Friday"))
    denied = "The operator denied this. It was not done. Go on without it. Their reason: not on\u241b a Friday"
    assert answers == [denied]
    assert not (tmp_path / "happened").exists()


async def _asked(runner: EffectRunner) -> None:
    with anyio.fail_after(30):
        while not runner.desk.waiting_for("001"):
            await anyio.wait_all_tasks_blocked()


async def test_who_found_that_it_did_not_happen_is_told_as_it_was(tmp_path: Path) -> None:
    tells = "that it did not happen. It is not run again unless the operator allows it"
    async with _runner(tmp_path, _sh("exit 1"), _sh("exit 1", "other", probe=("sh", "-c", "exit 65"))) as runner:
        one, other = await _do(runner), await _do(runner, "other")
        one = await runner.desk.rule(Ruling(one.key, DecisionVerb.NOT_DONE, one.version, "not there"))
        assert await runner.desk.take_proof(other, await runner.probe(other)) is None
        other = await runner.desk.ledger.by_key(other.key)
        told = [tell(record, "001", runner.desk.decision(record)).text for record in (one, other)]
    assert told[0].startswith(f"The operator settled this: they say {tells}")
    assert told[1].startswith(f"The other system was asked, and says {tells}")
