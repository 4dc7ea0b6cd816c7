"""What the SDK messages of one call say of its session and its end, read by the names of their classes. Pure.

No SDK is needed to read them, so a report can be made from whatever was kept of a call. Positions and the SDK's own
fields decide, never prose; what an ending means is left to ``core.resume``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from supervisor.core.resume import Ending, classify

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from supervisor.core.model import Outcome

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9][\w.:-]{0,99}", re.ASCII)
_ROUNDING_USD = 1e-6
"""Totals that differ by less are the same: one of them may have been written out and read back."""
_HUGE = 1e15


@dataclass(frozen=True, slots=True)
class Summary:
    """What one call came to. Money is USD, as the SDK estimates it; it is not billing data."""

    subtype: str | None
    """As the SDK reports it; None when no result of ours arrived. Says ``success`` for a failed API request too."""
    terminal_reason: str | None
    """As the SDK reports it: look here, and at ``is_error``, before ``subtype``."""
    is_error: bool
    """True also when no result arrived."""
    turns: int
    """The SDK's ``num_turns`` of this call."""
    cost_usd: float
    """What this call cost: its total without what the session had cost before. Never negative."""
    total_cost_usd: float
    """The session's total, earlier calls included: what to keep for the next ``previous_cost_usd``."""
    headroom_usd: float | None
    """What the call had left of its cap; negative after an overshoot, None without a cap."""
    session_id: str | None
    """To be stored whatever the ending, since an error is a reason to resume."""
    outcome: Outcome


def summarise(
    messages: Sequence[object],
    previous_cost_usd: float = 0.0,
    budget_usd: float | None = None,
    *,
    resumed: bool = False,
) -> Summary:
    """Say what a call came to. Nothing is summed: ``total_cost_usd`` counts over the whole session already.

    A total below the previous one shows that the session's count began again (its last process was killed before it
    could write it down, or the conversation was cleared), so all of it belongs to this call. A count that began again
    and has since passed the previous total cannot be told from one that went on.

    Args:
        messages: all SDK messages of the call, oldest first.
        previous_cost_usd: the session's total before this call, unrounded; 0 for a fresh session, a fallback included.
        budget_usd: the call's own cap. The SDK's ``max_budget_usd`` counts what the call spends, not the session.
        resumed: whether the session was resumed; tells a failed resume from a failed run.

    Returns:
        The last result that is no ghost (see :func:`last_result`), with the last total that any result reports.
    """
    result = last_result(messages)
    total, previous = _total(messages), max(0.0, previous_cost_usd)
    cost = _difference(total, previous)
    return Summary(
        subtype=_word(result, "subtype"),
        terminal_reason=_word(result, "terminal_reason"),
        is_error=bool(getattr(result, "is_error", True)),
        turns=max(0, int(_figure(result, "num_turns") or 0)),
        cost_usd=cost,
        total_cost_usd=previous if total is None else total,
        headroom_usd=None if budget_usd is None else budget_usd - cost,
        session_id=session_of(messages),
        outcome=classify(ending_of(messages, resumed=resumed)),
    )


def ending_of(
    messages: Sequence[object],
    *,
    resumed: bool = False,
    failure: BaseException | None = None,
    own_mistake: bool = False,
) -> Ending:
    """Return what is known of a call's end, for ``core.resume.classify``.

    Args:
        messages: all SDK messages of the call.
        resumed: whether the session was opened with ``resume=``.
        failure: what was raised; where it has the fields of the SDK's ``ResultError`` or ``ProcessError``, they count.
        own_mistake: whether ``failure`` says that the start itself was wrong.
    """
    result = last_result(messages)
    told = failure if result is None else result
    # A result that is no error shows that the session was there, even without a message: a local command's has none.
    went_well = result is not None and not result.is_error
    return Ending(
        resumed=resumed,
        agent_started=went_well or any(map(is_answer, messages)),
        own_mistake=own_mistake and result is None,
        has_result=result is not None,
        subtype=_word(told, "subtype"),
        terminal_reason=_word(told, "terminal_reason"),
        is_error=bool(getattr(result, "is_error", True)),
        api_error_status=_whole(told, "api_error_status"),
        exit_code=_whole(failure, "exit_code"),
    )


def last_result(messages: Sequence[object]) -> Any | None:
    """Return the last result that is no ghost, or None.

    If a session's last process died with a background task unfinished, its next resume begins with a ghost: a result
    with ``num_turns`` 0 that a task's notification started, and that answers no prompt (seen with CLI 2.1.332).
    """
    return next((m for m in reversed(messages) if is_result(m) and not _is_ghost(m)), None)


def is_result(message: object) -> bool:
    """Return whether a message is a ResultMessage."""
    return type(message).__name__ == "ResultMessage"


def is_answer(message: object) -> bool:
    """Return whether the agent itself speaks: not the CLI about an API error, and not a subagent."""
    if type(message).__name__ != "AssistantMessage":
        return False
    return not getattr(message, "error", None) and getattr(message, "parent_tool_use_id", None) is None


def session_of(messages: Iterable[object]) -> str | None:
    """Return the session's id by the last message that names one; a killed call has no result but may name it."""
    named = None
    for message in messages:
        data = getattr(message, "data", None)
        ident = getattr(message, "session_id", None) or (data.get("session_id") if isinstance(data, dict) else None)
        named = ident if is_usable_id(ident) else named
    return named


def is_session_id(value: object) -> bool:
    """Return whether the CLI takes it as a session's id: a UUID written 8-4-4-4-12, of any version, in any case.

    Seen with CLI 2.1.332: without the hyphens it is refused, and the case is kept as given.
    """
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def is_usable_id(value: object) -> TypeGuard[str]:
    """Return whether a reported session id can be kept, looked up and given to ``--resume``: one short, plain word."""
    return isinstance(value, str) and _WORD.fullmatch(value) is not None


def _is_ghost(result: Any) -> bool:
    origin = getattr(result, "origin", None)
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return not getattr(result, "num_turns", 0) and kind == "task-notification"


def _total(messages: Sequence[object]) -> float | None:
    totals = (_figure(m, "total_cost_usd") for m in reversed(messages) if is_result(m))
    return next((t for t in totals if t is not None and t >= 0), None)


def _difference(total: float | None, previous: float) -> float:
    if total is None:
        return 0.0
    began_again = total < previous - _ROUNDING_USD
    return total if began_again else max(0.0, total - previous)


def _word(told: object, name: str) -> str | None:
    """Return a field if it is a word to be shown. The SDK hands on what the CLI wrote, without a look at its type."""
    value = getattr(told, name, None)
    return value if isinstance(value, str) and value.isprintable() else None


def _whole(told: object, name: str) -> int | None:
    value = getattr(told, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _HUGE else None


def _figure(told: object, name: str) -> float | None:
    """Return a field if it is a number within all sense."""
    value = getattr(told, name, None)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < _HUGE else None
