"""What we say to an agent, besides the ticket's own prompt. Pure text, so that every word can be tested.

A session keeps the system prompt of its first request until it is compacted, so whatever changed since then is said in
the next prompt. Facts we hold are stated as facts: the transcript may claim otherwise.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisor.core.spec import TicketSpec


def fingerprint(ticket: TicketSpec) -> str:
    """Return a short fingerprint of everything the file tells this ticket's agent."""
    told = "\0".join((ticket.prompt, ticket.rules or ""))
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Facts:
    """What we know of earlier attempts, for an agent that may not."""

    earlier: tuple[str, ...] = ()
    """One line for each earlier attempt."""
    changes: str = ""
    """``git diff --stat`` against the base."""
    last_words: str = ""
    """What the agent said last, where its session's file still tells."""
    effects: tuple[str, ...] = ()
    """One line for each effect that was asked for: what the ledger knows of it."""
    decisions: tuple[str, ...] = ()
    """What the operator answered when agents asked, and still holds."""
    written: tuple[str, ...] = ()
    """What the operator wrote to agents that did not come to an end with it."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not (self.earlier or self.changes or self.last_words or self.effects or self.decisions or self.written)


@dataclass(frozen=True, slots=True)
class Whence:
    """Where a fork comes from, as its agent is told."""

    parent: str
    parent_worktree: str
    worktree: str
    """The fork's own."""
    files: str
    """As of when its files are, in words."""


def changed_instructions(ticket: TicketSpec) -> str:
    """Return the note that the ticket's instructions are not those the session began with."""
    rules = f"\n\nStanding rules now:\n{ticket.rules}" if ticket.rules else ""
    return (
        "The instructions of this ticket were changed since you last read them. "
        f"Where they differ, what follows replaces the earlier ones.\n\n{ticket.prompt}{rules}"
    )


def facts_text(facts: Facts) -> str:
    """Return what is known of earlier attempts as a paragraph; empty where nothing is."""
    parts = []
    if facts.earlier:
        parts.append("Earlier attempts at this ticket:\n" + "\n".join(f"- {line}" for line in facts.earlier))
    if facts.changes:
        parts.append("The working tree already differs from its base:\n" + facts.changes)
    if facts.effects:
        parts.append(effects_text(facts.effects))
    parts += facts.decisions
    if facts.last_words:
        parts.append("The last thing said in the earlier conversation:\n" + facts.last_words)
    if facts.written:
        parts.append("\n\n".join(("The operator wrote this, and it is not done yet:", *facts.written)))
    return "\n\n".join(parts)


def effects_text(effects: tuple[str, ...]) -> str:
    """Return what is certain about effects as a paragraph."""
    lines = "\n".join(f"- {line}" for line in effects)
    return f"What is certain about this ticket's effects, whatever the conversation says:\n{lines}"


def fallback(ticket: TicketSpec, facts: Facts) -> str:
    """Return the first prompt of a fresh session that takes over from one that cannot be resumed."""
    if facts.empty:
        return ticket.prompt
    return (
        f"{ticket.prompt}\n\n---\n"
        "This ticket was worked on before, in a conversation that cannot be resumed. "
        "Look at what is there before you change anything, and do not repeat finished work.\n\n"
        f"{facts_text(facts)}"
    )


def started_over(ticket: TicketSpec, effects: tuple[str, ...]) -> str:
    """Return the first prompt of a ticket that the operator began again: as at the very first, but for its effects."""
    if not effects:
        return ticket.prompt
    words = "The operator started this ticket over: the files are as at the beginning. Effects were not taken back."
    return f"{ticket.prompt}\n\n---\n{words}\n\n{effects_text(effects)}"


def forked(ticket: TicketSpec, whence: Whence, effects: tuple[str, ...]) -> str:
    """Return the first prompt of a fork: its own task, then whose conversation it is in and where it works."""
    parent = whence.parent
    parts = [
        ticket.prompt,
        f"---\nThis is {ticket.id}, a fork of {parent}: the conversation before this message is a copy, and {parent} "
        "goes on by itself. What is asked above is your task now.",
        f"Your working tree is {whence.worktree}, on a branch of its own. Its files are {whence.files}: look at them "
        f"before you rely on what was said of them. Paths under {whence.parent_worktree} are those of {parent}: change "
        "nothing there.",
    ]
    return "\n\n".join([*parts, effects_text(effects)] if effects else parts)


def alone(ticket: TicketSpec, parent: str, parents_prompt: str) -> str:
    """Return the task of a fork for a conversation that is no copy of its parent's."""
    return f"{ticket.prompt}\n\n---\nThis ticket was forked from {parent}, whose task was:\n\n{parents_prompt}"


def lost_effect(words: str) -> str:
    """Return what is told of an effect that was not run because it could not be written down."""
    return f"{words}. That has been seen to: call it again if it is still wanted."


def continue_after(
    reason: str | None,
    ticket: TicketSpec,
    *,
    changed: bool,
    effects: tuple[str, ...] = (),
    news: tuple[str, ...] = (),
) -> str:
    """Return the prompt that goes on with a conversation; ``reason`` says why it was cut off, None that it was not."""
    first = f"The previous turn was cut off: {reason}." if reason else "The operator has taken this ticket up again."
    parts = [f"{first} Check the state of the files, then go on with the ticket."]
    return "\n\n".join([*parts, *_aside(ticket, changed=changed, effects=effects, news=news)])


def message(
    text: str,
    ticket: TicketSpec,
    cut_off: str | None = None,
    *,
    changed: bool,
    effects: tuple[str, ...] = (),
    news: tuple[str, ...] = (),
) -> str:
    """Return the prompt that says what the operator wrote: their words, then what the agent has to know besides."""
    aside = _aside(ticket, changed=changed, effects=effects, news=news)
    if cut_off is not None:
        aside.insert(0, f"The previous turn was cut off: {cut_off}. Check the state of the files before you go on.")
    return "\n\n".join([text, "---", *aside]) if aside else text


def rewound(to: str, files: tuple[str, ...], more: int = 0) -> str:
    """Return the note that the operator took files back; ``more`` files besides those named."""
    lines = [f"- {name}" for name in files] + [f"- and {more} more"] * (more > 0)
    words = f"The operator took the files back to {to}. What you know of them may be out of date"
    return "\n".join([f"{words}:", *lines]) if lines else f"{words}."


def _aside(ticket: TicketSpec, *, changed: bool, effects: tuple[str, ...], news: tuple[str, ...]) -> list[str]:
    parts = list(news)
    if effects:
        parts.append(effects_text(effects))
    if changed:
        parts.append(changed_instructions(ticket))
    return parts


def verify_failed(ticket: TicketSpec, exit_code: int | None, output: str) -> str:
    """Return the prompt that hands the ticket's failed check back to the agent; no exit code says it took too long."""
    command = " ".join(ticket.verify or ())
    ending = "ran out of time" if exit_code is None else f"ended with exit code {exit_code}"
    return f"The check `{command}` {ending}. Fix the cause and finish the ticket.\n\nIts output:\n{output}"
