"""What verbs are told beside their tickets: checked once, for every way they come in.

``checked`` takes what a shell or a dialog sent and returns what the letter will hold. A letter is closed by the change
that carries it out, so what it adds to a limit is added once; ``limits`` says what that makes of a ticket's limits, and
is asked when the letter is carried out, not when it is sent: two that raise a budget at once both count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from supervisor.core.budget import MIN_CAP_USD, ROUNDING_USD
from supervisor.core.verbs import BUDGET, FORK, MESSAGE, PRIORITY, REWIND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.core.model import TicketSnapshot
    from supervisor.core.verbs import Verb

Args = dict[str, Any]
MAX_TEXT = 100_000
"""Most characters of a message or of a fork's prompt."""
MAX_USD = 1_000_000.0
MAX_TURNS = 1_000_000
MAX_TOKENS = 1_000_000_000_000


class BadArgs(ValueError):  # noqa: N818
    """A verb was told something that makes no sense. The text is for whoever gave it."""


def checked(verb: Verb, ticket: TicketSnapshot, told: Mapping[str, Any]) -> Args:
    """Return what the letter holds. Raises BadArgs."""
    check = _CHECKS.get(verb.name)
    return check(ticket, told) if check is not None else {}


def _text(told: Mapping[str, Any], name: str, what: str, *, needed: bool = True) -> str:
    value = told.get(name, "")
    if not isinstance(value, str):
        raise BadArgs(f"{what} must be text")
    if needed and not value.strip():
        raise BadArgs(f"{what} is blank")
    if len(value) > MAX_TEXT:
        raise BadArgs(f"{what} has {len(value):,} characters, more than {MAX_TEXT:,}")
    return value


def _flag(told: Mapping[str, Any], name: str) -> bool:
    value = told.get(name, False)
    if not isinstance(value, bool):
        raise BadArgs(f'"{name}" must be true or false')
    return value


def _number(told: Mapping[str, Any], name: str, least: float, most: float) -> float | None:
    value = told.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadArgs(f'"{name}" must be a number')
    if value < least:
        raise BadArgs(f'"{name}" must be at least {_shown(least)}, not {_shown(value)}')
    if value > most:
        raise BadArgs(f'"{name}" must be at most {_shown(most)}, not {_shown(value)}')
    return value


def _shown(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"


def _sum(usd: float, what: str) -> float:
    """Return a budget. Raises BadArgs for one with which nothing could ever begin, in the words of the file's check."""
    if usd <= 0:
        raise BadArgs(f"{what} must be more than 0, not {_shown(round(usd, 6))}")
    if usd < MIN_CAP_USD - ROUNDING_USD:
        raise BadArgs(f"{what} must be at least {MIN_CAP_USD:g}, not {_shown(round(usd, 6))}")
    if usd > MAX_USD:
        raise BadArgs(f"{what} must be at most {_shown(MAX_USD)}, not {_shown(usd)}")
    return usd


def _whole(told: Mapping[str, Any], name: str, least: int, most: int) -> int | None:
    value = _number(told, name, least, most)
    if value is not None and value != int(value):
        raise BadArgs(f'"{name}" must be a whole number')
    return None if value is None else int(value)


def _message(_: TicketSnapshot, told: Mapping[str, Any]) -> Args:
    return {"text": _text(told, "text", "the message"), "now": _flag(told, "now")}


def _budget(ticket: TicketSnapshot, told: Mapping[str, Any]) -> Args:
    """Only what is told: ``budget_usd`` (None for no budget) or ``raise_usd`` on top of what it has then, and turns.

    ``max_turns`` is for each prompt, ``budget_turns`` and ``budget_tokens`` are for all attempts.
    """
    sums = {
        "budget_usd": _number(told, "budget_usd", -MAX_USD, MAX_USD),
        "raise_usd": _number(told, "raise_usd", -MAX_USD, MAX_USD),
    }
    if sums["raise_usd"] is not None:
        del sums["budget_usd"]
    counts = {
        "max_turns": _whole(told, "max_turns", 1, MAX_TURNS),
        "budget_turns": _whole(told, "budget_turns", 1, MAX_TURNS),
        "budget_tokens": _whole(told, "budget_tokens", 1, MAX_TOKENS),
    }
    args: Args = {name: value for name, value in (sums | counts).items() if value is not None}
    if _flag(told, "no_budget"):
        args = {name: value for name, value in args.items() if name not in sums} | {"budget_usd": None}
    if not args:
        raise BadArgs("say a sum, as in 2.50 or +1, or how many turns")
    limits(ticket, args)
    return args


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one ticket; None for none."""

    budget_usd: float | None
    max_turns: int | None
    """For each prompt."""
    budget_turns: int | None
    """Over all attempts."""
    budget_tokens: int | None
    """Over all attempts."""


def limits(ticket: TicketSnapshot, args: Mapping[str, Any]) -> Limits:
    """Return the limits that a ticket has once a ``budget`` letter with ``args`` is carried out. Raises BadArgs."""
    budget = args.get("budget_usd", ticket.budget_usd)
    if "raise_usd" in args:
        if ticket.budget_usd is None:
            raise BadArgs(f"{ticket.id} has no budget that could be raised")
        budget = round(ticket.budget_usd + args["raise_usd"], 9)  # people write cents
    if budget is not None and args.keys() & {"budget_usd", "raise_usd"}:
        budget = _sum(budget, "the budget")
    return Limits(
        budget,
        args.get("max_turns", ticket.max_turns),
        args.get("budget_turns", ticket.budget_turns),
        args.get("budget_tokens", ticket.budget_tokens),
    )


def _priority(_: TicketSnapshot, told: Mapping[str, Any]) -> Args:
    value = _whole(told, "priority", -1_000_000, 1_000_000)
    if value is None:
        raise BadArgs("say a whole number; higher starts earlier")
    return {"priority": value}


def _fork(ticket: TicketSnapshot, told: Mapping[str, Any]) -> Args:
    """``at`` is the uuid of a message that may be cut after, empty for now; ``files`` says as of when."""
    files = told.get("files", "then")
    if files not in ("now", "then"):
        raise BadArgs('"files" is "now" or "then"')
    budget = _number(told, "budget_usd", -MAX_USD, MAX_USD)
    return {
        "prompt": _text(told, "prompt", "the fork's prompt"),
        "at": _text(told, "at", "the place", needed=False),
        "files": files,
        "title": _text(told, "title", "the title", needed=False),
        "budget_usd": None if budget is None else _sum(budget, "the fork's budget"),
        "max_turns": _whole(told, "max_turns", 1, MAX_TURNS),
        "model": _text(told, "model", "the model", needed=False),
    }


def _rewind(_: TicketSnapshot, told: Mapping[str, Any]) -> Args:
    """``to`` is the uuid of a prompt, or of the snapshot to go back to; ``source`` says what restores the files."""
    source = told.get("source", "snapshot")
    if source not in ("snapshot", "checkpoint", "undo"):
        raise BadArgs('"source" is "snapshot", "checkpoint" or "undo"')
    return {"to": _text(told, "to", "the prompt", needed=source != "undo"), "source": source}


_CHECKS: dict[str, Callable[[TicketSnapshot, Mapping[str, Any]], Args]] = {
    MESSAGE.name: _message,
    BUDGET.name: _budget,
    PRIORITY.name: _priority,
    FORK.name: _fork,
    REWIND.name: _rewind,
}
