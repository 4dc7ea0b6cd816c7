"""What an attempt's ending means: what was reported, against what we ourselves did to the agent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from supervisor.core.events import TurnEnded
from supervisor.core.model import Outcome
from supervisor.engine.agent import Failure
from supervisor.engine.ending import Course, Meaning, meaning, more_telling

DONE = TurnEnded(
    "001", 1.0, 1, "p1", "success", "completed", is_error=False, num_turns=1, cost_usd=0.1, text="All done."
)
ABORTED = replace(DONE, subtype="error_during_execution", terminal_reason="aborted_tools", is_error=True)
REFUSED = replace(DONE, terminal_reason="api_error", is_error=True, api_error_status=529, text="Overloaded\nat once")
OVER = replace(DONE, subtype="error_max_budget_usd", terminal_reason="budget_exhausted", is_error=True, text="")
OVER_SAID, OVER_TOLD = "Reached maximum budget ($0.06999999999999999)", "Reached maximum budget ($0.07)"
DIAGNOSTIC = "[ede_diagnostic] result_type=user last_content_type=n/a"
GONE = Failure("the agent's process ended with exit code 1", exit_code=1)
UNREAD = Failure("the agent's result cannot be read: Missing required field in result message: 'is_error'")
QUIET = Course(
    resumed=False,
    agent_started=True,
    turn=None,
    failure=None,
    stopped=False,
    cut=False,
    halt=None,
    stuck=False,
    silent_minutes=None,
)
HALT = Meaning(Outcome.LIMIT, "what it may spend is used up")


@pytest.mark.parametrize(
    ("course", "expected"),
    [
        (QUIET, Meaning(Outcome.CRASHED, "the agent's process ended without a result")),
        (replace(QUIET, failure=GONE), Meaning(Outcome.CRASHED, GONE.message)),
        (replace(QUIET, failure=UNREAD), Meaning(Outcome.CRASHED, UNREAD.message)),
        (replace(QUIET, failure=UNREAD, resumed=True, agent_started=False), Meaning(Outcome.CRASHED, UNREAD.message)),
        (replace(QUIET, turn=DONE), Meaning(Outcome.DONE)),
        (replace(QUIET, turn=REFUSED), Meaning(Outcome.API_ERROR, "Overloaded", 529)),
        (replace(QUIET, turn=REFUSED, stopped=True), Meaning(Outcome.INTERRUPTED, "", 529)),
        (replace(QUIET, turn=replace(REFUSED, errors=("a", "b"))), Meaning(Outcome.API_ERROR, "a; b", 529)),
        (replace(QUIET, turn=replace(OVER, errors=(DIAGNOSTIC, OVER_SAID))), Meaning(Outcome.LIMIT, OVER_TOLD)),
        (replace(QUIET, turn=replace(REFUSED, errors=(DIAGNOSTIC,))), Meaning(Outcome.API_ERROR, "Overloaded", 529)),
        (replace(QUIET, failure=GONE, cut=True), Meaning(Outcome.INTERRUPTED)),
        (replace(QUIET, turn=ABORTED, stuck=True), Meaning(Outcome.INTERRUPTED)),
        (replace(QUIET, silent_minutes=0.5), Meaning(Outcome.INTERRUPTED, "no message for 0.5 minutes")),
        (replace(QUIET, turn=DONE, silent_minutes=0.5), Meaning(Outcome.DONE)),
        (replace(QUIET, failure=replace(GONE, own_mistake=True)), Meaning(Outcome.FAILED_RUN, GONE.message)),
    ],
)
def test_what_an_ending_means(course: Course, expected: Meaning) -> None:
    assert meaning(course) == expected


def test_what_we_stopped_an_agent_for_is_what_it_came_to() -> None:
    halted = replace(QUIET, turn=ABORTED, halt=HALT)
    assert meaning(halted) == meaning(replace(halted, turn=None)) == meaning(replace(halted, turn=DONE)) == HALT
    assert meaning(replace(halted, stopped=True)).outcome is Outcome.INTERRUPTED, "the operator's wish comes first"
    assert meaning(replace(halted, cut=True)).outcome is Outcome.INTERRUPTED


def test_the_failure_that_knows_the_exit_code_tells_more() -> None:
    written = Failure("the write failed")
    assert more_telling(written, GONE) == more_telling(None, GONE) == more_telling(GONE, written) == GONE
    assert more_telling(written, None) == more_telling(written, replace(GONE, exit_code=None)) == written
    assert more_telling(None, None) is None
