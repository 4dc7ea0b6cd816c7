"""Runs of a check are told with the attempt whose work they looked at."""

from __future__ import annotations

import pytest

from supervisor.core import events as ev
from supervisor.core.checks import CheckRun, check_runs, failure, with_checks
from supervisor.core.model import AttemptRecord, Mode, Outcome


def _run(round_: int, exit_code: int | None, attempt: int = 1) -> CheckRun:
    return CheckRun(attempt, round_, exit_code, 1.0)


def test_a_check_looks_at_the_work_of_the_attempt_before_it() -> None:
    begun = [ev.AttemptStarted("t", float(n), n, Mode.FRESH, "s") for n in (1, 2)]
    events = [
        begun[0],
        ev.Verified("t", 2.0, 1, 1),
        ev.AttemptEnded("t", 2.0, 1, Outcome.DONE),
        ev.Verified("t", 3.0, 2, 1),  # by the next start, without an agent
        begun[1],
        ev.Noted("t", 4.0, "…"),
        ev.Verified("t", 5.0, 3, 0),
    ]
    assert [(run.attempt, run.round) for run in check_runs(events)] == [(1, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ((), ""),
        ((_run(1, 0),), ""),
        ((_run(1, 1), _run(2, 0)), ""),
        ((_run(1, 1),), "check failed, round 1, with exit code 1"),
        ((_run(2, None),), "check failed, round 2, ran out of time"),
        ((_run(1, 0), _run(2, 1)), "check failed, 2 rounds, the last with exit code 1"),
        ((_run(1, 1), _run(2, None)), "check failed, 2 rounds, the last ran out of time"),
    ],
)
def test_a_failed_check_in_words(runs: tuple[CheckRun, ...], words: str) -> None:
    assert failure(runs) == words


@pytest.mark.parametrize(
    ("outcome", "detail", "told"),
    [
        (Outcome.DONE, "", "check failed, round 1, with exit code 1"),
        (Outcome.INTERRUPTED, "", ""),
        (Outcome.CRASHED, "exit code -9", "exit code -9"),
        (None, "", ""),
    ],
)
def test_only_what_ended_well_but_for_its_check_says_so(outcome: Outcome | None, detail: str, told: str) -> None:
    first, second = (AttemptRecord("t", n, Mode.FRESH, "s", 1.0, outcome=outcome, detail=detail) for n in (1, 2))
    found = with_checks((first, second), (_run(1, 1),))
    assert [attempt.detail for attempt in found] == [told, detail]
    assert found[1] is second
