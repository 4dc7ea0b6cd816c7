"""What the ending of an attempt means, and the few words that are said of it.

``core.resume`` decides by what was reported; here is gathered what was, and what we ourselves did to the agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core.model import Outcome
from supervisor.core.resume import Ending, classify
from supervisor.core.transcript import telling

if TYPE_CHECKING:
    from supervisor.core.events import TurnEnded
    from supervisor.engine.agent import Failure


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an attempt came to."""

    outcome: Outcome
    detail: str = ""
    """Why it ended, in a few words; nothing where it ended as it should."""
    api_error_status: int | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """How an attempt went, as far as it decides what its ending means."""

    resumed: bool
    agent_started: bool
    turn: TurnEnded | None
    """The last result; None where a later prompt of ours was left without one, for then it tells nothing."""
    failure: Failure | None
    """Why the start or the stream failed."""
    stopped: bool
    """It was told to end."""
    cut: bool
    """Ended by an error or the end of our own, which tells nothing of the agent."""
    halt: Meaning | None
    """Why we stopped the agent by ourselves: the attempt ends as if it had said so."""
    stuck: bool
    """Stopped for an effect of which nobody knows whether it has happened, or which could not be written down."""
    silent_minutes: float | None
    """Stopped because it had been silent for so long."""

    @property
    def interrupted(self) -> bool:
        """Whether we ended it, for whatever reason."""
        silent = self.silent_minutes is not None
        return self.stopped or self.cut or silent or self.halt is not None or self.stuck


def meaning(course: Course) -> Meaning:
    """Return what the ending means."""
    outcome, told = classify(_ending(course)), course.turn or course.failure
    halted = not course.stopped and not course.cut and outcome in (Outcome.INTERRUPTED, Outcome.DONE)
    if course.halt is not None and halted:
        return course.halt
    return Meaning(outcome, _detail(course, outcome), told.api_error_status if told else None)


def _ending(course: Course) -> Ending:
    turn, failure = course.turn, course.failure
    told = turn or failure
    return Ending(
        resumed=course.resumed,
        agent_started=course.agent_started,
        interrupted=course.interrupted,
        own_mistake=turn is None and failure is not None and failure.own_mistake,
        has_result=turn is not None,
        subtype=told.subtype if told else None,
        terminal_reason=told.terminal_reason if told else None,
        is_error=turn.is_error if turn else True,
        api_error_status=told.api_error_status if told else None,
        exit_code=failure.exit_code if failure else None,
    )


def _detail(course: Course, outcome: Outcome) -> str:
    turn = course.turn
    if outcome is Outcome.INTERRUPTED and course.silent_minutes is not None:
        return f"no message for {course.silent_minutes:g} minutes"
    if outcome in (Outcome.DONE, Outcome.INTERRUPTED):
        return ""
    if turn is not None:
        first_line = turn.text.strip().split("\n", 1)[0]
        return "; ".join(telling(turn.errors)) or first_line or turn.terminal_reason or turn.subtype
    return course.failure.message if course.failure is not None else "the agent's process ended without a result"


def more_telling(first: Failure | None, other: Failure | None) -> Failure | None:
    """Return the failure that knows the process's exit code: a write that failed only knows that it failed."""
    if first is not None and first.exit_code is None and other is not None and other.exit_code is not None:
        return other
    return first or other
