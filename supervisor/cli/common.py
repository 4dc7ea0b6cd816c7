"""What the commands have in common: their options, their output, and the way to whoever answers for a batch."""

from __future__ import annotations

import argparse
import getpass
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from supervisor.control_client import ask
from supervisor.core.errors import LockedError, SupervisorError
from supervisor.engine.address import STATE_DIR

if TYPE_CHECKING:
    from supervisor.core.spec import BatchSpec

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DEFAULT_FILE = "tickets.toml"
EXIT_CODES = """\
exit codes:
  0  every ticket is done, or was cancelled by you
  1  some tickets failed
  2  bad usage or configuration; nothing was started
  3  something needs a person (this beats 1)
  70  the screen failed by a fault of ours; agents rest, and the next start goes on
  129, 130, 143  stopped by SIGHUP, SIGINT, SIGTERM; nothing is lost, the next start goes on
  130  also after quitting the screen while tickets were at work or had yet to start
"""
EXIT_PIPE = 128 + signal.SIGPIPE
"""Exit code where the reader of a command's output has gone away, as after any program that is ended by SIGPIPE."""
VERB_EXIT_CODES = """\
exit codes:
  0  all of it was accepted
  1  some of it was refused; the answer says why
  2  bad usage, or no such batch
"""
LOOK_EXIT_CODES = """\
exit codes:
  0  it was printed
  2  bad usage, or no such batch
"""
_ROUNDS = 10


class BadUsage(SupervisorError):  # noqa: N818
    """The command line makes no sense."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what}: {remedy}" if remedy else what)


def add_command(
    commands: Commands, name: str, what: str, example: str, exit_codes: str = EXIT_CODES
) -> argparse.ArgumentParser:
    """Add a command whose help has an example and its exit codes."""
    raw = argparse.RawDescriptionHelpFormatter
    epilog = f"example:\n  {example}\n\n{exit_codes}"
    return commands.add_parser(name, help=what, description=what, epilog=epilog, formatter_class=raw)


def add_state_dir(parser: argparse.ArgumentParser, what: str = "default: .supervisor beside the file") -> None:
    """Add ``--state-dir``."""
    parser.add_argument("--state-dir", type=Path, metavar="DIR", help=what)


def add_file(parser: argparse.ArgumentParser) -> None:
    """Add the batch's file, by itself or as ``--file``, to a command that needs no other argument."""
    default, what = Path(DEFAULT_FILE), f"the batch; default: {DEFAULT_FILE}"
    parser.add_argument("file", nargs="?", type=Path, default=default, action=_Given, help=what)
    parser.add_argument("--file", type=Path, default=default, help="the same, as other commands take it")


class _Given(argparse.Action):
    """Stores an argument that is there: argparse would let the default of one that is not take an option's place."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        if values is not self.default:
            setattr(namespace, self.dest, values)


def add_batch(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a batch to a command whose arguments are something else, and ``--json``."""
    parser.add_argument("--file", type=Path, default=Path(DEFAULT_FILE), help=f"the batch; default: {DEFAULT_FILE}")
    add_state_dir(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def where(args: argparse.Namespace) -> Path:
    """Return the state directory that was named; a directory that a rehearsal was told to keep stands for its own."""
    named: Path = args.state_dir or args.file.absolute().parent / STATE_DIR
    inner = named / STATE_DIR
    found = inner if not (named / "state.db").exists() and (inner / "state.db").exists() else named
    return found.absolute()


def request(state_dir: Path, what: dict[str, Any], timeout_s: float = 5.0, file: Path | None = None) -> dict[str, Any]:
    """Let the running supervisor answer, or where none runs, answer for it under the batch lock. Raises StoreError.

    Args:
        state_dir: the batch's.
        what: the request.
        timeout_s: how long a running supervisor may take.
        file: the batch's file, for questions about a ticket's past; they are refused without it where none runs.
    """
    for _ in range(_ROUNDS):
        reply = ask(state_dir, what, timeout_s)
        if reply is not None:
            return reply
        try:
            return _alone(state_dir, what, file)
        except LockedError as error:  # somebody was faster: a supervisor, or another command like this one
            locked = error
    raise locked


def _alone(state_dir: Path, what: dict[str, Any], file: Path | None) -> dict[str, Any]:
    import anyio

    from supervisor.engine.looking import Sources
    from supervisor.engine.offline import answer
    from supervisor.engine.process import forget_git_locators

    forget_git_locators()

    def read() -> BatchSpec:
        from supervisor.config import load
        from supervisor.rehearsal.script import faults

        assert file is not None
        return load(file, check_steps=faults)

    sources = None if file is None else Sources(read, homes(state_dir))
    return anyio.run(answer, state_dir, what, sources)


def users_home() -> Path:
    """Return the directory in which Claude Code keeps the sessions of this user."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude").absolute()


def homes(state_dir: Path) -> tuple[Path, ...]:
    """Return the directories in which sessions of a batch may be: its own, a rehearsal's, and the user's."""
    return state_dir / "claude", state_dir.parent / "claude", users_home()


def user() -> str:
    """Return who decides, for the log: the name of the operating system's user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a uid without a name, as in some containers
        return "operator"


class ReaderGone(Exception):  # noqa: N818
    """Whoever read what we print has gone away, as ``head`` does: there is nothing left to do."""


def say(words: str) -> None:
    """Print to standard output. Raises ReaderGone."""
    _print(words, sys.stdout)


def complain(words: str) -> None:
    """Print to standard error. Raises ReaderGone."""
    _print(words, sys.stderr)


def _print(words: str, stream: TextIO) -> None:
    try:
        print(words, file=stream, flush=True)
    except BrokenPipeError:
        raise ReaderGone from None


def flush_or_drop() -> None:
    """Write out what is left of our output; where nobody reads it, let Python's own attempt at the end be silent."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, stream.fileno())
            os.close(sink)


def is_asked(question: str) -> bool:
    """Whether somebody at the terminal says yes. No terminal, no answer and Ctrl-C mean no."""
    return reply_to(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def reply_to(question: str) -> str:
    """Return the line that is typed in answer to a question; empty where nobody answers."""
    if not has_terminal():
        return ""
    print(question, end="", file=sys.stderr, flush=True)  # noqa: T201
    try:
        return sys.stdin.readline().rstrip("\n")
    except KeyboardInterrupt:
        complain("")
        return ""


def has_terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()
