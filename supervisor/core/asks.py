"""Asks: what an agent wants of the operator before it goes on: a permission, answers to questions, a plan approved.

Owns the records and the rules for answers. What an ask becomes by each event is in ``core.ask_fold``. Texts of an ask
are untrusted and bounded, and secrets were taken out of them; times are seconds since the epoch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from supervisor.core.model import Why
from supervisor.core.payloads import Json, canonical, hash_of
from supervisor.core.tools import tool_words

MAX_MESSAGE = 20_000
"""Most characters of what the operator writes with an answer."""
DETAIL_CHARS = 200


class AskKind(StrEnum):
    """What is asked for."""

    PERMISSION = "permission"
    """To use a tool."""
    QUESTION = "question"
    """Answers to questions with options (AskUserQuestion)."""
    PLAN = "plan"
    """To carry a plan out (ExitPlanMode)."""


class AskState(StrEnum):
    """Where an ask is in its life."""

    OPEN = "open"
    """An agent's process waits for the answer."""
    RESTING = "resting"
    """Nobody waits; the ticket goes on once it is answered."""
    ANSWERED = "answered"
    WITHDRAWN = "withdrawn"
    """The agent does not want it any more."""


class AnswerKind(StrEnum):
    """What the operator may say to an ask."""

    ALLOW = "allow"
    ALLOW_SESSION = "allow_session"
    """Allow, and do not ask for the like again: for a plan, accept its edits too."""
    DENY = "deny"
    DENY_STOP = "deny_stop"
    """Deny, and pause the ticket."""
    REPLY = "reply"
    """Answer the questions."""


WAITING = frozenset({AskState.OPEN, AskState.RESTING})
ALLOWS = frozenset({AnswerKind.ALLOW, AnswerKind.ALLOW_SESSION, AnswerKind.REPLY})
ASK_WHYS = frozenset({Why.APPROVE_TOOL, Why.QUESTION})
"""Why a ticket needs the operator that waits for an ask."""

_OFFERED: Mapping[AskKind, tuple[AnswerKind, ...]] = MappingProxyType(
    {
        AskKind.PERMISSION: (AnswerKind.ALLOW, AnswerKind.ALLOW_SESSION, AnswerKind.DENY, AnswerKind.DENY_STOP),
        AskKind.QUESTION: (AnswerKind.REPLY, AnswerKind.DENY, AnswerKind.DENY_STOP),
        AskKind.PLAN: (AnswerKind.ALLOW, AnswerKind.ALLOW_SESSION, AnswerKind.DENY, AnswerKind.DENY_STOP),
    }
)


@dataclass(frozen=True, slots=True)
class Ask:
    """One ask: a row of the asks table. Replaced, never changed."""

    id: str
    ticket: str
    attempt: int
    kind: AskKind
    tool: str
    """The tool's name, as the agent calls it."""
    at: float
    """Since when it waits."""
    summary: str = ""
    """The one thing worth showing of the input: a command, a path, the first question."""
    input: Mapping[str, Any] = field(default_factory=dict)
    """What the tool is to be called with: cut where it was long, secrets replaced by their names."""
    fingerprint: str = ""
    """Of the tool and its real input: see ``fingerprint_of``."""
    tool_use_id: str = ""
    state: AskState = AskState.OPEN
    reason: str = ""
    """Why the agent's side asks at all, where it says so."""
    rules: tuple[str, ...] = ()
    """What ``allow_session`` would allow until the session ends, such as ``Bash(pytest:*)``."""
    agent: str | None = None
    """The subagent that asks; None for the agent itself."""
    answer: AnswerKind | None = None
    message: str = ""
    """What the operator wrote with the answer."""
    answers: Mapping[str, str | list[str]] = field(default_factory=dict)
    """By question the chosen label or labels, or the operator's own words."""
    actor: str = ""
    """Who answered."""
    answered_at: float | None = None
    granted: bool = False
    """Allowed while nobody waited: the next call that is the very same is let through, once."""
    version: int = 1
    """Rises when it is answered or withdrawn. An answer names the version its maker was looking at."""

    @property
    def waits(self) -> bool:
        """Whether the operator can answer it."""
        return self.state in WAITING

    @property
    def why(self) -> Why:
        """Why its ticket needs the operator."""
        return Why.APPROVE_TOOL if self.kind is AskKind.PERMISSION else Why.QUESTION

    @property
    def detail(self) -> str:
        """What its ticket waits for, in one line."""
        return headline(self.kind, self.tool, self.summary)


@dataclass(frozen=True, slots=True)
class AskAnswer:
    """What an operator says to one ask, from a screen or a shell."""

    ask_id: str
    kind: AnswerKind
    message: str = ""
    answers: Mapping[str, str | list[str]] = field(default_factory=dict)
    """With ``reply``: by the question's text, or by its number from 1, the label or labels chosen or other words.

    Where one question is asked, ``message`` alone will do.
    """
    actor: str = "operator"
    seen_version: int | None = None
    """The version that was shown; a stale one is refused. None answers whatever it is now."""


@dataclass(frozen=True, slots=True)
class Option:
    """One answer that the agent offers to a question."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of an ask."""

    text: str
    header: str = ""
    """The question in a word or two."""
    options: tuple[Option, ...] = ()
    multiple: bool = False
    """Several options may be chosen."""


