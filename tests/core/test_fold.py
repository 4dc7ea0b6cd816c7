"""What one event makes of a ticket's snapshot, where that needs more than a look at the event."""

from __future__ import annotations

from dataclasses import replace

import pytest

from supervisor.core import events as ev
from supervisor.core.fold import reduce
from supervisor.core.model import State, TicketSnapshot, Why

RUNNING = TicketSnapshot("001", state=State.RUNNING)
SHORT = "$0.11 left, less than the reserve $0.16"
LIMITED = TicketSnapshot(
    "001", state=State.NEEDS_YOU, why=Why.LIMIT, detail=SHORT, budget_usd=0.12, spent_usd=0.01, reserve_usd=0.16
)
RAISED = "limit raised; resume it"


def _called(ident: str, name: str, summary: str) -> ev.ToolCalled:
    return ev.ToolCalled("001", 1.0, ident, name, summary)


def _after(ticket: TicketSnapshot, *events: ev.Event) -> str:
    for event in events:
        ticket = reduce(ticket, event)
    return ticket.detail


def test_a_tool_that_has_returned_is_not_what_the_agent_does_now() -> None:
    edit, back = _called("a", "Edit", "src/calc.py"), ev.ToolReturned("001", 2.0, "a", "ok")
    assert _after(RUNNING, edit) == "Edit src/calc.py"
    assert _after(RUNNING, edit, back) == "thinking"


def test_of_several_tools_the_latest_one_at_work_is_named() -> None:
    both = (_called("a", "Bash", "make"), _called("b", "Read", "x.py"))
    done = {name: ev.ToolReturned("001", 2.0, name, "ok") for name in "ab"}
    assert _after(RUNNING, *both, done["b"]) == "Bash make"
    assert _after(RUNNING, *both, done["a"]) == "Read x.py"
    assert _after(RUNNING, *both, done["a"], done["b"]) == "thinking"


def test_what_was_said_after_a_call_stays() -> None:
    said = ev.AgentSpoke("001", 2.0, "Meanwhile I read.")
    assert _after(RUNNING, _called("a", "Bash", "make"), said, ev.ToolReturned("001", 3.0, "a", "ok")) == said.text


def test_no_tool_outlives_its_turn() -> None:
    ended = ev.AttemptEnded("001", 2.0, 1, outcome=None)  # type: ignore[arg-type]
    assert reduce(reduce(RUNNING, _called("a", "Bash", "make")), ended).tools == ()


def _limits(**now: float | None) -> ev.LimitsChanged:
    told = {"budget_usd": 0.12, "max_turns": None} | now
    return ev.LimitsChanged("001", 2.0, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("budget", "says"),
    [(1.12, RAISED), (None, RAISED), (0.17, "$0.16 left, less than the reserve $0.16"), (0.12, SHORT)],
)
def test_a_ticket_at_its_budget_says_what_holds_once_that_is_changed(budget: float | None, says: str) -> None:
    assert _after(LIMITED, _limits(budget_usd=budget)) == says


def test_less_than_a_cent_is_said_to_be_that() -> None:
    assert (
        _after(replace(LIMITED, spent_usd=0.118), _limits(budget_usd=0.121)) == "<1¢ left, less than the reserve $0.16"
    )


def test_a_ticket_at_its_turns_is_not_raised_by_money() -> None:
    full = "max turns reached"
    ticket = replace(LIMITED, budget_usd=5.0, max_turns=4, subtype="error_max_turns", detail=full)
    assert _after(ticket, _limits(budget_usd=9.0, max_turns=4)) == full
    assert _after(ticket, _limits(budget_usd=5.0, max_turns=8)) == RAISED


def test_turns_in_all_that_are_raised() -> None:
    full = "all 6 turns are taken"
    ticket = replace(LIMITED, budget_usd=None, turns=6, budget_turns=6, detail=full)
    assert _after(ticket, _limits(budget_usd=None, budget_turns=20)) == RAISED
    assert _after(ticket, _limits(budget_usd=3.0, budget_turns=6)) == full


def test_a_larger_call_makes_the_reserve_of_a_ticket_that_was_raised_larger() -> None:
    raised = reduce(LIMITED, _limits(budget_usd=0.5))
    larger = reduce(raised, ev.ReserveSeen("001", 3.0, 0.6))
    assert (raised.detail, larger.detail) == (RAISED, "$0.49 left, less than the reserve $0.60")
    assert larger.reserve_usd == 0.6


def test_a_ticket_that_is_at_work_keeps_its_words() -> None:
    assert _after(replace(RUNNING, detail="thinking", budget_usd=1.0), _limits(budget_usd=2.0)) == "thinking"


@pytest.mark.parametrize(("state", "says"), [(State.DONE, "files taken back since"), (State.PAUSED, "verified")])
def test_finished_work_whose_files_are_gone(state: State, says: str) -> None:
    rewound = ev.FilesRewound("001", 2.0, "how they were", "abc", work="files taken back since")
    assert _after(TicketSnapshot("001", state=state, detail="verified"), rewound) == says
