"""``supervise effects``: what tickets do in other systems, and the decisions that only a person can take about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from supervisor.cli.common import (
    VERB_EXIT_CODES,
    add_batch,
    add_command,
    complain,
    has_terminal,
    is_asked,
    reply_to,
    request,
    say,
    user,
    where,
)
from supervisor.core.text import safe_line

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from supervisor.cli.common import Commands
    from supervisor.core.effects import EffectRecord

COMMANDS = ("effects",)
_KEY = "003-deploy:deploy"
_PROBE_S = 600.0
"""How long a probe may take before we stop waiting for what it says; it has a limit of its own."""


@dataclass(frozen=True, slots=True)
class _Act:
    """A decision about one effect."""

    name: str
    verb: str
    """As requests call it."""
    help: str
    danger: str = ""
    """What goes wrong if it is decided in error; such a decision is asked for twice."""
    example: str = ""
    needs_why: bool = True


_ACTS = (
    _Act(
        "done",
        "done",
        "It did happen: its ticket goes on with the outcome.",
        "If it did not happen, it never will: its ticket goes on as if it had.",
        '--why "build 41 is live" --outcome "deployed 41"',
    ),
    _Act(
        "not-done",
        "not_done",
        "It did not happen, and does not run again unless it is granted.",
        "If it did happen, its ticket is told something false, and a grant would make it happen twice.",
        '--why "the log of the host has no build 41"',
    ),
    _Act(
        "grant",
        "once_more",
        "One ticket may run it once more, whatever became of the first run.",
        "If it did happen, it happens twice.",
        '--why "the host was down"',
    ),
    _Act(
        "abandon",
        "abandon",
        "It will never run, whatever has become of it.",
        "If it did not happen, it never will; no ticket can ask for it again.",
        '--why "the release is off"',
    ),
    _Act("approve", "approve", "Let it run.", needs_why=False),
    _Act("deny", "deny", "Do not let it run; its ticket is told why.", example='--why "not on a Friday"'),
    _Act("note", "note", "Write something down in its log.", example='--why "asked the vendor"'),
)


def add_to(commands: Commands) -> None:
    """Add the command with all it can do."""
    what = "See what tickets do in other systems, and settle what is stuck."
    parser = add_command(commands, "effects", what, "supervise effects list", VERB_EXIT_CODES)
    parts = parser.add_subparsers(title="what to do", metavar="WHAT", required=True)
    listing = _add(parts, "list", "List all effects, those that wait for you first.", "supervise effects list")
    listing.set_defaults(do=_list)
    show = _add(parts, "show", "Show all that is known of one effect.", f"supervise effects show {_KEY}", key=True)
    show.set_defaults(do=_show)
    probe = _add(
        parts, "probe", "Ask the other system whether it happened.", f"supervise effects probe {_KEY}", key=True
    )
    probe.set_defaults(do=_probe)
    for act in _ACTS:
        _add_act(parts, act)


def _add(parts: Commands, name: str, what: str, example: str, *, key: bool = False) -> argparse.ArgumentParser:
    parser = add_command(parts, name, what, example, VERB_EXIT_CODES)
    if key:
        parser.add_argument("key", metavar="KEY", help="its key, or how the key begins if that is enough")
    add_batch(parser)
    return parser


def _add_act(parts: Commands, act: _Act) -> None:
    parser = _add(parts, act.name, act.help, f"supervise effects {act.name} {_KEY} {act.example}".rstrip(), key=True)
    parser.add_argument("--why", metavar="TEXT", default="", required=act.needs_why, help="goes into the log")
    parser.add_argument("--evidence", metavar="TEXT", default="", help="what you saw; goes into the log")
    parser.add_argument("--version", metavar="N", type=int, help="decide only if it still is the version you saw")
    parser.add_argument("--yes", action="store_true", help="do not ask; needed where nobody is at a terminal")
    if act.verb == "done":
        parser.add_argument("--outcome", metavar="TEXT", help="what came of it, for its ticket")
    if act.verb == "once_more":
        parser.add_argument("--ticket", metavar="T", help="which may run it; default: the one that asked last")
        parser.add_argument("--i-know", metavar="NAME", help="the effect's name: whoever ran it may still be at work")
    parser.set_defaults(do=partial(_decide, act))


def _list(args: argparse.Namespace) -> int:
    from supervisor.cli.effect_text import table, waiting_first
    from supervisor.report import effect_entry
    from supervisor.store.glance import glance

    with glance(where(args)) as seen:
        records = waiting_first(seen.effects())
    say(json.dumps({"effects": [effect_entry(r) for r in records]}) if args.json else table(records))
    return 0


def _show(args: argparse.Namespace) -> int:
    from supervisor.cli.effect_text import as_data, card
    from supervisor.store.glance import glance

    state_dir = where(args)
    record = _find(state_dir, args.key)
    with glance(state_dir) as seen:
        log = seen.log(record)
    say(json.dumps(as_data(record, log)) if args.json else card(record, log))
    return 0


def _find(state_dir: Path, name: str) -> EffectRecord:
    """Return the effect that a key, or how it begins, stands for. Raises StoreError."""
    from supervisor.core.errors import StoreError
    from supervisor.engine.request_fields import find_name
    from supervisor.store.glance import glance

    with glance(state_dir) as seen:
        known = {record.key: record for record in seen.effects()}
    key, fault = find_name(name, known, "effect")
    if key is None:
        raise StoreError(safe_line(fault), "see `supervise effects list`")
    return known[key]


def _probe(args: argparse.Namespace) -> int:
    state_dir = where(args)
    reply = request(state_dir, {"do": "probe", "key": _find(state_dir, args.key).key}, _PROBE_S)
    return _tell(reply, args)


def _decide(act: _Act, args: argparse.Namespace) -> int:
    if act.danger and not args.yes and not has_terminal():
        complain(f"supervise: {act.name} may do harm, and nobody can be asked here: give --yes if you are sure")
        return 2
    if act.needs_why and not args.why.strip():
        complain(f"supervise: {act.name} must say why: give --why TEXT")
        return 2
    state_dir = where(args)
    shown = _settled_view(state_dir, args.key)
    if args.version is None:
        complain(f"{safe_line(shown.key)} is {shown.state.value} (version {shown.version}). {act.name}: {act.help}")
    if act.danger and not args.yes and not is_asked(f"{act.danger} Are you sure?"):
        complain("nothing was changed")
        return 1
    return _tell(_sent(state_dir, _request(act, args, shown), args), args)


def _settled_view(state_dir: Path, key: str) -> EffectRecord:
    """Return an effect; one that a dead supervisor was running is found unresolved first, so that it can be decided."""
    found = _find(state_dir, key)
    if found.state == "claimed":
        request(state_dir, {"do": "status"})
        found = _find(state_dir, found.key)
    return found


def _request(act: _Act, args: argparse.Namespace, shown: EffectRecord) -> dict[str, Any]:
    version = shown.version if args.version is None else args.version
    told = {"why": args.why, "evidence": args.evidence, "version": version, "actor": user()}
    more = {name: getattr(args, name, None) for name in ("outcome", "ticket", "i_know")}
    return {"do": "ruling", "verb": act.verb, "key": shown.key, **told, **more}


def _sent(state_dir: Path, asked: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """Send a decision; where the effect has to be named for it, have it typed."""
    reply = request(state_dir, asked)
    if reply.get("kind") != "NameNeeded" or asked["i_know"]:
        return reply
    if args.yes or not has_terminal():
        return {**reply, "error": f"{reply['error']}: give --i-know NAME"}
    typed = reply_to(f"{safe_line(reply['error'])}.\nType its name to grant it all the same: ")
    return request(state_dir, {**asked, "i_know": typed.strip()}) if typed.strip() else reply


def _tell(reply: dict[str, Any], args: argparse.Namespace) -> int:
    """Say what came of it, and return the exit code."""
    refused = "error" in reply or reply.get("settled") is False
    if args.json:
        say(json.dumps(reply))
    elif refused:
        complain(f"supervise: {safe_line(str(reply.get('error') or reply.get('says')))}")
    else:
        say(f"{safe_line(reply['key'])} is {reply['state']} (version {reply['version']})")
    return 1 if refused else 0
