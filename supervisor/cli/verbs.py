"""The operator's verbs from the shell, made from the one table of verbs: ``supervise interrupt 003``."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from supervisor.cli.common import VERB_EXIT_CODES, add_batch, add_command, complain, request, say, where
from supervisor.core.text import safe_line
from supervisor.core.verbs import RESUME, VERBS, Verb

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from supervisor.cli.common import Commands

COMMANDS = tuple(verb.name for verb in VERBS)
_ALL = "every ticket it applies to"


def add_to(commands: Commands) -> None:
    """Add a command for each verb."""
    for verb in VERBS:
        parser = add_command(commands, verb.name, verb.help, verb.example, VERB_EXIT_CODES)
        parser.add_argument(
            "tickets", nargs="*", metavar="TICKET", help="its id, or how the id begins if that is enough"
        )
        less = ", but not what is done or cancelled" if verb is RESUME else ""
        parser.add_argument("--all", action="store_true", help=f"{_ALL}{less}")
        add_batch(parser)
        parser.set_defaults(do=partial(_give, verb, parser))


def _give(verb: Verb, parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    if args.all is bool(args.tickets):
        complain(f"{parser.format_usage()}supervise {verb.name}: error: name one or more tickets, or give --all")
        return 2
    reply = request(where(args), {"do": "verb", "verb": verb.name, "tickets": args.tickets, "all": args.all})
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
