# ruff: noqa: E501 - a table of one case each line is easier to read
"""What endings mean. The rows are endings seen on the real CLI."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.model import Outcome
from supervisor.core.resume import Ending, classify, is_passing

OK = Ending(agent_started=True, has_result=True, subtype="success", terminal_reason="completed")


def _result(subtype: str, reason: str | None, *, resumed: bool = False, started: bool = True, **more: object) -> Ending:
    return Ending(
        resumed=resumed,
        agent_started=started,
        has_result=True,
        is_error=True,
        subtype=subtype,
        terminal_reason=reason,
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("what", "ending", "outcome"),
    [
        ("success", OK, Outcome.DONE),
        ("success just as we interrupted", Ending(True, True, True, has_result=True, terminal_reason="completed"), Outcome.DONE),
        ("max turns", _result("error_max_turns", "max_turns"), Outcome.LIMIT),
        ("budget, at once after a resume", _result("error_max_budget_usd", "budget_exhausted", resumed=True, started=False), Outcome.LIMIT),
        ("529", _result("success", "api_error", api_error_status=529), Outcome.API_ERROR),
        ("529 right after a resume", _result("success", "api_error", resumed=True, started=False, api_error_status=529), Outcome.API_ERROR),
        ("refused connection", _result("success", "api_error", resumed=True, started=False), Outcome.API_ERROR),
        ("interrupted in a stream", _result("error_during_execution", "aborted_streaming", interrupted=True), Outcome.INTERRUPTED),
        ("aborted in a tool, not by us", _result("error_during_execution", "aborted_tools"), Outcome.INTERRUPTED),
        ("interrupted while connecting", Ending(resumed=True, interrupted=True), Outcome.INTERRUPTED),
        ("stale id", Ending(resumed=True, subtype="error_during_execution", is_error=True, exit_code=1), Outcome.FAILED_RESUME),
        ("stale id as a result", _result("error_during_execution", None, resumed=True, started=False), Outcome.FAILED_RESUME),
        ("error after the agent started", _result("error_during_execution", None, resumed=True), Outcome.FAILED_RUN),
        ("error in a fresh session", _result("error_during_execution", None, started=False), Outcome.FAILED_RUN),
        ("missing cwd on a resume", Ending(resumed=True, own_mistake=True), Outcome.FAILED_RUN),
        ("killed in mid-turn", Ending(agent_started=True, is_error=True, exit_code=-9), Outcome.CRASHED),
        ("killed before the first word of a resume", Ending(resumed=True, is_error=True, exit_code=143), Outcome.CRASHED),
        ("exit 0 without a result", Ending(agent_started=True, is_error=True), Outcome.CRASHED),
        ("fresh start died", Ending(is_error=True, exit_code=1), Outcome.CRASHED),
        ("success without a terminal reason", Ending(agent_started=True, has_result=True, subtype="success"), Outcome.FAILED_RUN),
    ],
)  # fmt: skip
def test_endings_seen_on_the_real_cli(what: str, ending: Ending, outcome: Outcome) -> None:
    assert classify(ending) is outcome, what


@given(
    st.builds(
        Ending,
        resumed=st.booleans(),
        agent_started=st.booleans(),
        interrupted=st.booleans(),
        own_mistake=st.booleans(),
        has_result=st.booleans(),
        subtype=st.sampled_from([None, "success", "error_max_turns", "error_during_execution", "new_one"]),
        terminal_reason=st.sampled_from([None, "completed", "api_error", "max_turns", "aborted_tools", "new_one"]),
        is_error=st.booleans(),
        api_error_status=st.sampled_from([None, 400, 529]),
        exit_code=st.sampled_from([None, 0, 1, -9, 143]),
    )
)
def test_only_a_resume_that_never_started_may_be_begun_afresh(ending: Ending) -> None:
    outcome = classify(ending)
    if outcome is Outcome.FAILED_RESUME:
        assert ending.resumed
        assert not ending.agent_started
        assert not ending.interrupted
        assert not ending.own_mistake
        assert ending.api_error_status is None
    if outcome is Outcome.DONE:
        assert ending.has_result
        assert not ending.is_error
    assert outcome is not Outcome.LOST


def test_which_api_failures_are_worth_waiting_for() -> None:
    assert all(is_passing(s) for s in (None, 408, 429, 500, 503, 529))
    assert not any(is_passing(s) for s in (400, 401, 403, 404, 413))
