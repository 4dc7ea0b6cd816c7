"""Effects of real agents: run once, never cut off, and waiting for a person when nobody knows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.core.effects import EffectRequest, EffectState, Owner
from supervisor.core.model import Mode, State, Why
from supervisor.core.rulings import DecisionVerb
from supervisor.core.spec import EffectSpec
from supervisor.engine.desk import Ruling
from supervisor.store.ledger import Ledger
from supervisor.store.owner import this_process
from tests.e2e.stage import QUICK, Stage, say, ticket, until, until_state

if TYPE_CHECKING:
    from supervisor.core.effects import EffectRecord
    from supervisor.core.spec import BatchSpec
    from supervisor.engine.batch import Batch

pytestmark = [pytest.mark.anyio, pytest.mark.cli]
SCHEMA = {"type": "object", "required": ["body"], "properties": {"body": {"type": "string"}}}


def _effect(script: str, name: str = "post", **more: Any) -> EffectSpec:
    fields: dict[str, Any] = {"kind": "once", "description": "Post a comment.", "input": SCHEMA, **more}
    return EffectSpec(name, command=("sh", "-c", script), **fields)


def _call(name: str = "post", body: str = "hello", text: str = "Now I post it.") -> dict[str, Any]:
    return {**QUICK, "text": text, "tool": f"mcp__effects__{name}", "input": {"body": body}}


def _spec(stage: Stage, *effects: EffectSpec, **more: Any) -> BatchSpec:
    names = tuple(e.name for e in effects)
    return stage.spec(ticket(effects=names), effects={e.name: e for e in effects}, **more)


async def _record(batch: Batch, key: str = "001:post") -> EffectRecord:
    return await batch.engine.desk.ledger.by_key(key)


async def _prompt(batch: Batch) -> str:
    prompt = await batch.engine.journal.store.last_prompt("001")
    assert prompt is not None
    return prompt.text


def _told(batch: Batch) -> list[str]:
    return [e.text for e in batch.board.transcript("001").since() if e.kind.value == "result"]


async def test_an_effect_called_twice_runs_once(stage: Stage) -> None:
    world = stage.root / "world"
    effect = _effect(f'cat >> "{world}"; echo >> "{world}"; echo "comment 9001"')
    steps = [_call(), _call(text="Once more."), _call(body="other", text="With other words."), say("All done.")]
    async with stage.batch(_spec(stage, effect), {"001": steps}) as batch:
        await batch.pool.run()
        record = await _record(batch)
        assert batch.board["001"].state is State.DONE
        told = _told(batch)
        assert await batch.engine.desk.ledger.verify() == ()
    assert world.read_text() == '{"body":"hello"}\n'
    assert (record.state, record.outcome, record.attempt) == (EffectState.DONE, "comment 9001", 1)
    assert record.said == "Now I post it."
    assert told[0] == told[1] == "comment 9001"
    assert "body: before hello, now other" in told[2]
    assert "Nothing was done" in told[2]


async def test_a_command_gets_little_and_may_refuse(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "sesame-open-please")
    monkeypatch.setenv("OTHER_TOKEN", "not-for-you-at-all")
    effect = _effect('env > env.txt; echo "no $GH_TOKEN for you" >&2; exit 65', env=("GH_TOKEN",))
    async with stage.batch(_spec(stage, effect), {"001": [_call(), say("All done.")]}) as batch:
        await batch.pool.run()
        record = await _record(batch)
        assert batch.board["001"].state is State.DONE
        told = _told(batch)
    seen = (stage.repo / "env.txt").read_text()
    assert record.state is EffectState.REFUSED
    assert "certainly not applied" in told[0]
    assert f"SUPERVISOR_EFFECT_KEY={record.remote_key}" in seen
    assert "SUPERVISOR_TICKET=001" in seen
    assert "GH_TOKEN=sesame" in seen
    assert "OTHER_TOKEN" not in seen
    assert "sesame" not in told[0]
    assert b"sesame-open-please" not in (stage.state_dir / "state.db").read_bytes()


async def test_an_unknown_end_stops_the_ticket_until_a_person_settles_it(stage: Stage) -> None:
    effect = _effect("echo sent; echo 'connection reset' >&2; exit 1")
    steps = [_call(), say("All done.")]
    async with stage.batch(_spec(stage, effect), {"001": steps}) as batch, anyio.create_task_group() as group:
        group.start_soon(lambda: batch.pool.run(stay=True))
        await until_state(batch, "001", State.NEEDS_YOU)
        snapshot, record = batch.board["001"], await _record(batch)
        assert (snapshot.why, snapshot.detail) == (Why.UNRESOLVED_EFFECT, 'effect "post" unresolved')
        assert (record.state, record.error) == (EffectState.UNRESOLVED, "exit 1: connection reset")
        assert len(stage.served("001")) <= 2, "the model is told, but hardly asked"
        answers: list[str | None] = []
        stale = Ruling("001:post", DecisionVerb.DONE, record.version - 1, "I looked", outcome="comment 7")
        batch.rule(stale, answers.append)
        await until(lambda: len(answers) == 1)
        assert answers[0] is not None
        assert batch.board["001"].state is State.NEEDS_YOU
        batch.rule(
            Ruling("001:post", DecisionVerb.DONE, record.version, "I looked", outcome="comment 7"), answers.append
        )
        await until_state(batch, "001", State.DONE)
        assert answers[1] is None
        assert "post: comment 7" in await _prompt(batch)
        assert [a.mode for a in await batch.engine.journal.store.attempts("001")] == [Mode.FRESH, Mode.RESUME]
        batch.request_stop()


async def test_once_more_is_granted_to_one_call(stage: Stage) -> None:
    world = stage.root / "world"
    effect = _effect(f'echo once >> "{world}"; test $(wc -l < "{world}") -ge 2 || exit 1; echo "second try"')
    # An agent that is quicker than our interrupt calls again before that is granted; one that is not, when it is done.
    steps = [_call(), _call(text="Once more."), _call(text="And again."), say("All done.")]
    async with stage.batch(_spec(stage, effect), {"001": steps}) as batch, anyio.create_task_group() as group:
        group.start_soon(lambda: batch.pool.run(stay=True))
        await until_state(batch, "001", State.NEEDS_YOU)
        record = await _record(batch)
        ruling = Ruling("001:post", DecisionVerb.GRANT, record.version, "nothing arrived")
        batch.rule(ruling, lambda refused: None, once_more=True)
        await until_state(batch, "001", State.DONE)
        record = await _record(batch)
        assert (record.state, record.outcome, record.attempt) == (EffectState.DONE, "second try", 2)
        assert [row.verb for row in await batch.engine.desk.ledger.log(record)] == [
            "claim", "settle", "grant", "claim", "settle",
        ]  # fmt: skip
        batch.request_stop()


async def test_an_interrupt_does_not_cut_an_effect_off(stage: Stage) -> None:
    go, world = stage.root / "go", stage.root / "world"
    effect = _effect(f'touch "{world}.begun"; while ! test -e "{go}"; do sleep 0.05; done; echo done > "{world}"')
    async with stage.batch(_spec(stage, effect), {"001": [_call(), say("All done.")]}) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            await until((stage.root / "world.begun").exists)
            batch.submit("interrupt", ["001"])
            await until_state(batch, "001", State.PAUSED)
            assert (await _record(batch)).state is EffectState.CLAIMED
            go.touch()
        assert (await _record(batch)).state is EffectState.DONE, "leaving waited for it"
    assert world.read_text() == "done\n"


async def test_an_effect_has_a_deadline_of_its_own(stage: Stage) -> None:
    effect = _effect("echo $$ > pid.txt; sleep 60", timeout_s=0.5)
    async with stage.batch(_spec(stage, effect), {"001": [_call(), say("All done.")]}) as batch:
        await batch.pool.run()
        record = await _record(batch)
        assert batch.board["001"].why is Why.UNRESOLVED_EFFECT
    assert (record.state, record.error) == (EffectState.UNRESOLVED, "no end after 0.5 s")
    pid = int((stage.repo / "pid.txt").read_text())
    await until(lambda: not os.path.exists(f"/proc/{pid}"))  # noqa: PTH110


@pytest.mark.parametrize(
    ("verb", "told", "state"),
    [
        (DecisionVerb.APPROVE, "posted", EffectState.DONE),
        (DecisionVerb.DENY, "The operator denied this", EffectState.DENIED),
    ],
)
async def test_an_effect_that_asks_first(stage: Stage, verb: DecisionVerb, told: str, state: EffectState) -> None:
    effect = _effect("echo posted", approval="always")
    steps = [_call(), say("All done.")]
    async with stage.batch(_spec(stage, effect), {"001": steps}) as batch, anyio.create_task_group() as group:
        group.start_soon(lambda: batch.pool.run(stay=True))
        await until_state(batch, "001", State.NEEDS_YOU)
        snapshot, record = batch.board["001"], await _record(batch)
        assert (snapshot.why, snapshot.live) == (Why.APPROVE_EFFECT, True), "the model waits with it"
        assert record.state is EffectState.REQUESTED
        batch.rule(Ruling("001:post", verb, record.version, "because"), lambda refused: None)
        await until_state(batch, "001", State.DONE)
        assert (await _record(batch)).state is state
        assert told in _told(batch)[0]
        batch.request_stop()


async def test_a_request_is_kept_over_a_restart(stage: Stage) -> None:
    effect = _effect("echo posted", approval="always")
    steps = [_call(), _call(text="As approved."), say("All done.")]
    async with stage.batch(_spec(stage, effect), {"001": steps}) as batch:
        await batch.pool.run()  # without a screen the ticket is let rest
        snapshot = batch.board["001"]
        assert (snapshot.state, snapshot.why, snapshot.live) == (State.NEEDS_YOU, Why.APPROVE_EFFECT, False)
    async with stage.batch(_spec(stage, effect), {"001": steps}) as batch, anyio.create_task_group() as group:
        assert batch.board["001"].state is State.NEEDS_YOU
        group.start_soon(lambda: batch.pool.run(stay=True))
        record = await _record(batch)
        batch.rule(Ruling("001:post", DecisionVerb.APPROVE, record.version), lambda refused: None)
        await until_state(batch, "001", State.DONE)
        assert (await _record(batch)).outcome == "posted"
        batch.request_stop()


async def test_a_probe_settles_what_it_can_prove(stage: Stage) -> None:
    effect = _effect("exit 1", probe=("sh", "-c", "echo 'comment 9'"))
    async with stage.batch(_spec(stage, effect), {"001": [_call(), say("All done.")]}) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: batch.pool.run(stay=True))
            await until_state(batch, "001", State.NEEDS_YOU)
            assert batch.board.effects()[0].has_probe
            assert await batch.probe_effect("001:post") is None
            await until_state(batch, "001", State.DONE)
            batch.request_stop()
        record = await _record(batch)
        assert (record.state, record.outcome) == (EffectState.DONE, "comment 9")
        assert (await batch.engine.desk.ledger.log(record))[-1].actor_kind == "probe"


async def test_a_probe_that_cannot_tell_changes_nothing(stage: Stage) -> None:
    effect = _effect("exit 1", probe=("sh", "-c", "exit 75"))
    async with stage.batch(_spec(stage, effect), {"001": [_call(), say("All done.")]}) as batch:
        await batch.pool.run()
        said = await batch.probe_effect("001:post")
        assert said is not None
        assert "not made up its mind" in said
        assert (await _record(batch)).state is EffectState.UNRESOLVED


async def test_a_missing_command_is_refused_and_a_bad_input_is_told(stage: Stage) -> None:
    missing = EffectSpec("gone", kind="once", description="Gone.", input=SCHEMA, command=("no-such-program",))
    keyed = _effect("echo posted", key="{body}")
    steps = [
        _call("gone"), {**_call(), "input": {"wrong": 1}}, _call(body="", text="Without a key."), say("All done."),
    ]  # fmt: skip
    async with stage.batch(_spec(stage, missing, keyed), {"001": steps}) as batch:
        await batch.pool.run()
        told = _told(batch)
        assert batch.board["001"].state is State.DONE
        assert (await _record(batch, "001:gone")).state is EffectState.REFUSED
        assert [v.record.key for v in batch.board.effects()] == ["001:gone"]
    assert "command not found" in told[0]
    assert "required property" in told[1]
    assert 'the field "body"' in told[2]


def add(payload: dict[str, Any], context: Any) -> str:
    """A handler."""
    return f"{payload['body']} for {context.ticket}"


def refuse(payload: dict[str, Any], context: Any) -> str:
    """A handler that refuses."""
    from supervisor import Refused

    raise Refused("not today")


async def crash(payload: dict[str, Any], context: Any) -> str:
    """A handler that breaks."""
    raise ConnectionResetError("after the request was sent")


@pytest.mark.parametrize(
    ("handler", "state", "said"),
    [
        ("add", EffectState.DONE, "hello for 001"),
        ("refuse", EffectState.REFUSED, "not today"),
        ("crash", EffectState.UNRESOLVED, "ConnectionResetError: after the request was sent"),
        ("gone", EffectState.REFUSED, "gone"),
    ],
)
async def test_python_handlers(stage: Stage, handler: str, state: EffectState, said: str) -> None:
    effect = EffectSpec("post", kind="once", description="Post.", input=SCHEMA, handler=f"{__name__}:{handler}")
    async with stage.batch(_spec(stage, effect), {"001": [_call(), say("All done.")]}) as batch:
        await batch.pool.run()
        record = await _record(batch)
    assert record.state is state
    assert said in f"{record.outcome} {record.error}"


async def _claim_of_another(stage: Stage, effect: EffectSpec, owner: Owner) -> None:
    """Leave the claim of a supervisor that is somebody else."""
    async with stage.batch(_spec(stage, effect), {}) as batch:
        other = Ledger(batch.engine.journal.store.database, owner=owner)
        await other.open()
        await other.claim(EffectRequest("001", "post", effect="post", ticket="001", payload={"body": "hello"}))


async def test_a_claim_whose_command_may_still_run_holds_its_ticket_until_it_is_proved_dead(stage: Stage) -> None:
    from supervisor.engine.process import identify

    command = await anyio.open_process(["sleep", "600"])
    who = identify(command.pid)
    me = this_process()
    await _claim_of_another(stage, _effect("true"), Owner(me.host, who.pid, who.start, who.boot_id, me.namespace))
    async with stage.batch(_spec(stage, _effect("true")), {"001": [say("All done.")]}) as batch:
        snapshot = batch.board["001"]
        assert (snapshot.state, snapshot.detail) == (State.NEEDS_YOU, 'effect "post" may still be under way')
        assert (await _record(batch)).state is EffectState.CLAIMED
        command.kill()
        await command.wait()
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: batch.pool.run(stay=True))
            await until(lambda: batch.board.effects()[0].record.state is EffectState.UNRESOLVED)
            assert batch.board["001"].state is State.NEEDS_YOU
            batch.request_stop()
        assert stage.served("001") == [], "nothing was asked meanwhile"
    await command.aclose()


async def test_a_decision_just_before_the_end_is_honoured_at_the_next_start(stage: Stage) -> None:
    effect = _effect("exit 1")
    steps = [_call(), say("All done.")]
    async with stage.batch(_spec(stage, effect), {"001": steps}) as batch:
        await batch.pool.run()
        assert batch.board["001"].why is Why.UNRESOLVED_EFFECT
        record = await _record(batch)  # the pool has left: the decision is written, and nobody wakes the ticket
        await batch.engine.desk.rule(
            Ruling("001:post", DecisionVerb.DONE, record.version, "seen", outcome="it is there")
        )
        assert batch.board["001"].state is State.NEEDS_YOU
    async with stage.batch(_spec(stage, effect), {"001": steps}) as batch:
        await batch.pool.run()
        assert batch.board["001"].state is State.DONE
        assert "post: it is there" in await _prompt(batch)
