"""The one table of verbs: key, name, help, example and when each applies.

Footer, help, palette and the command line are made from it. A verb that does not apply is not offered; typed all the
same, ``refusal`` says why. What a verb needs to be told beside its tickets is checked by ``core.verb_args``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from supervisor.core.model import RESTING, State, TicketSnapshot, Why
from supervisor.core.text import safe_line

Refusal = Callable[[TicketSnapshot], "str | None"]


@dataclass(frozen=True, slots=True)
class Verb:
    """Something the operator can do to tickets."""

    name: str
    key: str
    """As Textual spells it."""
    label: str
    """One word for the footer."""
    help: str
    """One sentence for the help screen and the palette."""
    example: str
    refusal: Refusal
    """Why it does not apply to a ticket; None when it does."""
    is_told: bool = False
    """It has to be told something (a text, a sum, a place), so a key opens a dialog."""
    on_many: bool = True
    """It can be given to several tickets at once."""

    def applies(self, ticket: TicketSnapshot | None) -> bool:
        """Return whether the verb can be used on ``ticket`` now."""
        return ticket is not None and self.refusal(ticket) is None


_WAITING = (State.QUEUED, State.PARKED)
"""States in which nobody works on a ticket, though it has not come to rest: what it is told holds it back."""
_MOVING = (State.QUEUED, State.STARTING, State.RUNNING, State.PARKED)


def _rests(ticket: TicketSnapshot) -> bool:
    return ticket.state in RESTING and not ticket.live


def _says(ticket: TicketSnapshot) -> str:
    return f"{ticket.id} is {standing(ticket.state)}"


def standing(state: State) -> str:
    """Return what a ticket in a state is, in words that follow "is"."""
    return "waiting for you" if state is State.NEEDS_YOU else state.value


def _interrupt(ticket: TicketSnapshot) -> str | None:
    if ticket.state in _MOVING or ticket.live:
        return None
    return f"{_says(ticket)}: there is nothing to interrupt"


def _message(ticket: TicketSnapshot) -> str | None:
    return f"{_says(ticket)}: resume it first" if ticket.state is State.CANCELLED else None


def _resume(ticket: TicketSnapshot) -> str | None:
    if _rests(ticket):
        if ticket.held_by:
            return f"{ticket.id} {ticket.held_by}"
        # there is none on the board, and a ticket that says so all the same would only say so again
        held = ticket.state is State.NEEDS_YOU and ticket.why in (Why.UNRESOLVED_EFFECT, Why.APPROVE_EFFECT)
        return f"{_says(ticket)}: {safe_line(ticket.detail, 200)}" if held else None
    sooner = "; it goes on by itself, or at once if you interrupt it first" if ticket.state is State.PARKED else ""
    return f"{_says(ticket)}: only a resting ticket can be resumed{sooner}"


def _begun(ticket: TicketSnapshot, what: str) -> str | None:
    if ticket.session_id is None or not ticket.attempts:
        return f"{ticket.id} has not begun: there is nothing to {what}"
    return None


def _fork(ticket: TicketSnapshot) -> str | None:
    return _begun(ticket, "fork")


def _rewind(ticket: TicketSnapshot) -> str | None:
    if not _rests(ticket) and ticket.state not in _WAITING:
        return f"{_says(ticket)}: interrupt it first, files are taken back while nobody works on them"
    return None if ticket.attempts else f"{ticket.id} has not begun: there is nothing to rewind"


def _start_over(ticket: TicketSnapshot) -> str | None:
    if not _rests(ticket) and ticket.state not in _WAITING:
        return f"{_says(ticket)}: interrupt it first"
    return _begun(ticket, "start over")


def _budget(_: TicketSnapshot) -> str | None:
    return None


def _priority(ticket: TicketSnapshot) -> str | None:
    if ticket.state in (State.DONE, State.CANCELLED):
        return f"{_says(ticket)}: it does not wait for its turn"
    return None


def _cancel(ticket: TicketSnapshot) -> str | None:
    return f"{_says(ticket)} already" if ticket.state in (State.DONE, State.CANCELLED) else None


INTERRUPT = Verb(
    "interrupt",
    "i",
    "interrupt",
    "Stop the turn; the ticket rests as paused and keeps its session and files.",
    "supervise interrupt 003-deploy",
    _interrupt,
)
MESSAGE = Verb(
    "message",
    "m",
    "message",
    "Tell the agent something: when its turn ends, or now; a resting ticket goes on with it.",
    'supervise message 003-deploy "Leave the footer as it is." --now',
    _message,
    is_told=True,
)
RESUME = Verb(
    "resume",
    "r",
    "resume",
    "Go on with a resting ticket in its own session; where a limit was reached, with a higher one.",
    "supervise resume 003-deploy",
    _resume,
)
FORK = Verb(
    "fork",
    "f",
    "fork",
    "Begin another ticket from here or from an earlier message, with the files of that moment.",
    'supervise fork 003-deploy "Try it without the cache." --at 2',
    _fork,
    is_told=True,
    on_many=False,
)
REWIND = Verb(
    "rewind",
    "z",
    "rewind",
    "Take the files back to how they were before a prompt; a snapshot is kept, so it can be undone.",
    "supervise rewind 003-deploy --to 2 --dry-run",
    _rewind,
    is_told=True,
    on_many=False,
)
BUDGET = Verb(
    "budget",
    "b",
    "budget",
    "Set what the ticket may spend, or how many turns it may take.",
    "supervise budget 003-deploy +1.50",
    _budget,
    is_told=True,
)
PRIORITY = Verb(
    "priority",
    "P",
    "priority",
    "Set the ticket's place in the queue: higher starts earlier.",
    "supervise priority 003-deploy 5",
    _priority,
    is_told=True,
)
START_OVER = Verb(
    "start-over",
    "R",
    "start over",
    "Begin the ticket again: new session, files as at the base; effects that were done stay done.",
    "supervise start-over 003-deploy",
    _start_over,
    is_told=True,
)
CANCEL = Verb(
    "cancel",
    "x",
    "cancel",
    "Give the ticket up; its session, branch and files stay, and resume takes it up again.",
    "supervise cancel 003-deploy",
    _cancel,
)

VERBS: tuple[Verb, ...] = (INTERRUPT, RESUME, MESSAGE, FORK, REWIND, BUDGET, CANCEL, PRIORITY, START_OVER)
"""What is wanted most often comes first: a narrow terminal shows only those."""
BY_NAME = {verb.name: verb for verb in VERBS}
NOT_BY_ALL = (RESUME, MESSAGE, START_OVER)
"""Verbs with which "all" does not mean finished work: nobody wants it begun again by the dozen."""
