"""``supervise asks``, ``approve``, ``deny`` and ``answer``: what agents wait for, answered from a shell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from supervisor.cli.common import VERB_EXIT_CODES, add_batch, add_command, complain, request, say, user, where
from supervisor.core.text import safe_line
from supervisor.engine.request_fields import find_name

if TYPE_CHECKING:
    import argparse

    from supervisor.cli.common import Commands

COMMANDS = ("asks", "approve", "deny", "answer")
_WHICH = "a ticket, or what `supervise asks` shows: an ask's id, an effect's key"


def add_to(commands: Commands) -> None:
    """Add the commands."""
    asks = add_command(
        commands,
        "asks",
        "List what agents ask of you: permissions, questions, plans, and effects that wait for approval.",
        "supervise asks",
        VERB_EXIT_CODES,
    )
    asks.add_argument("ticket", nargs="?", default="", metavar="TICKET", help="only what this ticket asks")
    add_batch(asks)
    asks.set_defaults(do=_list)
    what = "Allow what a ticket asks: a tool, a plan, or an effect."
    approve = add_command(commands, "approve", what, "supervise approve 003-deploy", VERB_EXIT_CODES)
    approve.add_argument("which", metavar="TICKET", help=_WHICH)
    approve.add_argument("--session", action="store_true", help="do not ask for the like again in this session")
    approve.add_argument("--why", default="", help="a reason, for the log of an effect")
    add_batch(approve)
    approve.set_defaults(do=_approve)
    what = "Refuse what a ticket asks; the agent is told, and goes on without it."
    deny = add_command(commands, "deny", what, 'supervise deny 003-deploy "Use the staging host."', VERB_EXIT_CODES)
    deny.add_argument("which", metavar="TICKET", help=_WHICH)
    deny.add_argument("message", nargs="?", default="", metavar="TEXT", help="what the agent is told")
    deny.add_argument("--stop", action="store_true", help="pause the ticket as well")
    add_batch(deny)
    deny.set_defaults(do=_deny)
    what = "Answer a question of a ticket: with an option's label, or in your own words."
    answer = add_command(commands, "answer", what, 'supervise answer 008-docs "Developers"', VERB_EXIT_CODES)
    answer.add_argument("which", metavar="TICKET", help=_WHICH)
    answer.add_argument(
        "answers", nargs="+", metavar="ANSWER", help="one for each question; with several choices, divided by commas"
    )
    add_batch(answer)
    answer.set_defaults(do=_answer)


def _asked(args: argparse.Namespace, what: dict[str, Any]) -> dict[str, Any]:
    return request(where(args), {**what, "actor": user()})


def _list(args: argparse.Namespace) -> int:
    reply = _asked(args, {"do": "asks", "ticket": args.ticket})
    if "error" in reply:
        return _refused(reply)
    effects = _wanted(args, args.ticket)
    lines = [*map(_line, reply["asks"]), *map(_effect_line, effects)]
    say(json.dumps({**reply, "effects": effects}) if args.json else "\n".join(lines) or "nothing is asked")
    return 0


def _line(ask: dict[str, Any]) -> str:
    waits = "waits" if ask["state"] == "open" else "rests"
    return "  ".join((safe_line(ask["ticket"]), ask["ask"][:8], ask["kind"], waits, safe_line(ask["detail"])))


def _effect_line(effect: dict[str, Any]) -> str:
    return "  ".join((safe_line(effect["ticket"]), "effect", "approval", "waits", safe_line(effect["key"])))


def _refused(reply: dict[str, Any]) -> int:
    complain(f"supervise: {safe_line(str(reply['error']))}")
    return 1


def _say(args: argparse.Namespace, reply: dict[str, Any], done: str) -> int:
    if "error" in reply:
        return _refused(reply)
    say(json.dumps(reply) if args.json else f"{safe_line(reply['ticket'])}  {done}")
    return 0


def _approve(args: argparse.Namespace) -> int:
    kind = "allow_session" if args.session else "allow"
    reply = _asked(args, {"do": "answer", "ask": args.which, "kind": kind})
    effect = _requested(args) if "error" in reply and not args.session else None
    if effect is not None:
        reply = _rule(args, effect, "approve", args.why or "approved from the shell")
    return _say(args, reply, "approved")


def _deny(args: argparse.Namespace) -> int:
    kind = "deny_stop" if args.stop else "deny"
    reply = _asked(args, {"do": "answer", "ask": args.which, "kind": kind, "message": args.message})
    effect = _requested(args) if "error" in reply and not args.stop else None
    if effect is not None:
        reply = _rule(args, effect, "deny", args.message or "denied from the shell")
    return _say(args, reply, "denied")


def _requested(args: argparse.Namespace) -> dict[str, Any] | None:
    """Return the effect that a key names, or that the ticket wants approval for, if that is what it waits for."""
    wanted = _wanted(args, args.which)
    return wanted[0] if len(wanted) == 1 else None


def _wanted(args: argparse.Namespace, name: str) -> list[dict[str, Any]]:
    """Return the effects that wait for approval: the one of that key or those of that ticket; all without a name."""
    status = _asked(args, {"do": "status"})
    waiting = [e for e in status.get("effects", ()) if e["state"] == "requested"]
    ticket, _ = find_name(name, [t["id"] for t in status.get("tickets", ())], "ticket")
    return [e for e in waiting if not name or e["key"] == name or e["ticket"] == ticket]


def _rule(args: argparse.Namespace, effect: dict[str, Any], verb: str, why: str) -> dict[str, Any]:
    ruling = {"do": "ruling", "verb": verb, "key": effect["key"], "version": effect["version"], "why": why}
    return _asked(args, ruling)


def _answer(args: argparse.Namespace) -> int:
    answers = {str(n): said for n, said in enumerate(args.answers, 1)}
    return _say(
        args, _asked(args, {"do": "answer", "ask": args.which, "kind": "reply", "answers": answers}), "answered"
    )
