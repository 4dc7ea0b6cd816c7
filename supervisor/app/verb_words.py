"""What a verb does to the tickets it is about to be given to, for the operator who is asked first. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.model import State
from supervisor.core.verbs import CANCEL, INTERRUPT, RESUME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.core.model import TicketSnapshot
    from supervisor.core.verbs import Verb


def warning(verb: Verb, tickets: Sequence[TicketSnapshot]) -> str:
    """Return what the operator should know before a verb without a dialog of its own, safe to draw; empty for nothing.

    Args:
        verb: The verb.
        tickets: Those that take it, at least one.
    """
    if verb is INTERRUPT:
        return _interrupted(tickets)
    if verb is CANCEL:
        return _cancelled(tickets)
    return _begun_again(tickets) if verb is RESUME else ""


def _interrupted(tickets: Sequence[TicketSnapshot]) -> str:
    works, waits, idle = _standing(tickets)
    if len(tickets) == 1:
        stops = _turn_of(tickets[0]) if not idle else "It is not at work: it is held back."
        return f"{stops} It rests as paused, and keeps its session and files."
    if not works + waits:
        stops = "None of them is at work: they are held back."
    elif works == len(tickets):
        stops = "Their turns stop."
    else:
        stops = f"{_counted(works, waits)}: {'its turn stops' if works + waits == 1 else 'their turns stop'}."
        stops += f" {_counted(idle=idle)}: held back." if idle else ""
    return f"{stops} They rest as paused, and keep their sessions and files."


def _cancelled(tickets: Sequence[TicketSnapshot]) -> str:
    is_under_way = any(ticket.holds_slot for ticket in tickets)
    if len(tickets) == 1:
        stops = f"{_turn_of(tickets[0], 'It is at work: its')} " if is_under_way else ""
        return f"{stops}Its session, branch and files stay, and resume takes it up again."
    stops = " Turns under way stop." if is_under_way else ""
    stay = "Their sessions, branches and files stay, and resume takes them up again."
    return f"{_counted(*_standing(tickets))}.{stops} {stay}"


def _begun_again(tickets: Sequence[TicketSnapshot]) -> str:
    if not any(ticket.state is State.DONE for ticket in tickets):
        return ""
    whose = "Its work is" if len(tickets) == 1 else "Finished work among it is"
    return f"{whose} done: another turn in the same session is paid for."


def _turn_of(ticket: TicketSnapshot, working: str = "Its") -> str:
    """Return what becomes of the turn of a ticket that has an agent."""
    return f"{'It waits for you: its' if ticket.state is State.NEEDS_YOU else working} turn stops."


def _standing(tickets: Sequence[TicketSnapshot]) -> tuple[int, int, int]:
    """Return how many are at work, wait for the operator, with or without an agent, and do neither."""
    waits = sum(ticket.state is State.NEEDS_YOU for ticket in tickets)
    works = sum(ticket.holds_slot and ticket.state is not State.NEEDS_YOU for ticket in tickets)
    return works, waits, len(tickets) - works - waits


def _counted(works: int = 0, waits: int = 0, idle: int = 0) -> str:
    """Return the counts in words, without those that are nought."""
    counts = ((works, "at work"), (waits, "waiting for you"), (idle, "not at work"))
    return ", ".join(f"{count} {words}" for count, words in counts if count)
