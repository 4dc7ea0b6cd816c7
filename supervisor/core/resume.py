"""What an ending means, decided by position and by what the SDK reports, never by prose alone.

The shape of a failed resume is undocumented, so position decides: a failure before the first *real* assistant message
of a resumed session is a failed resume and may be retried once in a fresh session; a failure after it is a real one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core.model import Outcome

if TYPE_CHECKING:
    from supervisor.core.events import TurnEnded

LIMIT_SUBTYPES = frozenset({"error_max_turns", "error_max_budget_usd"})
LIMIT_REASONS = frozenset({"max_turns", "budget_exhausted"})
_SIGNAL_EXITS = frozenset({129, 130, 137, 143})


@dataclass(frozen=True, slots=True)
class Ending:
    """Everything known when an attempt is over."""

    resumed: bool = False
    """The attempt was started with ``resume=``."""
    agent_started: bool = False
    """A real assistant message arrived: without ``error``, not a subagent's, not a replayed prompt."""
    interrupted: bool = False
    """We interrupted it."""
    own_mistake: bool = False
    """The start itself was wrong (no working directory, no CLI, a bad option): another session would not help."""
    has_result: bool = False
    """A result that answers our prompt arrived."""
    subtype: str | None = None
    terminal_reason: str | None = None
    is_error: bool = False
    api_error_status: int | None = None
    exit_code: int | None = None


def classify(e: Ending) -> Outcome:
    """Return what the ending means."""
    if e.has_result and not e.is_error and e.terminal_reason == "completed":
        return Outcome.DONE
    if e.interrupted or (e.terminal_reason or "").startswith("aborted_"):
        return Outcome.INTERRUPTED
    if e.own_mistake:
        return Outcome.FAILED_RUN
    if e.subtype in LIMIT_SUBTYPES or e.terminal_reason in LIMIT_REASONS:
        return Outcome.LIMIT
    if e.api_error_status is not None or e.terminal_reason == "api_error":
        return Outcome.API_ERROR
    if e.resumed and not e.agent_started and _refused(e):
        return Outcome.FAILED_RESUME
    return Outcome.FAILED_RUN if e.has_result else Outcome.CRASHED


def is_success(turn: TurnEnded) -> bool:
    """Return whether a result says that the agent finished."""
    return not turn.is_error and turn.terminal_reason == "completed"


def _refused(e: Ending) -> bool:
    """Whether the session itself was refused: an error was reported, or the process left by itself with one.

    A process that died of a signal, never started or did not answer says nothing about the session it was asked to
    resume, and a session that was paid for is not given up on a guess.
    """
    if e.has_result or e.subtype is not None:
        return True
    return e.exit_code is not None and e.exit_code > 0 and e.exit_code not in _SIGNAL_EXITS


def is_passing(status: int | None) -> bool:
    """Return whether an API failure of this HTTP status is worth waiting for; None is a connection failure."""
    return status is None or status in (408, 409, 429) or status >= 500
