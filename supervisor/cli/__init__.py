"""The ``supervise`` command. Everything heavy (the SDK, the screen) is imported only by the command that needs it."""

from __future__ import annotations

import argparse
import signal
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor import __version__
from supervisor.cli import asks, backups, batch, care, effects, places, reports, slots, verbs
from supervisor.cli.common import EXIT_CODES, EXIT_PIPE, ReaderGone, complain, flush_or_drop
from supervisor.core.errors import SupervisorError
from supervisor.core.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Sequence

_PARTS = (batch, reports, verbs, places, asks, slots, effects, care, backups)
_ALIKE = 0.7
"""How alike, of 1, a word must be to a command to be a slip of it."""
_COMMANDS = tuple(name for part in _PARTS for name in part.COMMANDS)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    try:
        code = run_command(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:  # before a batch has begun to listen for signals, or after it has ended
        code = 128 + signal.SIGINT
    flush_or_drop()
    if code == 128 + signal.SIGHUP:
        from supervisor.run import exit_with

        exit_with(code)
    sys.exit(code)


def run_command(argv: Sequence[str]) -> int:
    """Run one command and return its exit code. Every refusal is one line for each fault, and code 2."""
    meant = _misspelt(argv)
    if meant:
        what = f"{safe_line(argv[0])}: no such command, and no such file"
        complain(f'supervise: {what}: did you mean "supervise {meant}"?')
        return 2
    try:
        args = _parsed(_with_default_command(argv))
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 2
    try:
        return _done(args)
    except ReaderGone:
        return EXIT_PIPE


def _done(args: argparse.Namespace) -> int:
    try:
        code: int = args.do(args)
    except SupervisorError as error:
        complain(_refusal(error))
        return 2
    return code


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line. Words of a verb may stand on both sides of its options, which argparse cannot do."""
    parser = _parser()
    args, left = parser.parse_known_args(argv)
    if left and (not hasattr(args, "tickets") or any(word.startswith("-") for word in left)):
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    if left:
        args.tickets.extend(left)
    return args


def _refusal(error: SupervisorError) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return "\n".join(f"supervise: {line}" for line in lines)


def _with_default_command(argv: Sequence[str]) -> list[str]:
    """``supervise`` and ``supervise tickets.toml`` mean ``run``."""
    first = argv[0] if argv else ""
    plain = first in _COMMANDS or first in ("-h", "--help", "--version")
    return list(argv) if plain else ["run", *argv]


def _misspelt(argv: Sequence[str]) -> str:
    """Return the command that the first word was meant for; empty where it is one, or may be a file."""
    first = argv[0] if argv else "-"
    if first in _COMMANDS or first.startswith("-") or Path(first).exists():
        return ""
    return next(iter(get_close_matches(first.lower(), _COMMANDS, 1, _ALIKE)), "")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "supervise",
        description="Run a batch of Claude Code tickets side by side.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"supervise {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for part in _PARTS:
        part.add_to(commands)
    return parser


__all__ = ["main", "run_command"]
