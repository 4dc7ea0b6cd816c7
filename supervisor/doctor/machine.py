"""What a batch needs of this machine: programs and their versions, and where the login comes from."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from supervisor import __version__
from supervisor.core.errors import PreflightError
from supervisor.doctor.findings import Finding, fault, listed, ok, warn
from supervisor.preflight import CLOUD_VARIABLES, claude_home, find_cli
from supervisor.store.checkup import SQLITE_VERSION, has_reset_bug

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from supervisor.core.spec import BatchSpec

_ASK_S = 20.0
"""How long a program may take to tell its version."""
_IN_FORCE = (*CLOUD_VARIABLES, "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN")
"""Where Claude Code takes its login from, the first one that is set; then from the user's own login."""


def programs() -> Iterator[Finding]:
    """Look at Python, the SDK, the CLI, SQLite and git."""
    yield ok("supervise", __version__)
    yield ok("python", f"{platform.python_version()} on {platform.system()} {platform.release()}")
    yield _sqlite()
    try:
        yield ok("sdk", f"claude-agent-sdk {version('claude-agent-sdk')}")
    except PackageNotFoundError:
        yield fault("sdk", "claude-agent-sdk is not installed", "install supervise again")
    yield _cli()
    yield _git()


def _sqlite() -> Finding:
    if has_reset_bug():
        return warn("sqlite", f"{SQLITE_VERSION} has a bug that may damage a database", "use SQLite 3.51.3 or newer")
    return ok("sqlite", SQLITE_VERSION)


def _cli() -> Finding:
    try:
        path = find_cli()
    except PreflightError as error:
        return fault("claude", error.message, error.remedy)
    bundled = "the SDK's own" if path.parent.name == "_bundled" else "found on PATH"
    said = _version_of(str(path))
    if said is None:
        return fault("claude", f"{path} does not start", "install claude-agent-sdk again, or another Claude Code")
    return ok("claude", f"{said}, {bundled}: {path}")


def _git() -> Finding:
    if shutil.which("git") is None:
        return fault("git", "git is not installed", "install git")
    said = _version_of("git")
    return ok("git", said.removeprefix("git version ")) if said else fault("git", "git does not start", "install git")


def _version_of(program: str) -> str | None:
    """Return the first line that a program says when it is asked for its version; None where it does not start."""
    try:
        done = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace").strip().split("\n", 1)[0] or None


def login(spec: BatchSpec, state_dir: Path, env: Mapping[str, str]) -> Iterator[Finding]:
    """Look at where agents get their login and keep their sessions. Names of variables only."""
    present = [name for name in _IN_FORCE if env.get(name)]
    yield _key(present)
    if env.get("ANTHROPIC_BASE_URL"):
        words = "ANTHROPIC_BASE_URL is set: agents send what they read to that host"
        yield warn("api", words, "unset it unless it is meant")
    try:
        home = claude_home(spec, state_dir, env)
    except PreflightError as error:
        yield fault("sessions", error.message, error.remedy)
        return
    whose = "the batch's own" if home.is_relative_to(state_dir) else "the user's, with their login"
    yield ok("sessions", f"{home} ({whose})")


def _key(present: list[str]) -> Finding:
    if not present:
        return ok("key", "none in the environment; the user's login is used where there is one")
    first, *others = present
    if others:
        words = f"{first} is in force, and {listed(others)} would be without it; all agents inherit all of them"
        return warn("key", words, f"unset what is not meant; {first} goes before the others")
    if first == "ANTHROPIC_AUTH_TOKEN":
        return warn("key", f"{first} is in force, which is meant for gateways", "unset it unless it is meant")
    return ok("key", f"{first} is in force")


def user(env: Mapping[str, str]) -> Finding:
    """Look at who we are."""
    if os.geteuid() != 0:
        return ok("user", f"uid {os.geteuid()}")
    where = " in a sandbox (IS_SANDBOX)" if env.get("IS_SANDBOX") else ""
    return warn("user", f"root{where}: agents may change everything here", "run as another user")
