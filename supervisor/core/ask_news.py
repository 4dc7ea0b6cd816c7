"""What an agent is told of answers that it did not hear, since it was resting when they were given. Pure text."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from supervisor.core.asks import AnswerKind, Ask, AskKind, reply_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_TOLD = 20


def told(ask: Ask) -> str:
    """Return what the operator decided, and what the agent may do now."""
    allowed = ask.answer in (AnswerKind.ALLOW, AnswerKind.ALLOW_SESSION)
    if ask.kind is AskKind.QUESTION:
        words = _replies(ask) if ask.answer is AnswerKind.REPLY else _denied(ask, "does not answer your questions")
    elif ask.kind is AskKind.PLAN:
        approved = "The operator approved your plan, and plan mode is over: carry it out."
        words = approved if allowed else _denied(ask, "does not approve your plan")
    elif not allowed:
        words = _denied(ask, f"denied your call of {ask.detail}")
    elif ask.answer is AnswerKind.ALLOW_SESSION:
        words = f"The operator allowed your call of {ask.detail}, and the like: {', '.join(ask.rules)}. Call it again."
    else:
        words = (
            f"The operator allowed your call of {ask.detail}, once. It has not run yet: "
            "call it again with exactly the same input, and it is let through."
        )
    return f"{words}\nThey wrote: {ask.message}" if allowed and ask.message else words


def known(asks: Iterable[Ask]) -> tuple[str, ...]:
    """Return what still holds of all answers, for an agent that knows none of them; the last ones."""
    holds = (a for a in asks if a.answer is not None and (a.granted or not _is_spent(a)))
    return tuple(map(told, deque(holds, maxlen=_MOST_TOLD)))


def _is_spent(ask: Ask) -> bool:
    return ask.kind is AskKind.PERMISSION and ask.answer is AnswerKind.ALLOW


def _denied(ask: Ask, what: str) -> str:
    return f"The operator {what}: {ask.message}" if ask.message else f"The operator {what}. Go on without it."


def _replies(ask: Ask) -> str:
    lines = "\n".join(f"- {question} {reply_text(said)}" for question, said in ask.answers.items())
    return f"The operator answered your questions; do not ask them again:\n{lines}"
