"""What each verb is told on the command line: its arguments, and the request they become."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from supervisor.cli.common import BadUsage
from supervisor.core.verbs import BUDGET, MESSAGE, PRIORITY, START_OVER

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

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
    """Whether the options can say it all. Beside them the words are tickets, all of them."""
    examples: tuple[str, ...] = ()
    """Further examples for the help, one line each."""


def _add_message(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--now", action="store_true", help="interrupt the turn for it, instead of waiting for its end")


def _read_message(words: str | None, args: argparse.Namespace) -> Told:
    return {"text": _piped() if words == "-" else words or "", "now": args.now}


def _piped() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise BadUsage("what came by standard input is no text", str(error)) from None


_COUNTS = {
    "--turns": "at most so many turns for each prompt; raised while it works, it goes on by itself",
    "--turns-in-all": "at most so many turns over all attempts; fewer hold from the next prompt on",
    "--tokens": "at most so many tokens over all attempts; one that has used them stops at its next tool call",
}
"""Limits beside the sum. All of them may be set while a ticket works."""


def _add_budget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--usd", metavar="SUM", help="the sum, where it stands beside other options: 2.50 or +1")
    for name, help_ in _COUNTS.items():
        parser.add_argument(name, type=int, metavar="N", help=help_)
    parser.add_argument("--none", action="store_true", help="take the budget away")


def _read_budget(words: str | None, args: argparse.Namespace) -> Told:
    if args.none and args.usd is not None:
        raise BadUsage("--none and --usd exclude each other", "the first takes the budget away, the second sets one")
    told: Told = {"no_budget": True} if args.none else {}
    if words is not None and not _SUM.fullmatch(words):
        raise BadUsage(f'"{words}" is no sum', _WHAT_A_SUM_IS)
    altogether = {"budget_turns": args.turns_in_all, "budget_tokens": args.tokens}
    told |= {name: value for name, value in altogether.items() if value is not None}
    return told | read_limits(args.usd if words is None else words, args.turns)


def read_limits(words: str | None, turns: int | None) -> Told:
    """Return what ``budget`` is told by a sum, or by how many turns. Raises BadUsage."""
    told: Told = {} if turns is None else {"max_turns": turns}
    if words is not None:
        told["raise_usd" if words[:1] in ("+", "-") else "budget_usd"] = _sum(words)
    return told


_SUM = re.compile(r"[+-]?\$?((0|[1-9]\d*)(\.\d*)?|\.\d+)", re.ASCII)
"""A sum in dollars. ``002`` is none: it is a ticket's name."""
_WHAT_A_SUM_IS = "the last word is one, as in 2.50 or +1, unless options such as --turns say it all"
_ONLY_A_SUM = re.compile(r"[+$-].*")
"""Words that begin like this name no ticket."""


def _sum(words: str) -> float:
    if not _SUM.fullmatch(words):
        raise BadUsage(f'"{words}" is no sum', "say one in dollars, as in 2.50, or +1 to raise it")
    return float(words.replace("$", ""))


def refuse_sums(tickets: Sequence[str]) -> None:
    """Refuse a sum that stands among the tickets because options say what they are told. Raises BadUsage."""
    for word in tickets:
        if _ONLY_A_SUM.fullmatch(word):
            raise BadUsage(f'"{word}" is no ticket', f"beside other options the sum is an option too: --usd {word}")


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
        "USD",
        "the new budget, or +1.50 to raise it by that; beside options it is said with --usd",
        _add_budget,
        _read_budget,
        is_optional=True,
        examples=(
            "supervise budget 003-deploy 2.50           the last word is the sum",
            "supervise budget 001 002 +1                for two tickets; each gets 1 dollar more",
            "supervise budget 001 002 --turns 5         beside options all words are tickets",
            "supervise budget 001 002 --usd +1 --turns 5",
            "supervise budget 001 --turns-in-all 80 --tokens 2000000",
            "supervise budget --all --none",
        ),
    ),
    PRIORITY.name: Teller("N", "a whole number; higher starts earlier", _add_nothing, _read_priority),
}

ASKED = {
    START_OVER.name: (
        "Files go back to the base, those of a fork to where it was forked (a snapshot is kept),"
        " and the conversation begins anew. Go on?"
    ),
}
"""Verbs that ask before they begin, unless ``--yes`` is given."""
