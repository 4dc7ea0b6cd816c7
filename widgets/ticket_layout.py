"""The card of a ticket that waits for no effect and no answer: what happened, and what can be done. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.model import State, TicketSnapshot, Why
from supervisor.core.verbs import BUDGET, CANCEL, FORK, MESSAGE, RESUME, START_OVER, Verb
from widgets import formatting as fmt
from widgets.card_lines import ending, labelled, one, plain, room
from widgets.cells import Cell, Tone, drawable, fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from widgets.card_lines import Part

SAID_LINES = 4
OUTPUT_LINES = 14
ERROR_LINES = 12
_KEYS = 3

Advice = tuple[tuple[Verb, str], ...]
"""Verbs with what each is good for."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A verb that helps a ticket that waits."""

    verb: Verb
    words: str
    """What it is good for."""
    ticket: TicketSnapshot
    """Whom to give it to: the ticket itself, or the one that blocks it."""
    label: str
    """The verb, and where that is another ticket its id; safe to draw."""


_GO_ON = "go on in its own session"
_GIVE_UP = "give it up; session, branch and files stay"
_TELL = "tell the agent what to do differently, and go on"
_RAISE: Advice = (
    (RESUME, "go on with a higher limit"),
    (BUDGET, "set another limit, and leave it at rest"),
    (CANCEL, _GIVE_UP),
)
_ADVICE: Mapping[Why | None, Advice] = MappingProxyType(
    {
        Why.LIMIT: _RAISE,
        Why.VERIFY: ((MESSAGE, _TELL), (RESUME, "let it try again"), (FORK, "try another way"), (CANCEL, _GIVE_UP)),
        Why.AUTH: ((RESUME, "go on, once the key or login is right"), (CANCEL, _GIVE_UP)),
        Why.LEDGER: ((RESUME, "go on, once the disk can be written"), (CANCEL, _GIVE_UP)),
        Why.CONFLICT: ((RESUME, "go on, once the conflict is settled"), (MESSAGE, _TELL), (CANCEL, _GIVE_UP)),
    }
)
_OTHERWISE: Advice = (
    (RESUME, _GO_ON),
    (MESSAGE, _TELL),
    (START_OVER, "begin again with a new session"),
    (CANCEL, _GIVE_UP),
)


_UNBLOCK: Advice = (
    (RESUME, "go on with what this one waits for"),
    (START_OVER, "begin that one with a new session"),
)


@dataclass(frozen=True, slots=True)
class Past:
    """The last of each thing that is worth knowing of what a ticket went through."""

    turn: ev.TurnEnded | None = None
    ended: ev.AttemptEnded | None = None
    check: ev.Verified | None = None

    @classmethod
    def of(cls, events: Iterable[ev.Event]) -> Past:
        """Return what a ticket's events, in order, say of it; a check that came before the last try is forgotten."""
        turn: ev.TurnEnded | None = None
        ended: ev.AttemptEnded | None = None
        check: ev.Verified | None = None
        for event in events:
            if isinstance(event, ev.AttemptStarted):
                turn = ended = check = None
            elif isinstance(event, ev.TurnEnded):
                turn = event
            elif isinstance(event, ev.AttemptEnded):
                ended = event
            elif isinstance(event, ev.Verified):
                check = event
        return cls(turn, ended, check)


def remedies(ticket: TicketSnapshot, blocker: TicketSnapshot | None = None) -> tuple[Remedy, ...]:
    """Return what can be done about a ticket that waits, the most likely first; nothing that does not apply.

    Args:
        ticket: The ticket.
        blocker: The failed or cancelled ticket that keeps it from starting, if one does.
    """
    if blocker is not None:
        others = [Remedy(v, words, blocker, f"{v.label} {drawable(blocker.id)}") for v, words in _UNBLOCK]
        found = [*others, Remedy(CANCEL, "give this one up", ticket, CANCEL.label)]
    else:
        known = _ADVICE.get(ticket.why, _OTHERWISE) if ticket.state is State.NEEDS_YOU else _OTHERWISE
        found = [Remedy(verb, words, ticket, verb.label) for verb, words in known]
    return tuple(remedy for remedy in found if remedy.verb.applies(remedy.ticket))


