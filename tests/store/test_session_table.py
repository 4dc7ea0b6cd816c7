"""``SessionTable``: one session for each ticket, one ticket for each session, on disk at once."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from supervisor import SessionIdError, SessionTable, StoredSession
from supervisor.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

A = "3f6c1b2a-9d4e-4c7b-8a1f-0e2d5c6b7a89"
B = "8d0e7a41-52c3-4f9b-b6e2-1a7c9d3f5e60"


@dataclass
class Result:
    """As much of a ResultMessage as the table reads."""

    session_id: str
    total_cost_usd: float | None = None
    subtype: str = "success"


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SessionTable]:
    with SessionTable(tmp_path / "sessions.db") as opened:
        yield opened


def test_a_ticket_has_no_session_until_one_is_put(table: SessionTable) -> None:
    assert table.get("001") is None
    assert table.put("001", A) == StoredSession("001", A, 0.0) == table.get("001")


def test_another_session_takes_the_place_of_the_first_and_its_total_begins_again(table: SessionTable) -> None:
    table.put("001", A, 0.5)
    assert table.put("001", B) == StoredSession("001", B, 0.0)
    assert table.put("002", A).session_id == A, "a session that was left may be another ticket's"


def test_the_total_stays_where_none_is_told(table: SessionTable) -> None:
    table.put("001", A, 0.5)
    assert table.put("001", A).total_cost_usd == 0.5
    assert table.put("001", A, 0.7).total_cost_usd == 0.7
    assert table.put("001", A, 0.0).total_cost_usd == 0.0


@pytest.mark.parametrize("subtype", ["success", "error_max_turns", "error_during_execution"])
def test_results_are_stored_whatever_their_subtype(table: SessionTable, subtype: str) -> None:
    assert table.put_result("001", Result(A, 0.25, subtype)) == StoredSession("001", A, 0.25)
    assert table.put_result("001", Result(A, None, subtype)).total_cost_usd == 0.25


@pytest.mark.parametrize("ident", ["ticket-001", "", A.replace("-", ""), f"{A}\n", f"{{{A}}}", None, 7])
def test_an_id_that_is_no_uuid_is_refused_and_the_rule_is_named(table: SessionTable, ident: str) -> None:
    with pytest.raises(SessionIdError, match="valid UUID") as refused:
        table.put("001", ident)
    assert (refused.value.ticket, refused.value.session_id) == ("001", ident)
    assert isinstance(refused.value, ValueError)
    assert list(table) == []


def test_two_tickets_never_share_a_session(table: SessionTable) -> None:
    table.put("001", A, 0.5)
    for same in (A, A.upper()):
        with pytest.raises(SessionIdError, match="belongs to ticket 001"):
            table.put("002", same)
    with pytest.raises(SessionIdError):
        table.put_result("002", Result(A, 9.0))
    assert list(table) == [StoredSession("001", A, 0.5)]
    table.put("002", B)


def test_rows_come_by_ticket_and_do_not_change_while_they_are_read(table: SessionTable) -> None:
    table.put("b", B)
    table.put("a", A)
    rows = iter(table)
    table.put("a", A, 1.0)
    assert list(rows) == [StoredSession("a", A), StoredSession("b", B)]


def test_everything_is_there_after_a_restart_and_for_others_at_once(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with SessionTable(path) as first, SessionTable(str(path)) as second:
        first.put("001", A, 0.5)
        assert second.get("001") == StoredSession("001", A, 0.5)
        with pytest.raises(SessionIdError):
            second.put("002", A)
        first.put("001", A, 0.6)
    with SessionTable(path) as third:
        assert list(third) == [StoredSession("001", A, 0.6)]


def test_only_one_of_many_threads_gets_a_session(table: SessionTable) -> None:
    together = threading.Barrier(8)

    def claim(ticket: str) -> bool:
        together.wait()
        try:
            table.put(ticket, A)
        except SessionIdError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(claim, map(str, range(8))))
    assert won.count(True) == 1


def test_odd_names_are_kept_apart(table: SessionTable) -> None:
    table.put("café 'x'; DROP TABLE sessions", A)
    table.put("\ud800", B)
    assert table.get("café 'x'; DROP TABLE sessions") is not None
    assert table.get("\ud800") is not None


@pytest.mark.parametrize("total", [-1.0, float("nan")])
def test_a_total_that_cannot_be_is_not_stored(table: SessionTable, total: float) -> None:
    assert table.put("001", A, total).total_cost_usd == 0.0


def test_faults_of_the_file_are_told_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="directory"):
        SessionTable(tmp_path / "missing" / "sessions.db")
    (tmp_path / "text").write_text("this is not a database, whatever its name says" * 20)
    with pytest.raises(StoreError, match="not a database"):
        SessionTable(tmp_path / "text")
    closed = SessionTable(tmp_path / "sessions.db")
    closed.close()
    closed.close()
    with pytest.raises(StoreError, match="open"):
        closed.get("001")


def test_the_table_is_strict(tmp_path: Path) -> None:
    with SessionTable(tmp_path / "sessions.db") as table:
        table.put("001", A)
    with sqlite3.connect(tmp_path / "sessions.db") as raw:
        (sql,) = raw.execute("SELECT sql FROM sqlite_master WHERE name = 'sessions'").fetchone()
    raw.close()
    assert sql.rstrip().endswith("STRICT")
