"""``supervise report`` and the forecast in ``supervise status``: sums that can be added up by hand."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.cli import run_command
from supervisor.core import events as ev
from supervisor.core.board import Board
from supervisor.core.forks import Fork
from supervisor.core.model import Mode, Outcome, PromptKind, State
from supervisor.engine.belonging import BATCH
from supervisor.store import settings
from supervisor.store.database import connect
from supervisor.store.glance import glance
from supervisor.store.tickets import append
from tests.store import ledgers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from supervisor.core.model import TicketSnapshot

    Shell = Callable[..., tuple[int, str, str]]

FILE = """\
[batch]
name = "shop"
repo = "."
budget_usd = 20
slots = 2
[[ticket]]
id = "001-fix"
title = "Fix it"
prompt = "Fix it."
budget_usd = 1
[[ticket]]
id = "002-add"
title = "Add it \\u001b[31m"
prompt = "Add it."
"""


def _turn(ident: str, number: int, cost: float, total: float, **more: Any) -> ev.TurnEnded:
    about = ("u", "success", "completed", False, 3)
    return ev.TurnEnded(ident, 60.0 * number, number, *about, cost_usd=cost, total_cost_usd=total, tokens=4_000, **more)


def _attempt(ident: str, number: int, session: str, baseline: float, *between: ev.Event, **end: Any) -> list[ev.Event]:
    at = 60.0 * number
    mode = Mode.FRESH if number == 1 else Mode.RESUME
    return [
        ev.AttemptStarted(ident, at, number, mode, session, cap_usd=0.95, reserve_usd=0.05),
        ev.AttemptConnected(ident, at, number, pid=1, baseline_usd=baseline),
        ev.PromptStored(ident, at, number, f"{ident}-{number}", PromptKind.TASK, "x"),
        *between,
        ev.AttemptEnded(ident, at + 30, number, **{"outcome": Outcome.DONE, **end}),
    ]


def _moves(ident: str, *states: State) -> list[ev.Event]:
    return [ev.StateChanged(ident, 1.0, state) for state in states]


def _story() -> Iterator[ev.Event]:
    """A ticket that died once and was corrected, its fork, and one that has not begun."""
    yield ev.TicketAdded("001-fix", 1.0, title="Fix it", order=0, budget_usd=1.0)
    yield ev.TicketAdded("002-add", 1.0, title="Add it \x1b[31m", order=1)
    yield from _moves("001-fix", State.STARTING, State.RUNNING)
    cut = {"outcome": Outcome.CRASHED, "estimated_usd": 0.012, "tokens": 500, "detail": "exit code -9"}
    yield from _attempt("001-fix", 1, "s1", 0.0, _turn("001-fix", 1, 0.048, 0.048), **cut)
    yield ev.AttemptStarted("001-fix", 120.0, 2, Mode.RESUME, "s1", cap_usd=0.95, reserve_usd=0.05)
    yield ev.CostCorrected("001-fix", 120.0, 1, -0.003, 0.012, 0.057)
    yield from _attempt("001-fix", 2, "s1", 0.057, _turn("001-fix", 2, 1.043, 1.1))[1:]
    yield from _moves("001-fix", State.DONE)
    yield ev.TicketAdded("001-fix.2", 1.0, title="Otherwise", order=0, parent="001-fix")
    about = ("l", "s2", "s1", "m", "c", "now", "Otherwise.", "Otherwise", 1.0, None, None, 1.0)
    yield ev.Forked("001-fix.2", 1.0, Fork("001-fix.2", "001-fix", *about), "base")
    yield from _moves("001-fix.2", State.STARTING, State.RUNNING)
    yield from _attempt("001-fix.2", 1, "s2", 1.1, _turn("001-fix.2", 1, 0.02, 1.12))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A batch with a past."""
    (tmp_path / "tickets.toml").write_text(FILE)
    (tmp_path / ".supervisor").mkdir()
    _play(tmp_path, _story())
    return tmp_path


def _play(place: Path, events: Iterable[ev.Event]) -> None:
    board = Board()
    with closing(connect(place / ".supervisor" / "state.db")) as db:
        for event in events:
            ledgers.tx(db, append, event, board.preview(event))
            board.apply(event)


