"""EffectLog: at most once across retries, restarts, threads, processes and cancellations; honest when in doubt."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from supervisor.core.effects import EffectState, Refused
from supervisor.core.errors import LateSettle, StoreError
from supervisor.store import chain, claims, effect_rows
from supervisor.store.database import connect
from supervisor.store.effect_log import EffectLog, EffectResult
from tests.store.effect_logs import CLAIMED, KEY, KNOWN, RAN, World
from tests.store.ledgers import decide, tx

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = """
import tempfile
from pathlib import Path

from supervisor import EffectLog

sent = []


def comment() -> str:
    sent.append("POST /pulls/17/comments")
    return "comment 9001"


def deploy() -> str:
    raise ConnectionError("connection reset after the request was sent")


def say(label: str, result) -> None:
    print(f"{label:<26} ran={result.ran!s:<5} state={result.state} outcome={result.outcome}")


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "effects.sqlite"
    log = EffectLog(path)
    for label in ("first call", "retry in the same process"):
        say(label, log.claim_then_run("001-discount-rounding:pr-comment", comment))
    log.close()

    log = EffectLog(path)
    say("after a restart", log.claim_then_run("001-discount-rounding:pr-comment", comment))
    print("side effect executed once" if len(sent) == 1 else f"executed {len(sent)} times")

    try:
        log.claim_then_run("001-discount-rounding:deploy", deploy)
    except ConnectionError as error:
        print("deploy raised:", error)
    say("deploy retry", log.claim_then_run("001-discount-rounding:deploy", deploy))
    log.close()
