"""The commands that run a batch or look at it: run, rehearse, check, status."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.cli.common import DEFAULT_FILE, LOOK_EXIT_CODES, add_command, add_file, add_state_dir, say, where

if TYPE_CHECKING:
    import argparse

    from supervisor.cli.common import Commands
    from supervisor.core.spec import BatchSpec

COMMANDS = ("run", "rehearse", "check", "status")
_CHECK_CODES = """\
exit codes:
  0  nothing is wrong
  2  something is wrong; each fault is named
"""


def add_to(commands: Commands) -> None:
    """Add the commands."""
    run = add_command(commands, "run", "Run the batch; the default command.", "supervise run tickets.toml --headless")
    add_file(run)
    add_state_dir(run)
    _printing(run)
    run.set_defaults(do=_run)
    _add_rehearse(commands)
    what = "Check a tickets.toml and what it names, and say what it holds."
    check = add_command(commands, "check", what, "supervise check tickets.toml", _CHECK_CODES)
    add_file(check)
    check.set_defaults(do=_check)
    what = "Say how a batch stands, also while it runs."
    status = add_command(commands, "status", what, "supervise status --json", LOOK_EXIT_CODES)
    add_file(status)
    add_state_dir(status)
    status.add_argument("--json", action="store_true", help="print one JSON object")
    status.set_defaults(do=_status)


def _add_rehearse(commands: Commands) -> None:
    rehearse = add_command(
        commands,
        "rehearse",
        "Play a batch with the real CLI against scripted answers: no key, no cost, no network.",
        "supervise rehearse",
    )
    rehearse.add_argument("file", nargs="?", type=Path, help="your tickets.toml; without it the sample batch is played")
    add_state_dir(rehearse, "keep what it makes there, and go on with it when called again")
    _printing(rehearse)
    rehearse.add_argument(
        "--run-commands", action="store_true", help="also run the setup and verify commands of your own file"
    )
    rehearse.set_defaults(do=_rehearse)


def _printing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--headless", action="store_true", help="print a line for each change instead of drawing")
    parser.add_argument("--json", action="store_true", help="like --headless, one JSON object for each change")


def _load(path: Path) -> BatchSpec:
    from supervisor.config import load
    from supervisor.rehearsal.script import faults

    return load(path, check_steps=faults)


def _is_headless(args: argparse.Namespace) -> bool:
    """Textual reads from standard input and draws on standard error, so all three have to be the terminal."""
    return args.headless or args.json or not all(s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr))


def _check_keys(args: argparse.Namespace) -> None:
    """Let a fault in the operator's own keys be told before anything starts. Raises ConfigError."""
    if not _is_headless(args):
        from supervisor.app.own_keys import read_own_keys

        read_own_keys()


def _run(args: argparse.Namespace) -> int:
    import anyio

    from supervisor import preflight
    from supervisor.engine.batch import STATE_DIR, make_state_dir
    from supervisor.engine.context import Launch
    from supervisor.engine.process import forget_git_locators, write_launcher
    from supervisor.run import run_batch

    forget_git_locators()
    spec = _load(args.file)
    _check_keys(args)
    state_dir = (args.state_dir or spec.path.parent / STATE_DIR).absolute()
    anyio.run(preflight.check_repository, spec.repo)
    cli = preflight.find_cli()
    preflight.check_root(spec, os.environ)
    home = preflight.claude_home(spec, state_dir, os.environ)
    make_state_dir(state_dir)
    own = {"CLAUDE_CONFIG_DIR": str(home)} if home.is_relative_to(state_dir) else {}
    os.environ.update(own)  # the SDK's own session functions look there
    launch = Launch(write_launcher(state_dir / "agent", cli), home, lambda _: own)

    async def go() -> int:
        headless, again = _is_headless(args), _again(args)
        return await run_batch(spec, state_dir, launch, headless=headless, as_json=args.json, again=again)

    return anyio.run(go)


def _rehearse(args: argparse.Namespace) -> int:
    import anyio

    from supervisor.engine.process import forget_git_locators
    from supervisor.rehearsal.play import Rehearsal, play

    forget_git_locators()
    spec = _load(args.file) if args.file else None
    _check_keys(args)
    keep = args.state_dir and args.state_dir.absolute()
    again = _again(args, "rehearse") if keep else ""
    rehearsal = Rehearsal(spec, keep, args.run_commands or spec is None, again)
    return anyio.run(play, rehearsal, _load, _is_headless(args), args.json)


def _again(args: argparse.Namespace, command: str = "") -> str:
    """Return the command line that goes on with a batch, as one types it."""
    words = ["supervise", *filter(None, [command])]
    if args.file and args.file != Path(DEFAULT_FILE):
        words.append(str(args.file))
    if args.state_dir:
        words += ["--state-dir", str(args.state_dir)]
    words += ["--run-commands"] * getattr(args, "run_commands", False)
    words += ["--headless"] * args.headless + ["--json"] * args.json
    return shlex.join(words)


def _check(args: argparse.Namespace) -> int:
    import anyio

    from supervisor.config import summary
    from supervisor.engine.process import forget_git_locators
    from supervisor.preflight import check_places

    spec = _load(args.file)
    forget_git_locators()
    anyio.run(check_places, spec)
    say(summary(spec))
    return 0


def _status(args: argparse.Namespace) -> int:
    from supervisor import report

    data = report.status(_load(args.file), where(args))
    say(json.dumps(data, indent=2) if args.json else report.status_text(data))
    return 0