@pytest.fixture
def shell(place: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Runs a command on the batch and returns its code, output and errors."""

    def run(*argv: str) -> tuple[int, str, str]:
        file = ["--file"] if argv[0] == "report" else []
        code = run_command([*argv, *file, str(place / "tickets.toml")])
        streams = capsys.readouterr()
        return code, streams.out, streams.err

    return run


COSTS = """\
001-fix  Fix it  (done)
  attempt 1  fresh  crashed   cap $0.9500, reserve $0.0500
    baseline          total $0.0000
    turn 1            total $0.0480     + $0.0480     success/completed
    not reported ≈                      + $0.0120     estimated by its messages
    corrected                           − $0.0030     the session's next baseline, $0.0570, tells so
                                        = $0.0570     together
  attempt 2  resume  done   cap $0.9500, reserve $0.0500, $0.0930 beyond it
    baseline          total $0.0570
    turn 1            total $1.1000     + $1.0430     success/completed
                                        = $1.0430     together
  = $1.1000 of $1.00 in 2 attempts, 6 turns, 8,500 tokens, $0.1000 beyond it

001-fix.2  Otherwise  (cut off)
  attempt 1  fresh  done   cap $0.9500, reserve $0.0500
    baseline          total $1.1000
    turn 1            total $1.1200     + $0.0200     success/completed
                                        = $0.0200     together
  = $0.0200 in 1 attempt, 3 turns, 4,000 tokens

lineage of 001-fix: 001-fix $1.1000 + 001-fix.2 $0.0200 = $1.1200

batch shop: $1.1200 of $20.00
All figures are estimates of the SDK's, not your bill.
"""


def test_costs_are_spelled_out(shell: Shell) -> None:
    code, out, err = shell("report", "001-f", "--costs")
    assert (code, err) == (0, "")
    assert out == COSTS


def test_costs_add_up_as_data(shell: Shell) -> None:
    _, out, _ = shell("report", "--costs", "--json")
    data = json.loads(out)
    assert [f["root"] for f in data["lineages"]] == ["001-fix", "002-add"]
    total = 0.0
    for family in data["lineages"]:
        for ticket in family["tickets"]:
            for a in ticket["attempts"]:
                parts = [t["cost_usd"] for t in a["turns"]]
                parts += [a["estimated_usd"], a["settled_usd"], a["corrected_usd"]]
                assert sum(parts) == pytest.approx(a["cost_usd"])
            assert sum(a["cost_usd"] for a in ticket["attempts"]) == pytest.approx(ticket["spent_usd"])
        assert sum(t["spent_usd"] for t in family["tickets"]) == pytest.approx(family["spent_usd"])
        total += family["spent_usd"]
    assert total == pytest.approx(data["spent_usd"])


def test_every_attempt_is_reported_with_its_ending(shell: Shell) -> None:
    code, out, _ = shell("report")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "001-fix  Fix it"
    assert lines[1] == "  done, 6 turns, $1.10"
    assert "attempt 1  fresh     crashed        success/completed" in lines[2]
    assert lines[2].endswith("exit code -9")
    assert "30.0 s" in lines[2]
    assert "\x1b" not in out, "no title breaks the terminal"
    only = json.loads(shell("report", "001-fix.2", "--json")[1])
    assert [t["id"] for t in only["tickets"]] == ["001-fix.2"]
    assert only["tickets"][0]["attempts"][0]["seconds"] == 30.0


def test_messages_that_wait_are_reported_with_their_words(shell: Shell, place: Path) -> None:
    told: dict[str, Any] = {"text": "Mind the footer.\n\x1b[2JAnd more. " + "long " * 100, "now": True}
    written = ev.LetterPosted("002-add", 5.0, "m1", "message", told, "operator", wakes=True)
    with closing(connect(place / ".supervisor" / "state.db")) as db:
        ledgers.tx(db, append, written, replace(_seen(place, "002-add"), messages=1))
        other = ev.LetterPosted("002-add", 6.0, "m2", "budget", {"budget_usd": 3.0}, "operator")
        ledgers.tx(db, append, other, _seen(place, "002-add"))
    code, out, _ = shell("report", "002-add")
    assert code == 0
    line = out.splitlines()[-1]
    assert line.startswith("    message, not given yet: Mind the footer.⏎␛[2JAnd more. long long")
    assert line.endswith("…")
    (ticket,) = json.loads(shell("report", "002-add", "--json")[1])["tickets"]
    (message,) = ticket["messages"]
    assert message == {"written": "1970-01-01T00:00:05Z", "by": "operator", "now": True, "text": told["text"]}
    counts = {t["id"]: t["pending_messages"] for t in json.loads(shell("status", "--json")[1])["tickets"]}
    assert counts == {"001-fix": 0, "001-fix.2": 0, "002-add": 1}
    assert shell("status")[1].count("(1 message not given yet)") == 1
    given = ev.PromptStored("002-add", 7.0, 1, "m1", PromptKind.MESSAGE, told["text"], letters=("m1",))
    with closing(connect(place / ".supervisor" / "state.db")) as db:
        ledgers.tx(db, append, given, replace(_seen(place, "002-add"), messages=0))
    assert "not given yet" not in shell("report")[1] + shell("status")[1]


def _seen(place: Path, ident: str) -> TicketSnapshot:
    with glance(place / ".supervisor") as seen:
        return next(t for t in seen.tickets() if t.id == ident)


def test_a_ticket_that_is_not_there_is_refused(shell: Shell) -> None:
    code, _, err = shell("report", "007", "--costs")
    assert (code, err) == (2, 'supervise: there is no ticket "007"\n')


def test_the_status_has_a_forecast(shell: Shell) -> None:
    data = json.loads(shell("status", "--json")[1])
    found = data["forecast"]
    assert (found["finished"], found["left"]) == (1, 2)
    assert found["cost_usd"] == pytest.approx(1.12 + (1.1 - 0.02) + 1.1)
    assert found["words"].startswith("≈ $3.30 in all ($3.30 to $3.30), ends about ")
    assert data["tokens"] == 12_500
    _, out, _ = shell("status")
    assert out.splitlines()[1].startswith("forecast: ≈ $3.30 in all")
    assert "(headroom below the reserve)" not in out, "it is over, so that is no warning"


def test_what_is_partly_estimated_is_marked(tmp_path: Path, shell: Shell, place: Path) -> None:
    assert "≈" not in shell("status")[1].splitlines()[0]
    (tmp_path / ".supervisor" / "state.db").unlink()
    _play(place, (e for e in _story() if not isinstance(e, ev.CostCorrected)))
    first, _, *lines = shell("status")[1].splitlines()
    assert first.startswith("shop: not running, ≈ $1.12 of $20.00 spent")
    assert ["≈ $" in line for line in lines] == [True, False, False]
    assert shell("report", "001-fix")[1].splitlines()[1] == "  done, 6 turns, ≈ $1.10"


def test_on_a_subscription_turns_and_tokens_count(shell: Shell, place: Path) -> None:
    with closing(connect(place / ".supervisor" / "state.db")) as db:
        ledgers.tx(db, settings.put, "costs are notional", "yes")
    _, out, _ = shell("status")
    assert out.startswith("shop: not running, 9 turns and 12,500 tokens on a subscription (as if $1.12)\n")
    assert "6 turns" in out
    assert json.loads(shell("status", "--json")[1])["costs_are_notional"] is True


@pytest.mark.parametrize("command", [("status",), ("report",), ("report", "--costs")], ids=" ".join)
def test_what_another_batch_has_left_is_not_told_as_this_ones(
    place: Path, shell: Shell, command: tuple[str, ...]
) -> None:
    with closing(connect(place / ".supervisor" / "state.db")) as db:
        settings.put(db, BATCH, json.dumps({"name": "other", "file": "/somewhere/other.toml"}))
        db.commit()
    code, said, errors = shell(*command)
    assert (code, said) == (2, "")
    assert "holds the batch 'other' of /somewhere/other.toml" in errors
    assert "name /somewhere/other.toml, or the directory of this one with --state-dir" in errors
