"""What ``report`` and ``status`` say of checks that failed, and of work that a supervisor's death cut off."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.cli import run_command
from supervisor.core import events as ev
from supervisor.core.board import Board
from supervisor.core.model import Mode, Outcome, State, Why
from supervisor.engine.lock import BatchLock
from supervisor.store.database import connect
from supervisor.store.tickets import append
from tests.store import ledgers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Shell = Callable[..., str]
    Data = dict[str, Any]

IDS = ("001-checked", "002-cut", "003-cancelled", "004-starting")
FILE = "".join(f'[[ticket]]\nid = "{ident}"\nprompt = "Do it."\n' for ident in IDS)


def _begun(ident: str, number: int = 1, to: State = State.RUNNING) -> Iterator[ev.Event]:
    at = 100.0 * number
    yield ev.StateChanged(ident, at, State.STARTING)
    yield ev.AttemptStarted(ident, at, number, Mode.FRESH if number == 1 else Mode.RESUME, f"session {ident}")
    if to is State.RUNNING:
        yield ev.AttemptConnected(ident, at, number, pid=1, baseline_usd=0.0)
        yield ev.StateChanged(ident, at, to, detail="waiting for the agent")


def _turn(ident: str, number: int) -> ev.TurnEnded:
    about = ("u", "success", "completed", False, 3)
    return ev.TurnEnded(ident, 100.0 * number, number, *about, cost_usd=0.01, total_cost_usd=0.01 * number)


def _checked(ident: str) -> Iterator[ev.Event]:
    """A ticket whose check fails three times, and which succeeds after the operator took it up again."""
    yield from _begun(ident)
    for round_, code in ((1, 2), (2, None), (3, 1)):
        yield _turn(ident, 1)
        yield ev.Verified(ident, 120.0 + round_, round_, code, "1 failed\n\x1b[2J")
    yield ev.AttemptEnded(ident, 130.0, 1, Outcome.DONE)
    yield ev.StateChanged(ident, 130.0, State.NEEDS_YOU, Why.VERIFY, "the check still fails")
    yield ev.StateChanged(ident, 140.0, State.QUEUED, by_operator=True)
    yield from _begun(ident, 2)
    yield _turn(ident, 2)
    yield ev.Verified(ident, 220.0, 1, 0, "all passed")
    yield ev.AttemptEnded(ident, 230.0, 2, Outcome.DONE)
    yield ev.StateChanged(ident, 230.0, State.DONE, detail="verified")


def _story() -> Iterator[ev.Event]:
    for order, ident in enumerate(IDS):
        yield ev.TicketAdded(ident, 1.0, title=ident, order=order)
    yield from _checked("001-checked")
    yield from _begun("002-cut")
    yield from _begun("003-cancelled")
    yield ev.StateChanged("003-cancelled", 150.0, State.CANCELLED, detail="cancelled by you", by_operator=True)
    yield from _begun("004-starting", to=State.STARTING)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A batch whose supervisor was killed at work."""
    (tmp_path / "tickets.toml").write_text(FILE)
    (tmp_path / ".supervisor").mkdir()
    board = Board()
    with closing(connect(tmp_path / ".supervisor" / "state.db")) as db:
        for event in _story():
            ledgers.tx(db, append, event, board.preview(event))
            board.apply(event)
    return tmp_path


@pytest.fixture
def shell(place: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Runs a command on the batch and returns its output."""

    def run(*argv: str) -> str:
        assert run_command([*argv, "--file", str(place / "tickets.toml")]) == 0
        return capsys.readouterr().out

    return run


def _tickets(said: str) -> dict[str, Data]:
    return {ticket["id"]: ticket for ticket in json.loads(said)["tickets"]}


def test_a_check_that_failed_is_told_beside_its_attempt(shell: Shell) -> None:
    lines = shell("report", "001").splitlines()
    first, second = (next(n for n, line in enumerate(lines) if f"attempt {k} " in line) for k in (1, 2))
    assert "check failed" in lines[first]
    assert "  done  " not in lines[first], "the agent thought so, the check did not"
    assert lines[first].endswith("check failed, 3 rounds, the last with exit code 1")
    assert [line.strip() for line in lines[first + 1 : second]] == [
        "check, round 1: exit code 2",
        "check, round 2: ran out of time",
        "check, round 3: exit code 1",
    ]
    assert "  done  " in lines[second]
    assert lines[second + 1].strip() == "check, round 1: passed"


def test_checks_are_data_too(shell: Shell) -> None:
    first, second = _tickets(shell("report", "--json"))["001-checked"]["attempts"]
    assert first["outcome"] == "done", "what the agent came to keeps its name"
    assert (first["check"], second["check"]) == ("failed", "passed")
    assert [(c["round"], c["exit_code"]) for c in first["checks"]] == [(1, 2), (2, None), (3, 1)]
    assert first["checks"][0]["ended"] == "1970-01-01T00:02:01Z"
    assert first["detail"] == "check failed, 3 rounds, the last with exit code 1"
    assert _tickets(shell("report", "--json"))["002-cut"]["attempts"][0]["check"] is None


def test_work_that_was_cut_off_is_not_under_way(shell: Shell) -> None:
    said = shell("status")
    by_id = {line.split()[0]: line for line in said.splitlines()[1:]}
    assert by_id["002-cut"].split()[1:3] == ["cut", "off"]
    assert by_id["002-cut"].endswith("was running when the supervisor ended; goes on at the next start")
    assert by_id["004-starting"].endswith("was starting when the supervisor ended; goes on at the next start")
    assert "waiting for the agent" not in said
    assert "cut off" not in by_id["003-cancelled"]
    reported = shell("report")
    assert "under way" not in reported
    assert "running" not in reported.replace("was running when the supervisor ended", "")
    assert sum("attempt 1" in line and "cut off" in line for line in reported.splitlines()) == 3
    costs = shell("report", "--costs")
    assert "under way" not in costs
    assert "attempt 1  fresh  cut off" in costs
    assert "002-cut  002-cut  (cut off)" in costs


def test_what_was_cut_off_is_data_too(shell: Shell) -> None:
    tickets = _tickets(shell("status", "--json"))
    assert {ident: (t["state"], t["cut_off"]) for ident, t in tickets.items()} == {
        "001-checked": ("done", False),
        "002-cut": ("running", True),
        "003-cancelled": ("cancelled", False),
        "004-starting": ("starting", True),
    }
    data = json.loads(shell("report", "--json"))
    assert data["running"] is False
    reported = {t["id"]: (t["cut_off"], [a["cut_off"] for a in t["attempts"]]) for t in data["tickets"]}
    assert reported == {
        "001-checked": (False, [False, False]),
        "002-cut": (True, [True]),
        "003-cancelled": (False, [True]),
        "004-starting": (True, [True]),
    }
    families = json.loads(shell("report", "--costs", "--json"))["lineages"]
    (cut,) = (t for f in families for t in f["tickets"] if t["id"] == "002-cut")
    assert (cut["cut_off"], cut["attempts"][0]["cut_off"]) == (True, True)


def test_beside_a_supervisor_it_is_under_way(shell: Shell, place: Path) -> None:
    with BatchLock(place / ".supervisor" / "lock"):
        assert "cut off" not in shell("status") + shell("report") + shell("report", "--costs")
        assert "under way" in shell("report", "002")
        assert "waiting for the agent" in shell("status")
        assert not any(t["cut_off"] for t in _tickets(shell("status", "--json")).values())
