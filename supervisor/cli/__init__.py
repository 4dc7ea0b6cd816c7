"""The ``supervise`` command. Everything heavy (the SDK, the screen) is imported only by the command that needs it."""

from __future__ import annotations

import argparse
import signal
import sys
from typing import TYPE_CHECKING

from supervisor import __version__
from supervisor.cli import batch, effects, verbs
from supervisor.cli.common import EXIT_CODES, complain
from supervisor.core.errors import SupervisorError

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMANDS = (*batch.COMMANDS, *verbs.COMMANDS, *effects.COMMANDS)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    code = run_command(sys.argv[1:] if argv is None else argv)
    if code == 128 + signal.SIGHUP:
        from supervisor.run import exit_with

        exit_with(code)
    sys.exit(code)


def run_command(argv: Sequence[str]) -> int:
    """Run one command and return its exit code. Every refusal is one line for each fault, and code 2."""
    try:
        args = _parser().parse_args(_with_default_command(argv))
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 2
    try:
        code: int = args.do(args)
    except SupervisorError as error:
        complain(_refusal(error))
        return 2
    return code


def _refusal(error: SupervisorError) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return "\n".join(f"supervise: {line}" for line in lines)


def _with_default_command(argv: Sequence[str]) -> list[str]:
    """``supervise`` and ``supervise tickets.toml`` mean ``run``."""
    first = argv[0] if argv else ""
    plain = first in _COMMANDS or first in ("-h", "--help", "--version")
    return list(argv) if plain else ["run", *argv]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "supervise",
        description="Run a batch of Claude Code tickets side by side.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"supervise {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    batch.add_to(commands)
    verbs.add_to(commands)
    effects.add_to(commands)
    return parser


__all__ = ["main", "run_command"]
