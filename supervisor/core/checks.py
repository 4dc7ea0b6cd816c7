"""The runs of a ticket's check, each with the attempt whose work it looked at, and what is said of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.model import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from supervisor.core.model import AttemptRecord

TOLD_BY = (ev.AttemptStarted, ev.Verified)
"""The events that `check_runs` reads; others may be left out."""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One run of the check."""

    attempt: int
    """Number of the attempt before it; 0 where there was none."""
    round: int
    """Counted from 1, again from 1 after the operator took the ticket up."""
    exit_code: int | None
    """None when it ran out of time."""
    at: float
    """When it ended."""

    @property
    def passed(self) -> bool:
        """Whether the work is as it should be."""
        return self.exit_code == 0

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        if self.passed:
            return "passed"
        return "ran out of time" if self.exit_code is None else f"exit code {self.exit_code}"


def check_runs(events: Iterable[ev.Event]) -> tuple[CheckRun, ...]:
    """Return the runs of one ticket's check, oldest first, from its events in order."""
    found, attempt = [], 0
    for event in events:
        if isinstance(event, ev.AttemptStarted):
            attempt = event.number
        elif isinstance(event, ev.Verified):
            found.append(CheckRun(attempt, event.round, event.exit_code, event.at))
    return tuple(found)


def failure(runs: Sequence[CheckRun]) -> str:
    """Return in words that the check of one attempt failed; empty where it passed in the end, or never ran."""
    if not runs or runs[-1].passed:
        return ""
    last = runs[-1].ending if runs[-1].exit_code is None else f"with {runs[-1].ending}"
    if len(runs) == 1:
        return f"check failed, round {runs[-1].round}, {last}"
    return f"check failed, {len(runs)} rounds, the last {last}"


def with_checks(attempts: Iterable[AttemptRecord], runs: Sequence[CheckRun]) -> tuple[AttemptRecord, ...]:
    """Return attempts, each that ended well but for its check with that as its ``detail``."""
    return tuple(_with_check(attempt, of_attempt(runs, attempt.number)) for attempt in attempts)


def of_attempt(runs: Iterable[CheckRun], number: int) -> tuple[CheckRun, ...]:
    """Return the runs that looked at one attempt's work."""
    return tuple(run for run in runs if run.attempt == number)


def _with_check(attempt: AttemptRecord, runs: Sequence[CheckRun]) -> AttemptRecord:
    failed = failure(runs) if attempt.outcome is Outcome.DONE and not attempt.detail else ""
    return replace(attempt, detail=failed) if failed else attempt
