"""The one table of verbs: key, name, help, example and when each applies.

Footer, help, palette and the command line are made from it. A verb that does not apply is not offered; typed all the
same, ``refusal`` says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from supervisor.core.model import RESTING, State, TicketSnapshot

Refusal = Callable[[TicketSnapshot], "str | None"]


@dataclass(frozen=True, slots=True)
class Verb:
    """Something the operator can do."""

    name: str
    key: str
    label: str
    """One word for the footer."""
    help: str
    """One sentence for the help screen and the palette."""
    example: str
    refusal: Refusal
    """Why it does not apply to a ticket; None when it does."""

    def applies(self, ticket: TicketSnapshot | None) -> bool:
        """Return whether the verb can be used on ``ticket`` now."""
        return ticket is not None and self.refusal(ticket) is None


_MOVING = (State.QUEUED, State.STARTING, State.RUNNING, State.PARKED)


def _interrupt(ticket: TicketSnapshot) -> str | None:
    if ticket.state in _MOVING or ticket.live:
        return None
    return f"{ticket.id} is {ticket.state.value}: there is nothing to interrupt"


def _resume(ticket: TicketSnapshot) -> str | None:
    if ticket.state in RESTING and not ticket.live:
        return None
    return f"{ticket.id} is {ticket.state.value}: only a resting ticket can be resumed"


def _cancel(ticket: TicketSnapshot) -> str | None:
    if ticket.state not in (State.DONE, State.CANCELLED):
        return None
    return f"{ticket.id} is {ticket.state.value} already"


INTERRUPT = Verb(
    "interrupt",
    "i",
    "interrupt",
    "Stop the turn; the ticket rests as paused and keeps its session and files.",
    "supervise interrupt 003-deploy",
    _interrupt,
)

RESUME = Verb(
    "resume",
    "r",
    "resume",
    "Go on with a resting ticket in its own session.",
    "supervise resume 003-deploy",
    _resume,
)
CANCEL = Verb(
    "cancel",
    "x",
    "cancel",
    "Give the ticket up; its session, branch and files stay, and resume takes it up again.",
    "supervise cancel 003-deploy",
    _cancel,
)

VERBS: tuple[Verb, ...] = (INTERRUPT, RESUME, CANCEL)
BY_NAME = {verb.name: verb for verb in VERBS}
