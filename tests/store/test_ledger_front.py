"""The ledger as the engine uses it: on the writer's thread, without secrets, and whole whoever is cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.core.effects import Answer, EffectState, Owner
from supervisor.core.errors import LateSettle, StaleDecision, StoreError, UnknownEffect
from supervisor.core.rulings import Decision, DecisionVerb
from supervisor.store.database import Database
from supervisor.store.ledger import Ledger
from tests.store.ledgers import asked

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = pytest.mark.anyio
S = EffectState


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """An open database."""
    opened = Database(tmp_path / "state.db")
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def ledger(database: Database) -> AsyncIterator[Ledger]:
    """A ledger in its first epoch."""
    opened = Ledger(database, clock=lambda: 1000.0, secrets={"TOKEN": "hunter22"})
    assert await opened.open() == 1
    yield opened
    assert await opened.verify() == ()


async def test_an_effect_from_claim_to_card(ledger: Ledger) -> None:
    claim = await ledger.claim(asked(effect="deploy", said="I deploy now", session_id="s", tool_use_id="t", turn=3))
    assert claim.answer is Answer.MINE
    held = await ledger.record_command(claim.record, 4711, 99)
    done = await ledger.settle(held, S.DONE, outcome="ok")
    assert await ledger.by_key("001:deploy") == await ledger.find("001", "deploy") == done
    assert (done.said, done.turn, done.command and done.command.pid) == ("I deploy now", 3, 4711)
    assert [record.key for record in await ledger.records()] == ["001:deploy"]
    assert await ledger.records([S.UNRESOLVED]) == ()
    assert [row.verb for row in await ledger.log(done)] == ["claim", "settle"]
    with pytest.raises(UnknownEffect):
        await ledger.by_key("001:nothing")


async def test_no_secret_reaches_the_disk(ledger: Ledger, database: Database) -> None:
    request = asked(payload={"hunter22": ["Bearer hunter22"]}, said="the token is hunter22", kind="idempotent")
    held = (await ledger.claim(request)).record
    stuck = await ledger.settle(held, S.UNRESOLVED, error="hunter22 expired", reason="hunter22")
    decision = Decision(DecisionVerb.DONE, "d1", "ann", stuck.version, "hunter22", "hunter22", {"x": "hunter22"})
    done = await ledger.decide(stuck, decision)
    assert (done.payload, done.outcome) == ({"[TOKEN]": ["Bearer [TOKEN]"]}, {"x": "[TOKEN]"})
    await ledger.insert_done(asked(op="other", kind="idempotent", payload="hunter22"), "hunter22")
    await database.run(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    assert b"hunter22" not in database.path.read_bytes()


async def test_a_rotated_secret_does_not_make_another_payload(ledger: Ledger, database: Database) -> None:
    await ledger.claim(asked(payload={"auth": "hunter22"}))
    later = Ledger(database, secrets={"TOKEN": "hunter33"})
    await later.open()
    assert (await later.claim(asked(payload={"auth": "hunter33"}))).answer is Answer.IN_PROGRESS


async def test_a_claim_is_refused_before_the_ledger_is_open(database: Database) -> None:
    with pytest.raises(StoreError, match="not open"):
        await Ledger(database).claim(asked())


async def test_a_payload_that_is_no_json_claims_nothing(ledger: Ledger) -> None:
    for payload in ({"x": float("nan")}, {"x": object()}):
        with pytest.raises((TypeError, ValueError)):
            await ledger.claim(asked(payload=payload))
    assert await ledger.records() == ()


async def test_a_cancelled_caller_still_settles(ledger: Ledger) -> None:
    held = (await ledger.claim(asked())).record
    with anyio.CancelScope() as scope:
        scope.cancel()
        await ledger.settle(held, S.UNRESOLVED, error="cancelled")
    assert (await ledger.by_key("001:deploy")).state is S.UNRESOLVED


async def test_a_late_end_is_kept_as_evidence(ledger: Ledger) -> None:
    held = (await ledger.claim(asked())).record
    (stuck,) = await ledger.orphaned_claims(lambda _: True)
    with pytest.raises(LateSettle):
        await ledger.settle(held, S.DONE, outcome="comment 9001", error="")
    (late,) = [row for row in await ledger.log(stuck) if row.verb == "late"]
    assert (late.outcome, late.to_state) == ('"comment 9001"', "unresolved")
    assert await ledger.by_key("001:deploy") == stuck


async def test_a_stale_decision_is_refused(ledger: Ledger) -> None:
    stuck = await ledger.settle((await ledger.claim(asked())).record, S.UNRESOLVED)
    await ledger.decide(stuck, Decision(DecisionVerb.NOT_DONE, "d1", "ann", stuck.version, "looked"))
    with pytest.raises(StaleDecision):
        await ledger.decide(stuck, Decision(DecisionVerb.ABANDON, "d2", "bob", stuck.version, "looked"))


async def test_claims_of_a_dead_start_are_found_by_the_next(ledger: Ledger, database: Database) -> None:
    dead = Ledger(database, owner=Owner("here", 1, 1, "boot"))
    await dead.open()
    await dead.claim(asked(op="lost"))
    await ledger.claim(asked(op="running"))
    assert await ledger.orphaned_claims() == (), "another host: not provable"
    found = await ledger.orphaned_claims(lambda owner: owner.host == "here")
    assert [record.key for record in found] == ["001:lost"]


async def test_a_hundred_tasks_claim_one_effect(ledger: Ledger) -> None:
    answers: list[Answer] = []

    async def ask(ticket: str) -> None:
        answers.append((await ledger.claim(asked(ticket=ticket))).answer)

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(ask, f"001.{number}")
    assert sorted(answers) == [Answer.IN_PROGRESS] * 99 + [Answer.MINE]
