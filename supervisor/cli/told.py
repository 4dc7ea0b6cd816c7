"""What each verb is told on the command line: its arguments, and the request they become."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from supervisor.cli.common import BadUsage
from supervisor.core.verbs import BUDGET, MESSAGE, PRIORITY, START_OVER

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

Told = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Teller:
    """The arguments of one verb beside its tickets."""

    what: str
    """The last positional argument: what the tickets are told."""
    help: str
    add: Callable[[argparse.ArgumentParser], None]
    read: Callable[[str | None, argparse.Namespace], Told]
    """Turns the words and options into the request's ``args``. Raises BadUsage."""
    is_optional: bool = False
    """Whether the options can say it all."""


def _add_message(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--now", action="store_true", help="interrupt the turn for it, instead of waiting for its end")


def _read_message(words: str | None, args: argparse.Namespace) -> Told:
    return {"text": _piped() if words == "-" else words or "", "now": args.now}


def _piped() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise BadUsage("what came by standard input is no text", str(error)) from None


def _add_budget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, metavar="N", help="at most so many turns for each prompt")
    parser.add_argument("--turns-in-all", type=int, metavar="N", help="at most so many turns over all attempts")
    parser.add_argument("--tokens", type=int, metavar="N", help="at most so many tokens over all attempts")
    parser.add_argument("--none", action="store_true", help="take the budget away")


def _read_budget(words: str | None, args: argparse.Namespace) -> Told:
    told: Told = {"no_budget": True} if args.none else {}
    altogether = {"budget_turns": args.turns_in_all, "budget_tokens": args.tokens}
    told |= {name: value for name, value in altogether.items() if value is not None}
    return told | read_limits(words, args.turns)


def read_limits(words: str | None, turns: int | None) -> Told:
    """Return what ``budget`` is told by a sum, or by how many turns. Raises BadUsage."""
    told: Told = {} if turns is None else {"max_turns": turns}
    if words is not None:
        told["raise_usd" if words[:1] in ("+", "-") else "budget_usd"] = _sum(words)
    return told


def _sum(words: str) -> float:
    try:
        return float(words.replace("$", ""))
    except ValueError:
        raise BadUsage(f'"{words}" is no sum', "say one in dollars, as in 2.50, or +1 to raise it") from None


def _add_nothing(_: argparse.ArgumentParser) -> None:
    return None


def _read_priority(words: str | None, _: argparse.Namespace) -> Told:
    try:
        return {"priority": int(words or "")}
    except ValueError:
        raise BadUsage(f'"{words}" is no whole number', "higher starts earlier; the file's default is 0") from None


TELLERS: dict[str, Teller] = {
    MESSAGE.name: Teller("TEXT", "what to say; - reads it from standard input", _add_message, _read_message),
    BUDGET.name: Teller(
        "USD", "the new budget, or +1.50 to raise it by that", _add_budget, _read_budget, is_optional=True
    ),
    PRIORITY.name: Teller("N", "a whole number; higher starts earlier", _add_nothing, _read_priority),
}

ASKED = {
    START_OVER.name: "Files go back to the base (a snapshot is kept) and the conversation begins anew. Go on?",
}
"""Verbs that ask before they begin, unless ``--yes`` is given."""