def ticket_lines(
    ticket: TicketSnapshot, past: Past | None, width: int, blocker: TicketSnapshot | None = None
) -> list[Cell]:
    """Return the card, none of its lines wider than ``width``; ``past`` is None while it is not known."""
    cells, past, why = room(width), past or Past(), _why(ticket, blocker)
    said, errors = (past.turn.text.strip(), past.turn.errors) if past.turn is not None else ("", ())
    news = [error for error in errors if not _is_in(error, why)]
    parts: list[Part] = [
        ("state", [((fmt.state_words(ticket.state), fmt.state_tone(ticket.state)),)]),
        ("why", plain(why, cells, ERROR_LINES)),
        ("you can", _can(ticket, blocker)),
        ("last turn", _turn(ticket, past.turn, cells)),
        ("it said last", plain(said, cells, SAID_LINES) if not _is_in(said, "\n".join((why, *errors))) else []),
        ("errors", plain("\n".join(news), cells, ERROR_LINES) if news else []),
        ("the check", _check(past.check, cells)),
        ("the try", _try(past.ended, cells, why)),
        ("spent", _spent(ticket, cells)),
    ]
    return labelled(parts, width)


def _is_in(words: str, told: str) -> bool:
    """Return whether some words were told already, be it as ``API 400: …`` instead of ``API Error: 400 …``."""
    return _bare(words) in _bare(told)


def _bare(words: str) -> str:
    return re.sub(r"[\W_]|error", "", words.lower())


def _why(ticket: TicketSnapshot, blocker: TicketSnapshot | None) -> str:
    if blocker is None:
        return ticket.detail or fmt.reason(ticket)
    return f"it comes {fmt.blocked_words(blocker)}: it cannot start before that one is done"


def _can(ticket: TicketSnapshot, blocker: TicketSnapshot | None) -> list[Cell]:
    pending = ticket.pending or (blocker.pending if blocker is not None else None)
    if pending:
        return [((f"{drawable(pending)} …", Tone.ACCENT),)]
    lines: list[Cell] = [
        ((fit(remedy.verb.key, _KEYS), Tone.ACCENT), (f"{remedy.label}: {remedy.words}", Tone.PLAIN))
        for remedy in remedies(ticket, blocker)
    ]
    return lines or [(("nothing more", Tone.FAINT),)]


def _turn(ticket: TicketSnapshot, turn: ev.TurnEnded | None, cells: int) -> list[Cell]:
    if turn is None:
        return one(" · ".join(word for word in (ticket.subtype, ticket.terminal_reason) if word))
    status = f"API status {turn.api_error_status}" if turn.api_error_status else ""
    said = (turn.subtype, turn.terminal_reason, status, f"{turn.num_turns} turns", fmt.money(turn.cost_usd))
    return plain(" · ".join(word for word in said if word), cells, 3)


def _check(check: ev.Verified | None, cells: int) -> list[Cell]:
    if check is None:
        return []
    code = check.exit_code
    words = "passed" if code == 0 else "ran out of time" if code is None else f"exit {code}"
    line: Cell = ((f"round {check.round}: {words}", Tone.PLAIN if code == 0 else Tone.BAD),)
    return [line, *(ending(check.output, cells, OUTPUT_LINES, Tone.MUTED) if check.output.strip() else [])]


def _try(ended: ev.AttemptEnded | None, cells: int, why: str) -> list[Cell]:
    if ended is None:
        return []
    words = [f"ended as {ended.outcome.value.replace('_', ' ')}", "" if _is_in(ended.detail, why) else ended.detail]
    if ended.exit_code is not None:
        words.append(f"exit {ended.exit_code}")
    lines = plain(" · ".join(word for word in words if word), cells, 4)
    tail = ended.stderr_tail
    return [*lines, *(ending(tail, cells, OUTPUT_LINES, Tone.MUTED) if tail.strip() else [])]


def _spent(ticket: TicketSnapshot, cells: int) -> list[Cell]:
    spent = fmt.money(ticket.so_far_usd, estimated=ticket.is_estimate)
    budget = "" if ticket.budget_usd is None else f" of {fmt.round_money(ticket.budget_usd)}"
    turns = "" if ticket.max_turns is None else f", at most {ticket.max_turns} a prompt"
    return plain(f"{spent}{budget}, {ticket.turns} turns{turns}, try {ticket.attempts}", cells, 2)