"""


def test_a_retry_and_a_restart_print_the_same_story(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(SAMPLE, "sample", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.splitlines() == [
        "first call                 ran=True  state=done outcome=comment 9001",
        "retry in the same process  ran=False state=done outcome=comment 9001",
        "after a restart            ran=False state=done outcome=comment 9001",
        "side effect executed once",
        "deploy raised: connection reset after the request was sent",
        "deploy retry               ran=False state=claimed outcome=None",
    ]


def test_a_claim_is_on_the_disk_before_its_effect_runs(log: EffectLog, world: World) -> None:
    pragmas = []

    def effect() -> str:
        pragmas.extend(log._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous"))
        other = connect(log.path)
        assert effect_rows.get(other, "", KEY).state is EffectState.CLAIMED
        other.close()
        return world.comment()

    assert log.claim_then_run(KEY, effect) == RAN
    assert pragmas == ["wal", 2], "with less, a power cut forgets claims whose effects have happened"


def test_an_effect_that_says_it_was_refused_may_be_tried_again(log: EffectLog, world: World) -> None:
    def refuse() -> str:
        raise Refused("the branch is protected")

    with pytest.raises(Refused):
        log.claim_then_run(KEY, refuse)
    assert log.claim_then_run(KEY, world.comment) == RAN


def test_an_interrupted_effect_stays_claimed(log: EffectLog, world: World) -> None:
    def interrupted() -> str:
        world.comment()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        log.claim_then_run(KEY, interrupted)
    assert log.claim_then_run(KEY, world.comment) == CLAIMED
    assert world.calls == 1


def test_two_logs_of_one_process_do_not_run_it_twice(log: EffectLog, world: World) -> None:
    seen = []

    def effect() -> str:
        with EffectLog(log.path) as other:
            seen.append(other.claim_then_run(KEY, world.comment))
            seen.append(log.claim_then_run(KEY, world.comment))
        return "mine"

    assert log.claim_then_run(KEY, effect) == EffectResult(True, "done", "mine")
    assert seen == [CLAIMED, CLAIMED]
    assert world.calls == 0


@pytest.mark.parametrize("outcome", [None, "", True, 17, 0.5, ["a", {"b": None}], "é \0 🏷️"])
def test_json_outcomes_come_back_as_they_were(log: EffectLog, outcome: object) -> None:
    assert log.claim_then_run(KEY, lambda: outcome) == EffectResult(True, "done", outcome)  # type: ignore[arg-type]
    again = log.claim_then_run(KEY, lambda: "another")
    assert (again.ran, again.outcome, type(again.outcome)) == (False, outcome, type(outcome))


@pytest.mark.parametrize("outcome", [object(), {1, 2}, float("nan"), b"bytes"])
def test_other_outcomes_are_kept_as_their_repr_from_the_first_call_on(log: EffectLog, outcome: object) -> None:
    first = log.claim_then_run(KEY, lambda: outcome)
    assert first == EffectResult(True, "done", repr(outcome))
    assert log.claim_then_run(KEY, lambda: outcome) == EffectResult(False, "done", repr(outcome))


def test_what_a_person_decided_is_what_the_next_call_hears(log: EffectLog, world: World) -> None:
    with pytest.raises(ConnectionError):
        log.claim_then_run(KEY, world.flaky)
    db = connect(log.path)
    stuck = effect_rows.get(db, "", KEY)
    assert (stuck.state, stuck.key) == (EffectState.UNRESOLVED, KEY)
    no = decide(db, stuck, "not_done")
    assert log.claim_then_run(KEY, world.comment) == EffectResult(False, "not_done", None)
    decide(db, no, "grant")
    assert log.claim_then_run(KEY, world.comment) == RAN
    db.close()


def test_compute_then_insert_runs_until_its_outcome_is_kept(log: EffectLog, world: World) -> None:
    with pytest.raises(ConnectionError):
        log.compute_then_insert(KEY, world.flaky)
    assert log.compute_then_insert(KEY, world.comment) == RAN
    assert log.compute_then_insert(KEY, world.comment) == KNOWN
    assert log.claim_then_run(KEY, world.comment) == KNOWN
    assert world.calls == 2


def test_two_who_compute_at_once_agree_on_the_outcome(log: EffectLog) -> None:
    both = threading.Barrier(2)

    def effect() -> str:
        both.wait()
        return threading.current_thread().name

    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda _: log.compute_then_insert(KEY, effect), range(2)))
    assert [result.ran for result in results] == [True, True]
    assert len({result.outcome for result in results}) == 1


def test_a_claimed_key_is_not_computed(log: EffectLog, world: World) -> None:
    with pytest.raises(ConnectionError):
        log.claim_then_run(KEY, world.flaky)
    assert log.compute_then_insert(KEY, world.comment) == CLAIMED


def test_sixteen_threads_run_it_once(log: EffectLog, world: World) -> None:
    with ThreadPoolExecutor(16) as threads:
        results = list(threads.map(lambda _: log.claim_then_run(KEY, world.comment), range(64)))
    assert sum(result.ran for result in results) == world.calls == 1


def _die_inside(path: str, tell: multiprocessing.connection.Connection) -> None:
    def effect() -> str:
        tell.send("applied")
        os._exit(9)

    EffectLog(path).claim_then_run(KEY, effect)


def test_the_claim_of_a_process_that_died_is_shown_and_not_run(log: EffectLog, world: World) -> None:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_die_inside, args=(str(log.path), theirs))
    process.start()
    assert ours.recv() == "applied"
    process.join()
    assert log.claim_then_run(KEY, world.comment) == CLAIMED
    with EffectLog(log.path) as reopened:
        assert reopened.claim_then_run(KEY, world.comment) == CLAIMED
    db = connect(log.path)
    assert effect_rows.get(db, "", KEY).state is EffectState.UNRESOLVED
    db.close()
    assert world.calls == 0


def test_a_late_end_is_refused_and_kept_as_evidence(log: EffectLog) -> None:
    def effect() -> str:
        db = connect(log.path)
        tx(db, claims.orphaned_claims, lambda _: True, 1.0)
        db.close()
        return "late"

    with pytest.raises(LateSettle):
        log.claim_then_run(KEY, effect)
    assert log.claim_then_run(KEY, effect) == CLAIMED
    db = connect(log.path)
    assert [row.outcome for row in chain.log(db, "", KEY) if row.verb == "late"] == ['"late"']
    db.close()


def test_secrets_in_what_an_effect_raised_are_not_kept(log: EffectLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter22")

    def effect() -> str:
        raise ConnectionError("https://x:hunter22@example.org refused")

    with pytest.raises(ConnectionError):
        log.claim_then_run(KEY, effect)
    assert b"hunter22" not in b"".join(path.read_bytes() for path in log.path.parent.iterdir())


def test_a_closed_log_says_so_and_runs_nothing(log: EffectLog, world: World) -> None:
    log.close()
    log.close()
    with pytest.raises(StoreError, match="closed"):
        log.claim_then_run(KEY, world.comment)
    assert world.calls == 0


def test_a_log_from_before_a_fork_is_refused_in_the_child(log: EffectLog, world: World) -> None:
    log._pid += 1
    with pytest.raises(StoreError, match="forked"):
        log.claim_then_run(KEY, world.comment)
    log._pid -= 1


@pytest.mark.parametrize("place", ["nowhere/effects.sqlite", "."])
def test_a_path_that_cannot_be_used_is_named(tmp_path: Path, place: str) -> None:
    with pytest.raises(StoreError, match=str(tmp_path)):
        EffectLog(tmp_path / place)


def test_an_end_that_cannot_be_written_does_not_hide_what_the_effect_raised(log: EffectLog) -> None:
    def effect() -> str:
        log.close()
        raise ConnectionError("reset")

    with pytest.raises(ConnectionError) as caught:
        log.claim_then_run(KEY, effect)
    assert "closed" in caught.value.__notes__[0]
