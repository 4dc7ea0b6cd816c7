"""``supervise report``: what became of each ticket, and with ``--costs`` how the sums come about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from supervisor.cli.common import add_batch, add_command, say, where

if TYPE_CHECKING:
    import argparse

    from supervisor.cli.common import Commands

COMMANDS = ("report",)
_CODES = """\
exit codes:
  0  the report was printed
  2  bad usage, no such batch or ticket
"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    what = "Say how every attempt ended, or how the costs come about; also while the batch runs."
    report = add_command(commands, "report", what, "supervise report 003-deploy --costs", _CODES)
    report.add_argument("ticket", nargs="?", help="its id, or how the id begins; without it all tickets are reported")
    report.add_argument(
        "--costs", action="store_true", help="spell the sums out: baselines, totals, differences, corrections"
    )
    add_batch(report)
    report.set_defaults(do=_report)


def _report(args: argparse.Namespace) -> int:
    from supervisor.attempt_report import attempt_report, attempt_text
    from supervisor.config import load
    from supervisor.cost_report import cost_report, cost_text

    spec, state_dir = load(args.file), where(args)
    if args.costs:
        data = cost_report(spec, state_dir, args.ticket)
        words = cost_text(data)
    else:
        data = attempt_report(spec, state_dir, args.ticket)
        words = attempt_text(data)
    say(json.dumps(data, indent=2) if args.json else words)
    return 0
