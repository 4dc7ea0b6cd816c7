"""What the operator can answer to an ask, in one table: digits, footer, help, dialogs and palette follow it.

Which answer an ask takes is decided in ``core.asks``; here are the keys, the words, and what has to be written.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from supervisor.core.asks import MAX_MESSAGE, AnswerKind, Ask, AskAnswer, AskKind, offered, questions, refusal
from widgets.ask_draft import MOST_DIGITS, Draft
from widgets.ask_words import what
from widgets.cells import drawable

if TYPE_CHECKING:
    from collections.abc import Sequence


class Words(StrEnum):
    """Whether an answer comes with words of the operator's. With any but ``NONE`` a dialog takes them."""

    NONE = "none"
    MAY = "may"
    MUST = "must"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer to asks of one kind."""

    key: str
    label: str
    """A few words for the line of answers."""
    help: str
    """One sentence for the help screen and the palette."""
    to: AskKind
    kind: AnswerKind
    words: Words = Words.NONE
    prompt: str = ""
    """What the operator is asked to write."""


_P, _Q, _N = AskKind.PERMISSION, AskKind.QUESTION, AskKind.PLAN
_ALLOW, _SESSION, _DENY, _STOP = AnswerKind.ALLOW, AnswerKind.ALLOW_SESSION, AnswerKind.DENY, AnswerKind.DENY_STOP
_WHY = "why (the agent reads it)"
_MAY_WHY = f"{_WHY}, or nothing"
_INSTEAD = "what to do instead (the agent reads it), or nothing"

REPLIES: tuple[Reply, ...] = (
    Reply("1", "allow once", "Let it do this one call.", _P, _ALLOW),
    Reply("2", "for this session", "Allow it, and what the card's rules say, until its session ends.", _P, _SESSION),
    Reply("3", "deny", "Refuse the call; the agent goes on without it.", _P, _DENY),
    Reply("4", "deny, say why", "Refuse the call, and tell the agent why.", _P, _DENY, Words.MUST, _WHY),
    Reply("5", "deny and stop", "Refuse the call, and pause the ticket.", _P, _STOP, Words.MAY, _MAY_WHY),
    Reply("1", "approve", "Let it carry the plan out, and ask as usual.", _N, _ALLOW),
    Reply("2", "approve, accept edits", "Let it carry the plan out, and edit files without asking.", _N, _SESSION),
    Reply(
        "3",
        "keep planning",
        "Send it back to its plan, with your words.",
        _N,
        _DENY,
        Words.MAY,
        "what to change, or nothing",
    ),
    Reply("4", "stop", "Do not approve the plan, and pause the ticket.", _N, _STOP, Words.MAY, _MAY_WHY),
    Reply("0", "no answer", "Let the agent decide for itself.", _Q, _DENY, Words.MAY, _INSTEAD),
    Reply("s", "stop", "Do not answer, and pause the ticket.", _Q, _STOP, Words.MAY, _MAY_WHY),
)
"""In the order in which they are offered."""

CHOOSE_HELP: tuple[tuple[str, str], ...] = (
    (f"1-{MOST_DIGITS}", "Choose an option; where several may be chosen, take it back again."),
    ("o", "Answer in your own words."),
    ("enter", "Go on to the next question; after the last one send all answers."),
    ("backspace", "Go back to the question before."),
)
"""What the keys do to a question that is being answered."""

KEYS = tuple(sorted({*(reply.key for reply in REPLIES), *map(str, range(1, MOST_DIGITS + 1))}))
"""Every key that answers an ask."""


def offered_replies(ask: Ask) -> list[Reply]:
    """Return the replies that an ask takes now."""
    takes = offered(ask)
    return [reply for reply in REPLIES if reply.to is ask.kind and reply.kind in takes]


def reply_for(key: str, ask: Ask) -> Reply | None:
    """Return the reply that a key stands for, whether or not the ask takes it now."""
    return next((reply for reply in REPLIES if reply.to is ask.kind and reply.key == key), None)


def answer_of(reply: Reply, ask: Ask, words: str = "") -> AskAnswer:
    """Return what is sent: it names the version that was on the screen."""
    return AskAnswer(ask.id, reply.kind, words, seen_version=ask.version)


def answer_of_draft(draft: Draft, ask: Ask) -> AskAnswer:
    """Return the answers to an ask's questions as they are sent."""
    return AskAnswer(ask.id, AnswerKind.REPLY, answers=draft.replies(), seen_version=ask.version)


def why_not(answer: AskAnswer, ask: Ask) -> str | None:
    """Return why an answer would be refused right now, for the operator; None when it would be taken."""
    return refusal(ask, answer)


def draft_of(ask: Ask, drafts: dict[str, Draft]) -> Draft | None:
    """Return what is chosen so far of an ask's questions; None where it has none that can be answered."""
    if ask.kind is not AskKind.QUESTION or not ask.waits:
        return None
    asked = questions(ask)
    return drafts.get(ask.id) or (Draft.of(asked) if asked else None)


def misfit(key: str, ask: Ask) -> str:
    """Return why a key answers nothing of an ask."""
    keys = ", ".join(f"{reply.key} {reply.label}" for reply in offered_replies(ask))
    return f"{key} answers nothing of this {ask.kind.value}: {keys}" if keys else f"this {ask.kind.value} is over"


def title(reply: Reply, ask: Ask) -> str:
    """Return the title of a dialog, safe to draw."""
    return f"{reply.label[:1].upper()}{reply.label[1:]}: {what(ask)} of {drawable(ask.ticket)}"


def too_long(words: str) -> str | None:
    """Return why words are not taken; None when they are."""
    return f"At most {MAX_MESSAGE} characters; these are {len(words)}." if len(words) > MAX_MESSAGE else None


def hints(ask: Ask, draft: Draft | None) -> Sequence[tuple[str, str]]:
    """Return keys and labels for the line of answers."""
    replies = [(reply.key, reply.label) for reply in offered_replies(ask)]
    if draft is None:
        return replies
    count = min(len(draft.question.options), MOST_DIGITS)
    digits = [("1" if count == 1 else f"1-{count}", "choose")] if count else []
    back = [("backspace", "back")] if draft.place else []
    return [*digits, ("o", "own words"), ("enter", "send" if draft.is_last else "next question"), *back, *replies]
