"""What a batch needs on this machine, checked before anything is created or started."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.core.errors import PreflightError, WorktreeError
from supervisor.engine.git import branch_of, commits, git, named_commit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.core.spec import BatchSpec

KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
CLOUD_VARIABLES = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


async def check_repository(repo: Path) -> None:
    """Raise PreflightError unless git is there and ``repo`` is in a repository with at least one commit."""
    if shutil.which("git") is None:
        raise PreflightError("git is not installed", "install git and try again")
    if not repo.is_dir() or not await git(repo, "rev-parse", "--git-dir", check=False):
        raise PreflightError(f"{repo} is not a git repository", "run `git init` there and commit your files")
    if not await git(repo, "rev-parse", "--verify", "-q", "HEAD", check=False):
        raise PreflightError(f"{repo} has no commits", "commit your files: worktrees start from a commit")


async def check_places(spec: BatchSpec) -> None:
    """Raise PreflightError, a line for each fault, for a repository or a base that is not there.

    A base may be the branch of another ticket of the batch, which need not exist yet.
    """
    await check_repository(spec.repo)
    wanted = dict.fromkeys([spec.base, *(t.base for t in spec.tickets if t.base is not None)])
    to_come = {branch_of(spec.name, t.id) for t in spec.tickets}
    faults = []
    for base, commit in zip(wanted, await commits(spec.repo, *wanted), strict=True):
        if base.removeprefix("refs/heads/") in to_come:
            continue
        try:
            named_commit(base, commit)
        except WorktreeError as error:
            users = [t.id for t in spec.tickets if t.base == base]
            faults.append(f"{', '.join(users)}: {error}" if users and base != spec.base else str(error))
    if faults:
        raise PreflightError("\n".join(faults))


def find_cli() -> Path:
    """Return the Claude Code CLI: the one bundled with the SDK, else the one on PATH. Raises PreflightError."""
    package = importlib.util.find_spec("claude_agent_sdk")
    if package is not None and package.origin:
        bundled = Path(package.origin).parent / "_bundled" / "claude"
        if bundled.is_file():
            return bundled
    found = shutil.which("claude")
    if found is None:
        raise PreflightError(
            "the Claude Code CLI is missing", "reinstall claude-agent-sdk, or put `claude` on your PATH"
        )
    return Path(found)


def check_root(spec: BatchSpec, env: Mapping[str, str]) -> None:
    """Raise PreflightError for permissions that the CLI refuses to root."""
    bold = next((t.id for t in spec.tickets if t.permission_mode == "bypassPermissions"), None)
    if bold and os.geteuid() == 0 and not env.get("IS_SANDBOX"):
        raise PreflightError(
            f"ticket {bold}: the CLI refuses bypassPermissions to root",
            "run as another user, or set IS_SANDBOX=1 inside a sandbox",
        )


def claude_home(spec: BatchSpec, state_dir: Path, env: Mapping[str, str]) -> Path:
    """Return the configuration directory that agents use, and with it where the login comes from.

    Raises PreflightError when nothing there can log in.
    """
    has_key = any(env.get(name) for name in (*KEY_VARIABLES, *CLOUD_VARIABLES))
    users = Path(env.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    if spec.claude_home == "own" or (spec.claude_home == "auto" and has_key):
        if not has_key:
            raise PreflightError("no API key in the environment", _NO_KEY)
        return state_dir / "claude"
    if not has_key and not (users / ".credentials.json").exists() and not _has_keychain():
        raise PreflightError("no API key in the environment and no login", _NO_KEY)
    return users


_NO_KEY = (
    "set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN, or log in with `claude`; `supervise rehearse` needs neither"
)


def _has_keychain() -> bool:
    """On macOS the login is in the keychain, where we cannot look without asking the person."""
    return os.uname().sysname == "Darwin"
