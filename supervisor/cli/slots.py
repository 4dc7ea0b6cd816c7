"""``supervise slots`` and ``supervise starting``: how many tickets run at the same time, and whether new ones start."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from supervisor.cli.common import VERB_EXIT_CODES, add_batch, add_command, complain, request, say, where
from supervisor.core.text import safe_line

if TYPE_CHECKING:
    import argparse

    from supervisor.cli.common import Commands

COMMANDS = ("slots", "starting")


def add_to(commands: Commands) -> None:
    """Add the commands."""
    what = "Set how many tickets of a running batch work at the same time; what runs goes on."
    slots = add_command(commands, "slots", what, "supervise slots 5", VERB_EXIT_CODES)
    slots.add_argument("slots", type=int, metavar="N", help="at least 1")
    add_batch(slots)
    slots.set_defaults(do=lambda args: _pool(args, {"slots": args.slots}))
    what = "Stop starting tickets of a running batch, or start them again; what runs goes on."
    starting = add_command(commands, "starting", what, "supervise starting off", VERB_EXIT_CODES)
    starting.add_argument("switch", choices=("on", "off"))
    add_batch(starting)
    starting.set_defaults(do=lambda args: _pool(args, {"paused": args.switch == "off"}))


def _pool(args: argparse.Namespace, change: dict[str, Any]) -> int:
    reply = request(where(args), {"do": "pool", **change})
    if "error" in reply:
        complain(f"supervise: {safe_line(str(reply['error']))}")
        return 1
    words = f"{reply['slots']} slots" + (", no new tickets start" if reply["paused"] else "")
    say(json.dumps(reply) if args.json else words)
    return 0
