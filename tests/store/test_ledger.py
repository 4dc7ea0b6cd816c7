"""The ledger: one winner for each key, no late end, no decision about an old picture, no bent history."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from supervisor.core.effects import Answer, EffectState, Owner
from supervisor.core.errors import DecisionRefused, LateSettle, StaleDecision, UnknownEffect
from supervisor.store import chain, claims, effect_rows
from supervisor.store.database import connect
from tests.store.ledgers import HERE, asked, claim, decide, epoch, orphans, settle, tx, unresolved

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlite_utils import Database as Connection

S = EffectState
ELSEWHERE = Owner("elsewhere", 100, 1, "boot")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    """A ledger whose history fits together when the test is over."""
    opened = connect(tmp_path / "state.db")
    yield opened
    assert chain.verify(opened) == ()
    opened.close()


def test_one_claim_wins_and_everybody_gets_its_outcome(db: Connection) -> None:
    one = epoch(db)
    first = claim(db, one)
    assert first.answer is Answer.MINE
    assert (first.record.state, first.record.version, first.record.attempt) == (S.CLAIMED, 1, 1)
    assert first.record.owner == HERE
    assert claim(db, one, ticket="001.2").answer is Answer.IN_PROGRESS
    done = settle(db, first.record, S.DONE, outcome={"id": 9001})
    again = claim(db, epoch(db))
    assert (again.answer, again.record) == (Answer.DONE, done)
    assert (done.outcome, done.version, done.settled_at) == ({"id": 9001}, 2, 20.0)


def test_another_payload_is_a_conflict_with_its_fields(db: Connection) -> None:
    one = epoch(db)
    settle(db, claim(db, one).record, S.DONE, outcome="ok")
    answer = claim(db, one, payload={"to": "staging"})
    assert answer.answer is Answer.CONFLICT
    assert [(d.path, d.old, d.new) for d in answer.diff] == [("to", "prod", "staging")]
    assert answer.record.outcome == "ok"


def test_a_fork_with_other_words_still_hears_that_it_is_unresolved(db: Connection) -> None:
    one = epoch(db)
    unresolved(db, one)
    fork = claim(db, one, ticket="001.2", payload={"to": "prod, please"})
    assert fork.answer is Answer.UNRESOLVED
    assert fork.diff
    assert fork.record.ticket == "001"


def test_what_was_refused_runs_again_under_a_new_remote_key(db: Connection) -> None:
    one = epoch(db)
    first = claim(db, one)
    settle(db, first.record, S.REFUSED, error="branch is protected")
    second = claim(db, one, at=50.0, payload={"to": "staging"})
    assert (second.answer, second.was) == (Answer.MINE, S.REFUSED)
    assert second.record.remote_key != first.record.remote_key
    assert (second.record.first_claimed_at, second.record.error, second.record.attempt) == (50.0, "", 2)
    assert [row.payload for row in chain.log(db, "001", "deploy") if row.payload] == [
        '{"to":"prod"}',
        '{"to":"staging"}',
    ]


def test_a_grant_is_used_up_by_one_claim_of_one_ticket_with_the_same_payload(db: Connection) -> None:
    one = epoch(db)
    stuck = unresolved(db, one)
    granted = decide(db, decide(db, stuck, "not_done"), "grant", ticket="001.2")
    assert (granted.state, granted.granted_to) == (S.GRANTED, "001.2")
    assert claim(db, one).answer is Answer.IN_PROGRESS
    assert claim(db, one, ticket="001.2", payload={"to": "mars"}).answer is Answer.CONFLICT
    mine = claim(db, one, ticket="001.2")
    assert (mine.answer, mine.was, mine.record.granted_to) == (Answer.MINE, S.GRANTED, None)
    assert mine.record.remote_key == stuck.remote_key, "the remote may have seen it after all"
    assert mine.record.first_claimed_at == stuck.first_claimed_at
    assert claim(db, one, ticket="001.2").answer is Answer.IN_PROGRESS


def test_an_effect_that_needs_approval_waits_for_it(db: Connection) -> None:
    one = epoch(db)
    waiting = claim(db, one, approval=True)
    assert (waiting.answer, waiting.record.owner, waiting.record.attempt) == (Answer.REQUESTED, None, 0)
    assert claim(db, epoch(db), approval=True).answer is Answer.REQUESTED, "a restart keeps it waiting"
    decide(db, waiting.record, "approve", why="")
    mine = claim(db, one, approval=True)
    assert (mine.answer, mine.was, mine.record.attempt) == (Answer.MINE, S.GRANTED, 1)


def test_a_denied_effect_stays_denied_until_it_is_granted_or_asks_for_something_else(db: Connection) -> None:
    one = epoch(db)
    denied = decide(db, claim(db, one, approval=True).record, "deny", why="use staging")
    assert claim(db, one, approval=True).answer is Answer.DENIED
    other = claim(db, one, approval=True, payload={"to": "staging"})
    assert (other.answer, other.record.payload) == (Answer.REQUESTED, {"to": "staging"})
    with pytest.raises(StaleDecision):
        decide(db, denied, "grant")
    assert claim(db, one, approval=True, payload={"to": "staging"}).answer is Answer.REQUESTED


def test_repeatable_effects_go_on_by_themselves(db: Connection) -> None:
    one = epoch(db)
    for kind, window in (("idempotent", None), ("keyed", 3600.0)):
        stuck = unresolved(db, one, op=kind, kind=kind, window_s=window)
        again = claim(db, one, at=60.0, op=kind, kind=kind, window_s=window)
        assert (again.answer, again.was, again.record.attempt) == (Answer.MINE, S.UNRESOLVED, 2)
        assert again.record.remote_key == stuck.remote_key
        assert again.record.first_claimed_at == 10.0


def test_a_zombie_cannot_end_what_was_taken_from_it(db: Connection) -> None:
    old = epoch(db)
    zombie = claim(db, old).record
    (stuck,) = orphans(db, HERE)
    with pytest.raises(LateSettle, match="unresolved"):
        settle(db, zombie, S.DONE, outcome="late")
    decide(db, decide(db, stuck, "not_done"), "grant")
    mine = claim(db, epoch(db)).record
    with pytest.raises(LateSettle, match="claimed"):
        settle(db, zombie, S.DONE, outcome="late")
    with pytest.raises(LateSettle):
        settle(db, replace(zombie, version=mine.version), S.DONE, outcome="late")
    tx(db, claims.note_late, zombie, S.DONE, 40.0, outcome="late")
    assert settle(db, mine, S.DONE, outcome="mine").outcome == "mine"
    late = [row for row in chain.log(db, "001", "deploy") if row.verb == "late"]
    assert [(row.epoch, row.outcome, row.actor) for row in late] == [(2, '"late"', "epoch 1")]


def test_a_claim_ends_once(db: Connection) -> None:
    held = claim(db, epoch(db)).record
    done = settle(db, held, S.DONE)
    for again in (held, done):
        with pytest.raises(LateSettle):
            settle(db, again, S.UNRESOLVED)


def test_claims_are_given_up_only_on_proof(db: Connection) -> None:
    here, there = epoch(db), epoch(db, ELSEWHERE)
    claim(db, here, op="mine")
    claim(db, there, op="theirs")
    assert orphans(db) == ()
    assert [record.op for record in orphans(db, HERE)] == ["mine"]
    assert effect_rows.get(db, "001", "theirs").state is S.CLAIMED
    assert orphans(db, HERE) == (), "only once"


def test_a_claim_whose_command_still_runs_is_left_alone(db: Connection) -> None:
    held = tx(db, claims.record_command, claim(db, epoch(db)).record, 200, 7)
    group = Owner("here", 200, 7, "boot", group=True)
    assert held.command == group
    assert orphans(db, HERE) == ()
    assert len(orphans(db, HERE, group)) == 1
    with pytest.raises(LateSettle):
        tx(db, claims.record_command, held, 201, 8)


def test_a_claim_of_a_host_that_is_gone_can_be_fenced_by_a_person(db: Connection) -> None:
    held = claim(db, epoch(db, ELSEWHERE)).record
    assert decide(db, held, "fence", why="the machine was sold").state is S.UNRESOLVED
    with pytest.raises(LateSettle):
        settle(db, held, S.DONE)


def test_time_moves_nothing(db: Connection) -> None:
    one = epoch(db)
    claim(db, one, at=10.0)
    unresolved(db, one, op="stuck")
    claim(db, one, op="asked", approval=True)
    assert claim(db, one, at=1e12).answer is Answer.IN_PROGRESS
    assert claim(db, one, op="stuck", at=1e12).answer is Answer.UNRESOLVED
    assert claim(db, one, op="asked", approval=True, at=1e12).answer is Answer.REQUESTED


def test_a_decision_is_taken_once(db: Connection) -> None:
    stuck = unresolved(db, epoch(db))
    first = decide(db, stuck, "done", decision_id="x", outcome="comment 9001", evidence="seen on the page")
    assert (first.state, first.outcome) == (S.DONE, "comment 9001")
    assert decide(db, stuck, "done", decision_id="x") == first
    with pytest.raises(DecisionRefused, match="another decision"):
        decide(db, first, "abandon", decision_id="x")
    row = chain.log(db, "001", "deploy")[-1]
    assert (row.verb, row.actor, row.reason, row.evidence, row.seen_version) == (
        "done", "ann", "I looked", "seen on the page", 2,
    )  # fmt: skip


def test_a_decision_about_an_old_picture_changes_nothing(db: Connection) -> None:
    stuck = unresolved(db, epoch(db))
    now = decide(db, stuck, "not_done")
    with pytest.raises(StaleDecision) as caught:
        decide(db, stuck, "abandon")
    assert (caught.value.shown, caught.value.version, caught.value.state) == (2, 3, "not_done")
    assert effect_rows.get(db, "001", "deploy") == now


def test_a_note_changes_nothing_and_is_never_stale(db: Connection) -> None:
    held = claim(db, epoch(db)).record
    decide(db, replace(held, version=99), "note", why="asked the other team")
    assert settle(db, held, S.DONE).state is S.DONE, "a note does not take the claim away"
    decide(db, held, "note", why="they confirmed")


def test_decisions_that_do_not_apply_are_refused(db: Connection) -> None:
    one = epoch(db)
    held = claim(db, one).record
    for verb in ("approve", "deny", "done", "not_done", "grant", "abandon"):
        with pytest.raises(DecisionRefused):
            decide(db, held, verb)
    stuck = settle(db, held, S.UNRESOLVED)
    for lacking in ({"why": " "}, {"actor": ""}, {"decision_id": ""}):
        with pytest.raises(DecisionRefused, match="must say"):
            decide(db, stuck, "abandon", **lacking)
    with pytest.raises(UnknownEffect):
        decide(db, replace(stuck, op="nothing"), "abandon")


def test_the_operator_can_take_back_what_was_never_applied(db: Connection) -> None:
    one = epoch(db)
    stuck = decide(db, unresolved(db, one), "abandon")
    assert claim(db, one, payload={"to": "elsewhere"}).answer is Answer.ABANDONED
    assert decide(db, stuck, "done", outcome="it was there").state is S.DONE


def test_compute_then_insert_keeps_the_first_outcome(db: Connection) -> None:
    one = epoch(db)
    request = asked(kind="idempotent")
    first = tx(db, claims.insert_done, request, "first", one, 5.0)
    assert (first.state, first.outcome, first.version) == (S.DONE, "first", 1)
    assert tx(db, claims.insert_done, request, "second", one, 6.0) == first
    assert claim(db, one, kind="idempotent").answer is Answer.DONE


def test_text_that_sqlite_cannot_hold_is_made_harmless(db: Connection) -> None:
    held = claim(db, epoch(db), said="lone \ud83d half", payload={"\ud83d": "\0"}).record
    assert held.said == "lone \ufffd half"
    assert held.payload == {"\ud83d": "\0"}
    stuck = settle(db, held, S.UNRESOLVED, error="\0", outcome=None)
    decide(db, stuck, "abandon", why="because \ud83d", evidence="\0")
    assert chain.log(db, "001", "deploy")[-1].reason == "because \ufffd"


def test_many_effects_of_many_tickets_are_told_apart(db: Connection) -> None:
    one = epoch(db)
    keys = [("001", "a:b"), ("001:a", "b"), ("", "001:a:b"), ("001", "deploy")]
    assert all(claim(db, one, scope=scope, op=op).answer is Answer.MINE for scope, op in keys)
    found = effect_rows.select(db)
    assert sorted((r.scope, r.op) for r in found) == sorted(keys)
    assert len({r.remote_key for r in found}) == len(keys)
