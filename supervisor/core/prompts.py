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

    @property
    def empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not (self.earlier or self.changes or self.last_words or self.effects)


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
    if facts.last_words:
        parts.append("The last thing said in the earlier conversation:\n" + facts.last_words)
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


def continue_after(reason: str, ticket: TicketSpec, *, changed: bool, effects: tuple[str, ...] = ()) -> str:
    """Return the prompt that goes on with an interrupted conversation."""
    parts = [f"The previous turn was cut off: {reason}. Check the state of the files, then go on with the ticket."]
    if effects:
        parts.append(effects_text(effects))
    if changed:
        parts.append(changed_instructions(ticket))
    return "\n\n".join(parts)


def verify_failed(command: str, exit_code: int | None, output: str) -> str:
    """Return the prompt that hands a failed check back to the agent."""
    ending = "ran out of time" if exit_code is None else f"ended with exit code {exit_code}"
    return f"The check `{command}` {ending}. Fix the cause and finish the ticket.\n\nIts output:\n{output}"