def headline(kind: AskKind, tool: str, summary: str) -> str:
    """Return an ask in one line."""
    name = tool_words(tool)
    words = {AskKind.PERMISSION: f"{name} {summary}", AskKind.QUESTION: summary, AskKind.PLAN: f"plan: {summary}"}
    return words[kind].strip()[:DETAIL_CHARS] or name


def fingerprint_of(tool: str, given: Mapping[str, Any]) -> str:
    """Return what two calls share only if they are the same tool with the same input: SHA-256 in hex."""
    called: Json = [tool, dict(given)]
    try:
        return hash_of(canonical(called))
    except (TypeError, ValueError, RecursionError):  # JSON of the agent's may say NaN
        return hash_of(json.dumps(called, sort_keys=True, default=repr))


def questions(ask: Ask) -> tuple[Question, ...]:
    """Return the questions of an ask."""
    return questions_in(ask.input)


def questions_in(given: Mapping[str, Any]) -> tuple[Question, ...]:
    """Return the questions of a tool's input, as far as the agent has put them as it should."""
    listed = given.get("questions")
    return tuple(_question(q) for q in listed if isinstance(q, Mapping)) if isinstance(listed, list) else ()


def _question(raw: Mapping[str, Any]) -> Question:
    listed = raw.get("options")
    options = [_option(o) for o in listed] if isinstance(listed, list) else []
    chosen = tuple(o for o in options if o.label)
    return Question(_text(raw.get("question")), _text(raw.get("header")), chosen, raw.get("multiSelect") is True)


def _option(raw: object) -> Option:
    if isinstance(raw, Mapping):
        return Option(_text(raw.get("label")), _text(raw.get("description")))
    return Option(_text(raw))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def offered(ask: Ask) -> tuple[AnswerKind, ...]:
    """Return the answers that an ask takes, in the order in which they are offered; none once it waits no more."""
    if not ask.waits:
        return ()
    skip = AnswerKind.ALLOW_SESSION if ask.kind is AskKind.PERMISSION and not ask.rules else None
    return tuple(kind for kind in _OFFERED[ask.kind] if kind is not skip)


def refusal(ask: Ask, answer: AskAnswer) -> str | None:
    """Return why an answer is not taken, for people; None when it is."""
    if ask.state is AskState.ANSWERED:
        return f"it was answered already: {says(ask)}"
    if ask.state is AskState.WITHDRAWN:
        return "the agent does not wait for this any more"
    if answer.seen_version is not None and answer.seen_version != ask.version:
        return "it has changed since it was shown: look at it again, then answer"
    if len(answer.message) > MAX_MESSAGE:
        return f"the message is longer than {MAX_MESSAGE} characters"
    if answer.kind not in offered(ask):
        return _misfit(ask, answer.kind)
    return _bad_replies(ask, answer) if answer.kind is AnswerKind.REPLY else None


def _misfit(ask: Ask, kind: AnswerKind) -> str:
    if kind is AnswerKind.ALLOW_SESSION:
        return "the agent suggests no rule that could be allowed for the session: allow it once"
    if ask.kind is AskKind.QUESTION:
        return "a question takes a reply, or deny"
    return f"a {ask.kind.value} takes allow or deny, not a reply"


def _bad_replies(ask: Ask, answer: AskAnswer) -> str | None:
    known = {q.text for q in questions(ask)}
    given = replies(ask, answer)
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        return f'there is no question "{unknown[:DETAIL_CHARS]}"'
    return None if any(map(_said, given.values())) else "the reply is empty"


def _said(value: object) -> bool:
    entries = value if isinstance(value, list) else [value]
    return any(isinstance(entry, str) and entry.strip() for entry in entries)


def replies(ask: Ask, answer: AskAnswer) -> dict[str, str | list[str]]:
    """Return the operator's replies by the questions' texts."""
    texts = [q.text for q in questions(ask)]
    if not answer.answers and len(texts) == 1:
        return {texts[0]: answer.message}
    numbered = {str(place): text for place, text in enumerate(texts, 1)}
    return {name if name in texts else numbered.get(name, name): said for name, said in answer.answers.items()}


def completed(ask: Ask, answer: AskAnswer) -> AskAnswer:
    """Return the answer with its replies under the questions' texts, those left empty gone."""
    if answer.kind is not AnswerKind.REPLY:
        return replace(answer, answers={})
    return replace(answer, answers={name: said for name, said in replies(ask, answer).items() if _said(said)})


def reply_text(said: str | list[str]) -> str:
    """Return one reply as the agent reads it."""
    return said if isinstance(said, str) else ", ".join(said)


_SAYS: Mapping[AnswerKind, str] = MappingProxyType(
    {
        AnswerKind.ALLOW: "allowed",
        AnswerKind.ALLOW_SESSION: "allowed for the session",
        AnswerKind.DENY: "denied",
        AnswerKind.DENY_STOP: "denied and stopped",
        AnswerKind.REPLY: "replied",
    }
)


def says(ask: Ask) -> str:
    """Return in words how an ask was answered; empty where it was not."""
    return verdict_words(ask.answer, ask.message, ask.answers) if ask.answer is not None else ""


def verdict_words(kind: AnswerKind, message: str, answers: Mapping[str, str | list[str]]) -> str:
    """Return an answer in one line."""
    told = "; ".join(map(reply_text, answers.values())) if kind is AnswerKind.REPLY else message
    return f"{_SAYS[kind]}: {told}" if told else _SAYS[kind]
