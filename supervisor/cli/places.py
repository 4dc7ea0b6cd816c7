"""``supervise fork`` and ``supervise rewind``: verbs that first have to know where in a ticket's past."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from supervisor.cli.common import (
    VERB_EXIT_CODES,
    BadUsage,
    add_batch,
    add_command,
    complain,
    has_terminal,
    is_asked,
    request,
    say,
    where,
)
from supervisor.cli.verbs import PATIENCE_S, give
from supervisor.core.text import safe_line
from supervisor.core.verbs import FORK, REWIND

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from supervisor.cli.common import Commands

COMMANDS = (FORK.name, REWIND.name)
_WORDS = 60


def add_to(commands: Commands) -> None:
    """Add the commands."""
    fork = add_command(commands, FORK.name, FORK.help, FORK.example, VERB_EXIT_CODES)
    fork.add_argument("ticket", metavar="TICKET", help="its id, or how the id begins if that is enough")
    fork.add_argument("prompt", metavar="PROMPT", nargs="?", help="what the fork shall do")
    fork.add_argument("--list", action="store_true", help="list the places it can be forked at, and do nothing")
    fork.add_argument("--at", type=int, metavar="N", help="fork after place N of the list; without it, from now")
    fork.add_argument("--files", choices=("then", "now"), default="then", help="files as of that place, or as of now")
    fork.add_argument("--title", default="", help="default: how the prompt begins")
    fork.add_argument("--budget", type=float, metavar="USD", help="what the fork may spend; default: as its parent")
    fork.add_argument("--turns", type=int, metavar="N", help="at most so many turns for each prompt")
    fork.add_argument("--model", default="", help="default: as its parent")
    add_batch(fork)
    fork.set_defaults(do=_fork)
    rewind = add_command(commands, REWIND.name, REWIND.help, REWIND.example, VERB_EXIT_CODES)
    rewind.add_argument("ticket", metavar="TICKET", help="its id, or how the id begins if that is enough")
    rewind.add_argument("--to", type=int, metavar="N", help="how the files were before prompt N; without it, list them")
    rewind.add_argument("--undo", action="store_true", help="undo the last rewind or start over")
    rewind.add_argument(
        "--checkpoint",
        action="store_true",
        help="take back only what the agent's edit tools did, from the session's own checkpoints",
    )
    rewind.add_argument("--dry-run", action="store_true", help="say what would change, and change nothing")
    rewind.add_argument("-y", "--yes", action="store_true", help="do not ask first")
    add_batch(rewind)
    rewind.set_defaults(do=_rewind)


def _ask(args: argparse.Namespace, do: str, **more: Any) -> dict[str, Any] | None:
    """Return the answer to a question about the ticket; None, having said so, where it was refused."""
    reply = request(where(args), {"do": do, "ticket": args.ticket, **more}, PATIENCE_S, args.file)
    if "error" in reply:
        complain(f"supervise: {safe_line(str(reply['error']))}")
        return None
    return reply


def _fork(args: argparse.Namespace) -> int:
    at = ""
    if args.list or args.at is not None:
        reply = _ask(args, "cuts")
        if reply is None:
            return 1
        if args.list:
            say(json.dumps(reply) if args.json else "\n".join(_cut_lines(reply["cuts"])))
            return 0
        at = next((c["uuid"] for c in reply["cuts"] if c["number"] == args.at), "")
        if not at:
            raise BadUsage(f"there is no place {args.at}", f"see `supervise fork {args.ticket} --list`")
    if args.prompt is None:
        raise BadUsage("say what the fork shall do", FORK.example)
    told = {"prompt": args.prompt, "at": at, "files": args.files if at else "now", "title": args.title}
    told |= {"budget_usd": args.budget, "max_turns": args.turns, "model": args.model}
    return give(FORK, args, [args.ticket], told, PATIENCE_S)


def _cut_lines(cuts: Sequence[dict[str, Any]]) -> list[str]:
    if not cuts:
        return ["there is no place to fork at yet"]
    return [f"{c['number']:>4}  {_clock(c['at'])}  prompt {c['prompt']}  {_words(c['words'])}" for c in cuts]


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%H:%M:%S}" if at else " " * 8


def _words(text: str) -> str:
    return safe_line(text.strip().split("\n", 1)[0], _WORDS)


def _rewind(args: argparse.Namespace) -> int:
    if args.to is None and not args.undo:
        reply = _ask(args, "checkpoints")
        if reply is None:
            return 1
        say(json.dumps(reply) if args.json else "\n".join(_checkpoint_lines(reply["checkpoints"])))
        return 0
    if args.undo and (args.to is not None or args.checkpoint):
        raise BadUsage("--undo goes alone", "it goes back to before the last rewind")
    source = "undo" if args.undo else "checkpoint" if args.checkpoint else "snapshot"
    to = "" if args.undo else str(args.to)
    if args.dry_run or (not args.yes and has_terminal()):
        seen = _ask(args, "preview", to=to, source=source)
        if seen is None:
            return 1
        say(json.dumps(seen) if args.json else "\n".join(_preview_lines(seen)))
        if args.dry_run:
            return 1 if seen["refusal"] else 0
        if not is_asked("Take the files back?"):
            complain("nothing was done; --yes does it without asking")
            return 1
    elif not args.yes:
        raise BadUsage("nobody can be asked here", "look at it with --dry-run, then give --yes")
    return give(REWIND, args, [args.ticket], {"to": to, "source": source}, PATIENCE_S)


def _checkpoint_lines(points: Sequence[dict[str, Any]]) -> list[str]:
    if not points:
        return ["there is no prompt to go back to yet"]
    return [
        f"{p['number']:>4}  {_clock(p['at'])}  {p['kind']:<8}  {_since(p):<20}  {_words(p['words'])}" for p in points
    ]


def _since(point: dict[str, Any]) -> str:
    if not point["snapshot"]:
        return "no snapshot"
    count = point["files_since"]
    return "" if count is None else f"{count} file{'s' * (count != 1)} since"


def _preview_lines(seen: dict[str, Any]) -> list[str]:
    to = f"files taken back to {safe_line(seen['to'])}, from {_SOURCES[seen['source']]}"
    lines = [f"{safe_line(seen['ticket'])}: {to}"]
    lines += [f"  {f['kind']:<10} {_counts(f):>12}  {safe_line(f['path'])}" for f in seen["files"]]
    if not seen["files"]:
        lines.append("  no file would change")
    if seen["more_files"]:
        lines.append("  … and more")
    lines += [
        f"  stays as it is: {safe_line(one['path'])} ({safe_line(one['reason'])})" for one in seen["not_restored"]
    ]
    lines += [f"  could not be undone: {safe_line(o['path'])} ({safe_line(o['reason'])})" for o in seen["not_kept"]]
    lines += [f"  changed by somebody else, and kept in the snapshot: {safe_line(path)}" for path in seen["outside"]]
    lines += [f"  stays done: {safe_line(key)}" for key in seen["stays_done"]]
    lines += [f"  {safe_line(note)}" for note in seen["notes"]]
    if seen["refusal"]:
        lines.append(f"  not now: {safe_line(seen['refusal'])}")
    return lines


_SOURCES = {
    "snapshot": "git's snapshot (everything that is not ignored)",
    "checkpoint": "the session's checkpoint (what its edit tools did)",
    "undo": "the snapshot taken before",
    "base": "the base",
}


def _left(one: dict[str, Any]) -> str:
    return f"{safe_line(one['path'])} ({safe_line(one['reason'])})"


def _counts(change: dict[str, Any]) -> str:
    if change["insertions"] is None:
        return "binary"
    return f"+{change['insertions']} −{change['deletions']}"
