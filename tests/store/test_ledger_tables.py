"""The ledger's tables refuse what the code would never do: they hold against a bug, a script and a shell."""

from __future__ import annotations

import itertools
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from sqlite_utils import Database

from supervisor.core.effects import MOVES, Answer, EffectState
from supervisor.store import chain
from supervisor.store.database import connect
from supervisor.store.driver import sqlite3
from supervisor.store.effects_schema import MOVES_NOW as SQL_MOVES
from supervisor.store.migrations import MIGRATIONS
from tests.store.ledgers import claim, decide, epoch, settle, unresolved

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlite_utils import Database as Connection

S = EffectState


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    """A ledger with a claimed, a done and an unresolved effect."""
    opened = connect(tmp_path / "state.db")
    one = epoch(opened)
    claim(opened, one)
    settle(opened, claim(opened, one, op="done").record, S.DONE, outcome="ok")
    unresolved(opened, one, op="stuck")
    yield opened
    opened.close()


def test_the_tables_know_the_same_moves_as_the_code() -> None:
    told = {tuple(pair.strip("'").split(">")) for pair in SQL_MOVES.split(",")}
    assert told == {(old.value, new.value) for old, news in MOVES.items() if old is not None for new in news}


def test_no_other_move_passes(db: Connection) -> None:
    for old, new in itertools.permutations(EffectState, 2):
        assert _passes(db, old, new) == (new in MOVES[old]), f"{old} > {new}"


def _passes(db: Connection, old: EffectState, new: EffectState) -> bool:
    """Try a move on an effect that was put into its first state with the triggers out of the way."""
    triggers = [row["sql"] for row in db.query("SELECT sql FROM sqlite_master WHERE type = 'trigger'")]
    names = [sql.split()[2] for sql in triggers]
    db.execute("BEGIN")
    try:
        for name in names:
            db.execute(f"DROP TRIGGER {name}")
        db.execute("UPDATE effects SET state = ?, kind = 'idempotent' WHERE op = 'stuck'", [old.value])
        for sql in triggers:
            db.execute(sql)
        db.execute("UPDATE effects SET state = ?, version = version + 1 WHERE op = 'stuck'", [new.value])
    except sqlite3.IntegrityError:
        return False
    finally:
        db.rollback()
    return True


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE effect_log SET reason = 'another' WHERE seq = 1",
        "DELETE FROM effect_log",
        "DELETE FROM effects",
        "DELETE FROM epochs",
        "DELETE FROM ledger",
        "UPDATE ledger SET id = 'another'",
        "UPDATE epochs SET pid = 1",
        "UPDATE effects SET outcome = '\"another\"' WHERE op = 'done'",
        "UPDATE effects SET version = version + 1",
        "UPDATE effects SET state = 'done' WHERE op = 'deploy'",
        "UPDATE effects SET state = 'claimed', version = version + 1 WHERE op = 'stuck'",
        "UPDATE effects SET op = 'another' WHERE op = 'deploy'",
        "UPDATE effects SET epoch = NULL WHERE op = 'deploy'",
        "UPDATE effects SET payload = 'null' WHERE op = 'deploy'",
        "UPDATE OR REPLACE effect_log SET seq = 1 WHERE seq = 2",
        "INSERT OR REPLACE INTO effect_log SELECT * FROM effect_log WHERE seq = 1",
        "INSERT INTO effect_log"
        " SELECT seq + 9, scope, op, verb, from_state, to_state, version, actor_kind, actor, reason,"
        " evidence, seen_version, decision_id, epoch, fingerprint, payload, outcome, at, prev_hash, hash"
        " FROM effect_log WHERE seq = 5",
    ],
)
def test_history_is_not_changed(db: Connection, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="ledger"):
        db.execute(statement)
    assert chain.verify(db) == ()


def test_replacing_a_whole_effect_does_nothing(db: Connection) -> None:
    before = list(db.query("SELECT * FROM effects"))
    db.execute("INSERT OR REPLACE INTO effects SELECT * FROM effects WHERE op = 'done'")
    assert list(db.query("SELECT * FROM effects")) == before


@pytest.mark.parametrize(
    ("tampering", "found"),
    [
        ("UPDATE effect_log SET actor = 'bob' WHERE seq = 2", "log row 2 was changed"),
        ("DELETE FROM effect_log WHERE seq = 3", "log row 3 is missing"),
        ("UPDATE effects SET state = 'not_done', version = 3 WHERE op = 'stuck'", "which the log does not say"),
        ("UPDATE effects SET outcome = '\"another\"' WHERE op = 'done'", "another outcome"),
        ("UPDATE effects SET payload = '{\"to\":\"mars\"}' WHERE op = 'done'", "another payload"),
        ("DELETE FROM effect_log WHERE seq = 5", "which the log does not say"),
    ],
)
def test_whoever_removes_the_triggers_first_is_found_out(db: Connection, tampering: str, found: str) -> None:
    for row in list(db.query("SELECT name FROM sqlite_master WHERE type = 'trigger'")):
        db.execute(f"DROP TRIGGER {row['name']}")
    db.execute(tampering)
    assert any(found in fault for fault in chain.verify(db))


def test_a_whole_life_is_told_in_order(db: Connection) -> None:
    stuck = unresolved(db, epoch(db), op="life")
    decide(db, decide(db, stuck, "not_done"), "grant")
    settle(db, claim(db, 2, op="life").record, S.DONE, outcome="ok")
    told = [(row.verb, row.from_state, row.to_state, row.version) for row in chain.log(db, "001", "life")]
    assert told == [
        ("claim", None, "claimed", 1),
        ("settle", "claimed", "unresolved", 2),
        ("not_done", "unresolved", "not_done", 3),
        ("grant", "not_done", "granted", 4),
        ("claim", "granted", "claimed", 5),
        ("settle", "claimed", "done", 6),
    ]


def test_a_ledger_of_before_takes_a_run_that_is_allowed_again_and_its_old_rows_still_fit(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(Database(path)) as old:
        MIGRATIONS.apply(old, stop_before="0009_grants")
        one = epoch(old)
        settled = decide(old, decide(old, unresolved(old, one, op="a"), "not_done"), "grant")
        stuck = unresolved(old, one, op="b")
        with pytest.raises(sqlite3.IntegrityError, match="illegal move"):
            decide(old, stuck, "grant")
        rows = [(row.seq, row.hash) for row in chain.log(old, "001", "a")]
    with closing(connect(path)) as db:
        assert chain.verify(db) == ()
        assert [(row.seq, row.hash) for row in chain.log(db, "001", "a")] == rows
        assert decide(db, stuck, "grant", why="try again").state is S.GRANTED
        last = chain.log(db, "001", "b")[-1]
        assert (last.verb, last.from_state, last.reason) == ("grant", "unresolved", "try again (for 001)")
        assert (claim(db, one, op="b").answer, claim(db, one, op="a").answer) == (Answer.MINE, Answer.MINE)
        assert chain.verify(db) == ()
    assert settled.state is S.GRANTED
