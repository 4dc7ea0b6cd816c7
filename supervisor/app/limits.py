"""Budgets and turns as the operator types them, what they lead to, and what is sensible where one was reached. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from supervisor.core import budget
from supervisor.core.model import TicketSnapshot, Why
from supervisor.core.verb_args import BadArgs, checked, limits
from supervisor.core.verbs import BUDGET
from widgets.formatting import money, signed_money

if TYPE_CHECKING:
    from collections.abc import Sequence

_NO_BUDGET = ("none", "no")
_BY_TURNS = ("error_max_turns", "max_turns")


def told_limits(sum_words: str, turn_words: str) -> dict[str, Any]:
    """Return what the budget verb is told by two lines of an operator's; blank lines tell nothing. Raises BadArgs."""
    told: dict[str, Any] = {}
    words = sum_words.strip().replace("$", "").replace(" ", "")
    if words.lower() in _NO_BUDGET:
        told["no_budget"] = True
    elif words:
        told["raise_usd" if words[0] in "+-−" else "budget_usd"] = _sum(words)
    if turn_words.strip():
        told["max_turns"] = _turns(turn_words.strip())
    return told


def _sum(words: str) -> float:
    try:
        return float(words.replace("−", "-"))
    except ValueError:
        raise BadArgs(f'"{words}" is no sum: say one as in 2.50, +1 to raise it, or none') from None


def _turns(words: str) -> int:
    try:
        return int(words)
    except ValueError:
        raise BadArgs(f'"{words}" is no number of turns: say one as in 40') from None


def is_at_limit(ticket: TicketSnapshot) -> bool:
    """Return whether a ticket rests because a limit was reached."""
    return ticket.why is Why.LIMIT and not ticket.live


def higher_budget(ticket: TicketSnapshot) -> float | None:
    """Return a budget that lets a ticket go on for a good while, USD; None where what it has would do."""
    kept = reserve_of(ticket)
    if ticket.budget_usd is None or (ticket.headroom_usd or 0.0) - kept >= budget.MIN_CAP_USD:
        return None
    base = max(ticket.budget_usd, ticket.spent_usd)
    return math.ceil(round((base + max(base / 2, kept) + kept) * 100, 6)) / 100


def higher_turns(ticket: TicketSnapshot) -> int | None:
    """Return twice the turns where they are what stopped a ticket; None where they are not."""
    return 2 * ticket.max_turns if ticket.max_turns is not None and _was_turns(ticket) else None


def _was_turns(ticket: TicketSnapshot) -> bool:
    return ticket.subtype in _BY_TURNS or ticket.terminal_reason in _BY_TURNS


def suggested(tickets: Sequence[TicketSnapshot]) -> tuple[str, str]:
    """Return what to begin the two lines with: absolute for one ticket, ``+`` the most that one of several needs."""
    sums = [(t, more) for t in tickets if (more := higher_budget(t)) is not None]
    turns = [more for t in tickets if (more := higher_turns(t)) is not None]
    if len(tickets) == 1:
        words = f"{sums[0][1]:.2f}" if sums else ""
    else:
        most = max((more - (t.budget_usd or 0.0) for t, more in sums), default=0.0)
        words = f"+{most:.2f}" if most else ""
    return words, str(max(turns)) if turns else ""


def facts(ticket: TicketSnapshot) -> str:
    """Return what one ticket has, spent and may still spend."""
    if ticket.budget_usd is None:
        parts = [f"spent {_spent(ticket)}", "no budget of its own"]
    else:
        parts = [
            f"spent {_spent(ticket)} of {money(ticket.budget_usd)}",
            f"headroom {signed_money(ticket.headroom_usd or 0.0)}",
            f"reserve {money(reserve_of(ticket))}",
        ]
    return "  ".join([*parts, turns_words(ticket.max_turns)])


def facts_of_many(tickets: Sequence[TicketSnapshot]) -> str:
    """Return the same of several tickets together."""
    budgets = sorted(t.budget_usd for t in tickets if t.budget_usd is not None)
    spent = money(sum(t.spent_usd for t in tickets), estimated=any(t.estimated_usd > 0 for t in tickets))
    if not budgets:
        return f"{spent} spent together  none has a budget of its own"
    least, most = money(budgets[0]), money(budgets[-1])
    return f"{spent} spent together  budgets {least if least == most else f'{least} to {most}'}"


def _spent(ticket: TicketSnapshot) -> str:
    return money(ticket.spent_usd, estimated=ticket.estimated_usd > 0)


def turns_words(turns: int | None) -> str:
    """Return a limit of turns in words."""
    return "any number of turns" if turns is None else f"at most {turns} turns a prompt"


def outcome(ticket: TicketSnapshot, told: dict[str, Any]) -> str:
    """Return what one ticket will have once it is told this. Raises BadArgs."""
    to = limits(ticket, checked(BUDGET, ticket, told))
    total, turns = to.budget_usd, turns_words(to.max_turns)
    if total is None:
        return f"no budget of its own, {turns}"
    left = total - ticket.spent_usd
    words = f"budget {money(total)}, headroom {signed_money(left)}, {turns}"
    return f"{words}: too little to go on with" if left - reserve_of(ticket) < budget.MIN_CAP_USD else words


def reserve_of(ticket: TicketSnapshot) -> float:
    """Return what is kept free below the cap of a ticket, USD."""
    return ticket.reserve_usd or budget.reserve(None, 0.0)
