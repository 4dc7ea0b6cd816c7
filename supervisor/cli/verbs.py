"""The operator's verbs from the shell, made from the one table of verbs: ``supervise interrupt 003``."""

from __future__ import annotations

import json
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

from supervisor.cli.common import (
    VERB_EXIT_CODES,
    BadUsage,
    add_batch,
    add_command,
    complain,
    is_asked,
    request,
    say,
    user,
    where,
)
from supervisor.cli.told import ASKED, TELLERS, Told, read_limits, refuse_sums
from supervisor.core.text import safe_line
from supervisor.core.verbs import BUDGET, BY_NAME, FORK, NOT_BY_ALL, RESUME, REWIND, START_OVER, VERBS, Verb

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from supervisor.cli.common import Commands

COMMANDS = tuple(verb.name for verb in VERBS if verb not in (FORK, REWIND))
ANSWER_S = 5.0
"""How long a supervisor may take to answer when it has little to do."""
PATIENCE_S = 600.0
"""How long it may take where git, an agent's start, or a batch of any size is in it."""
_ALL = "every ticket it applies to"


def add_to(commands: Commands) -> None:
    """Add a command for each verb that may be given to many tickets."""
    for name in COMMANDS:
        verb, teller = BY_NAME[name], TELLERS.get(name)
        examples = "\n  ".join((verb.example, *(teller.examples if teller is not None else ())))
        parser = add_command(commands, verb.name, verb.help, examples, VERB_EXIT_CODES)
        parser.add_argument(
            "tickets", nargs="*", metavar="TICKET", help="its id, or how the id begins if that is enough"
        )
        if teller is not None:
            parser.add_argument("words", nargs="?", metavar=teller.what, help=teller.help)
            teller.add(parser)
        if verb is RESUME:
            parser.add_argument("--budget", metavar="USD", help="first set the budget, or raise it: 2.50 or +1")
            parser.add_argument("--turns", type=int, metavar="N", help="first allow so many turns for each prompt")
        less = ", but not what is done or cancelled" if verb in NOT_BY_ALL else ""
        parser.add_argument("--all", action="store_true", help=f"{_ALL}{less}")
        if name in ASKED:
            parser.add_argument("-y", "--yes", action="store_true", help="do not ask first")
        add_batch(parser)
        parser.set_defaults(do=partial(_give, verb, parser))


def _give(verb: Verb, parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    tickets, told = _read(verb, args)
    if args.all is bool(tickets):
        then = f", then {TELLERS[verb.name].what}" if verb.name in TELLERS and not told else ""
        complain(f"{parser.format_usage()}supervise {verb.name}: error: name one or more tickets, or give --all{then}")
        return 2
    if verb.name in ASKED and not args.yes and not is_asked(ASKED[verb.name]):
        complain("nothing was done; --yes does it without asking")
        return 1
    if verb is RESUME and (args.budget is not None or args.turns is not None):
        code = give(BUDGET, args, tickets, read_limits(args.budget, args.turns), PATIENCE_S, before=RESUME)
        if code:
            return code
    patience_s = PATIENCE_S if verb is START_OVER or args.all else ANSWER_S
    return give(verb, args, tickets, told, patience_s)


def _read(verb: Verb, args: argparse.Namespace) -> tuple[list[str], Told]:
    """Return the tickets that are meant, and what they are told: the last word, unless options say it.

    Which of the two holds never depends on how a word looks: a ticket may be called ``002``. Raises BadUsage.
    """
    teller, words = TELLERS.get(verb.name), list(args.tickets)
    if teller is None:
        return words, {}
    if args.words is not None:
        words.append(args.words)
    told = teller.read(None, args) if teller.is_optional else {}
    if told:
        refuse_sums(words)
        return words, told
    if not words:
        raise BadUsage(f"say {teller.what}", teller.help)
    if len(words) == 1 and not args.all:  # a ticket, or what it is told: the other one is missing
        return [], {}
    return words[:-1], teller.read(words[-1], args)


def give(
    verb: Verb,
    args: argparse.Namespace,
    tickets: Sequence[str],
    told: Told,
    timeout_s: float = ANSWER_S,
    *,
    before: Verb | None = None,
) -> int:
    """Give a verb to tickets, say what came of it for each, and return the exit code.

    With ``--all`` it is given to the tickets that the verb after it applies to, where there is one: ``before``.
    """
    wish = {"do": "verb", "verb": verb.name, "tickets": list(tickets), "all": getattr(args, "all", False), "args": told}
    wish["for"] = (before or verb).name
    reply = request(where(args), {**wish, "id": str(uuid.uuid4()), "actor": user()}, timeout_s)
    if "error" in reply:
        complain(f"supervise: {safe_line(str(reply['error']))}")
        return 1
    answers: list[dict[str, Any]] = reply["tickets"]
    if args.json:
        say(json.dumps(reply))
    else:
        say("\n".join(_lines(verb, answers)))
    return 0 if all(a["accepted"] for a in answers) else 1


def _lines(verb: Verb, answers: Sequence[dict[str, Any]]) -> list[str]:
    if not answers:
        return [f"there is no ticket to {verb.name}"]
    width = max(len(safe_line(a["ticket"])) for a in answers)
    return [
        f"{safe_line(a['ticket']):<{width}}  {'accepted' if a['accepted'] else 'refused'}: {safe_line(a['says'])}"
        for a in answers
    ]
