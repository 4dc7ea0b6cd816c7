"""The ``supervise`` command. Everything heavy (the SDK, the screen) is imported only by the command that needs it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from supervisor import __version__
from supervisor.core.errors import LockedError, SupervisorError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.core.spec import BatchSpec

DEFAULT_FILE = "tickets.toml"
_COMMANDS = ("run", "rehearse", "check", "status")

_EXIT_CODES = """\
exit codes:
  0  every ticket is done
  1  some tickets failed
  2  bad usage or configuration; nothing was started
  3  something needs a person (this beats 1)
  129, 130, 143  stopped by SIGHUP, SIGINT, SIGTERM; nothing is lost, the next start goes on
"""


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    from supervisor.engine.process import forget_git_locators
    from supervisor.run import exit_with

    forget_git_locators()
    exit_with(run_command(sys.argv[1:] if argv is None else argv))


def run_command(argv: Sequence[str]) -> int:
    """Run one command and return its exit code. Every refusal is one line for each fault, and code 2."""
    try:
        args = _parser().parse_args(_with_default_command(argv))
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 2
    try:
        code: int = args.do(args)
    except SupervisorError as error:
        print(_refusal(error), file=sys.stderr)  # noqa: T201
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
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "supervise",
        description="Run a batch of Claude Code tickets side by side.",
        epilog=_EXIT_CODES,
        formatter_class=raw,
    )
    parser.add_argument("--version", action="version", version=f"supervise {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, what: str, example: str) -> argparse.ArgumentParser:
        epilog = f"example:\n  {example}\n\n{_EXIT_CODES}"
        return commands.add_parser(name, help=what, description=what, epilog=epilog, formatter_class=raw)

    run = command("run", "Run the batch; the default command.", "supervise run tickets.toml --headless")
    _file(run)
    _state_dir(run)
    _printing(run)
    run.set_defaults(do=_run)

    rehearse = command(
        "rehearse",
        "Play a batch with the real CLI against scripted answers: no key, no cost, no network.",
        "supervise rehearse",
    )
    rehearse.add_argument("file", nargs="?", type=Path, help="your tickets.toml; without it the sample batch is played")
    _state_dir(rehearse, "keep what it makes there, and go on with it when called again")
    _printing(rehearse)
    rehearse.add_argument(
        "--run-commands", action="store_true", help="also run the setup and verify commands of your own file"
    )
    rehearse.set_defaults(do=_rehearse)

    check = command("check", "Check a tickets.toml and say what it holds.", "supervise check tickets.toml")
    _file(check)
    check.set_defaults(do=_check)

    status = command("status", "Say how a batch stands, also while it runs.", "supervise status --json")
    _file(status)
    _state_dir(status)
    status.add_argument("--json", action="store_true", help="print one JSON object")
    status.set_defaults(do=_status)
    return parser


def _file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, default=Path(DEFAULT_FILE), help=f"default: {DEFAULT_FILE}")


def _state_dir(parser: argparse.ArgumentParser, what: str = "default: .supervisor beside the file") -> None:
    parser.add_argument("--state-dir", type=Path, metavar="DIR", help=what)


def _printing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--headless", action="store_true", help="print a line for each change instead of drawing")
    parser.add_argument("--json", action="store_true", help="like --headless, one JSON object for each change")


def _load(path: Path) -> BatchSpec:
    from supervisor.config import load
    from supervisor.rehearsal.script import faults

    return load(path, check_steps=faults)


def _where(args: argparse.Namespace, spec: BatchSpec) -> Path:
    from supervisor.engine.batch import STATE_DIR

    found: Path = args.state_dir or spec.path.parent / STATE_DIR
    return found.absolute()


def _is_headless(args: argparse.Namespace) -> bool:
    """Textual reads from standard input and draws on standard error, so all three have to be the terminal."""
    return args.headless or args.json or not all(s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr))


def _run(args: argparse.Namespace) -> int:
    from supervisor import preflight
    from supervisor.engine.batch import make_state_dir
    from supervisor.engine.context import Launch
    from supervisor.engine.process import write_launcher
    from supervisor.run import run_batch

    spec = _load(args.file)
    state_dir = _where(args, spec)
    anyio.run(preflight.check_repository, spec.repo)
    cli = preflight.find_cli()
    preflight.check_root(spec, os.environ)
    home = preflight.claude_home(spec, state_dir, os.environ)
    make_state_dir(state_dir)
    own = {"CLAUDE_CONFIG_DIR": str(home)} if home.is_relative_to(state_dir) else {}
    os.environ.update(own)  # the SDK's own session functions look there
    launch = Launch(write_launcher(state_dir / "agent", cli), home, lambda _: own)

    async def go() -> int:
        return await run_batch(spec, state_dir, launch, headless=_is_headless(args), as_json=args.json)

    return anyio.run(go)


def _rehearse(args: argparse.Namespace) -> int:
    from supervisor.rehearsal.play import Rehearsal, play

    spec = _load(args.file) if args.file else None
    rehearsal = Rehearsal(spec, args.state_dir and args.state_dir.absolute(), args.run_commands or spec is None)
    return anyio.run(play, rehearsal, _load, _is_headless(args), args.json)


def _check(args: argparse.Namespace) -> int:
    from supervisor.config import summary

    print(summary(_load(args.file)))  # noqa: T201
    return 0


def _status(args: argparse.Namespace) -> int:
    from supervisor import report

    spec = _load(args.file)
    data = report.status(spec, _where(args, spec))
    print(json.dumps(data, indent=2) if args.json else report.status_text(data))  # noqa: T201
    return 0


__all__ = ["LockedError", "main", "run_command"]
