"""A git worktree and a branch for each ticket, in the state directory.

git's own locks are met by doing one worktree operation at a time. Nothing of the operator's is ever deleted or reused:
a directory or branch that is not ours is a clear error on that ticket.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from supervisor.core.errors import WorktreeError
from supervisor.engine.process import end_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.abc import ByteReceiveStream, Process

_GIT_ENV = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
_MAX_SLUG = 60


@dataclass(frozen=True, slots=True)
class Worktree:
    """A ticket's own working tree."""

    path: Path
    branch: str
    base_commit: str
    created: bool
    """Made just now: its files are copied and its setup runs."""


def slug(name: str) -> str:
    """Return a name that is safe as a file name and as a part of a branch name, and differs for differing names.

    git refuses ``~ ^ : ? * [ \\``, ``..``, ``@{``, a leading or trailing dot and ``.lock``; file systems have their own
    ideas about case, length and Unicode. Whatever had to be changed is told apart by a short hash.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
    safe = re.sub(r"\.{2,}", "-", safe).strip("-.")[:_MAX_SLUG].rstrip("-.")
    safe = re.sub(r"\.lock$", "-lock", safe, flags=re.IGNORECASE)
    if safe and safe == name:
        return safe
    return f"{safe or 'ticket'}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


GIT_DEADLINE_S = 600.0
"""A checkout of a large repository takes minutes; a hook that waits for a person takes for ever."""


async def git(cwd: Path, *args: str, check: bool = True) -> str:
    """Run git and return what it printed, without the last newline. Raises WorktreeError with git's own words.

    A cancelled or overdue git is ended with everything it started.
    """
    env = {**os.environ, **_GIT_ENV}
    try:
        with anyio.CancelScope(shield=True):  # a start that is cut short leaves a git that nobody knows of
            process = await anyio.open_process(
                ["git", *args], cwd=cwd, stdin=subprocess.DEVNULL, env=env, start_new_session=True
            )
    except FileNotFoundError:
        raise WorktreeError("git is not installed", "install git and try again") from None
    try:
        with anyio.fail_after(GIT_DEADLINE_S):
            out, err = await _output_of(process)
    except TimeoutError:
        raise WorktreeError(f"git {args[0]} did not end in {GIT_DEADLINE_S:.0f} s", "look at its hooks") from None
    finally:
        if process.returncode is None:
            end_group(process.pid)
        with anyio.CancelScope(shield=True):
            await process.aclose()
    if check and process.returncode:
        words = err.decode(errors="replace").strip() or f"exit {process.returncode}"
        raise WorktreeError(f"git {args[0]}: {words}", "see the message of git")
    return out.decode(errors="replace").rstrip("\n")


async def _output_of(process: Process) -> tuple[bytes, bytes]:
    async def drain(source: ByteReceiveStream | None, into: bytearray) -> None:
        if source is not None:
            async for chunk in source:
                into += chunk

    out, err = bytearray(), bytearray()
    async with anyio.create_task_group() as group:
        group.start_soon(drain, process.stdout, out)
        group.start_soon(drain, process.stderr, err)
    await process.wait()
    return bytes(out), bytes(err)


class Worktrees:
    """The worktrees of one batch."""

    def __init__(self, repo: Path, home: Path, batch: str) -> None:
        self._repo = repo
        self._home = home
        self._batch = slug(batch)
        self._lock = anyio.Lock()

    def path(self, ticket: str) -> Path:
        """Return where the ticket's worktree is or will be."""
        return self._home / slug(ticket)

    def branch(self, ticket: str) -> str:
        """Return the name of the ticket's branch."""
        return f"supervise/{self._batch}/{slug(ticket)}"

    async def ensure(self, ticket: str, base: str, known_base: str | None, copy: Sequence[str] = ()) -> Worktree:
        """Return the ticket's worktree, making it from ``base`` if there is none.

        Args:
            ticket: the ticket's id.
            base: branch, tag or commit a new branch starts from.
            known_base: the commit it started from when it was made, if that was recorded.
            copy: paths relative to the repository, copied into a new worktree.

        Raises WorktreeError when the place or the branch is taken by something that is not ours, or git fails.
        """
        async with self._lock:
            found = await self._find(ticket, known_base or base)
            if found is not None:
                return found
            return await self._make(ticket, base, known_base, copy)

    async def _find(self, ticket: str, base: str) -> Worktree | None:
        path, branch = self.path(ticket), self.branch(ticket)
        if not path.exists():
            return None
        top = await git(path, "rev-parse", "--show-toplevel", check=False) if path.is_dir() else ""
        ours = await git(self._repo, "rev-parse", "--path-format=absolute", "--git-common-dir")
        theirs = await git(path, "rev-parse", "--path-format=absolute", "--git-common-dir", check=False) if top else ""
        if not top or Path(top).resolve() != path.resolve() or theirs != ours:
            raise WorktreeError(
                f"{path} exists and is not a worktree of this repository", "move it away, then resume the ticket"
            )
        head = await git(path, "symbolic-ref", "--short", "-q", "HEAD", check=False)
        if head != branch:
            raise WorktreeError(
                f"{path} is on {head or 'a detached commit'} instead of {branch}",
                f"run `git switch {branch}` there, or move it away, then resume the ticket",
            )
        return Worktree(path, branch, await self._start_of(path, base), created=False)

    async def _make(self, ticket: str, base: str, known_base: str | None, copy: Sequence[str]) -> Worktree:
        """Make the worktree under another name and move it into place once it is whole.

        So a worktree that stands in its place is complete, whenever we were killed.
        """
        path, branch = self.path(ticket), self.branch(ticket)
        draft = path.with_name(f".new-{path.name}")
        await self._discard_draft(draft)
        await self._forget(path)
        exists = await git(self._repo, "rev-parse", "--verify", "-q", f"refs/heads/{branch}", check=False)
        where = [str(draft), branch] if exists else ["-b", branch, str(draft), await self._commit(base)]
        try:
            await git(self._repo, "worktree", "add", "--quiet", *where)
            await anyio.to_thread.run_sync(_copy_all, self._repo, draft, tuple(copy))
            await git(self._repo, "worktree", "move", str(draft), str(path))
        except WorktreeError as error:
            await self._discard_draft(draft)
            if not exists:
                await git(self._repo, "branch", "-D", branch, check=False)
            raise WorktreeError(f"no worktree for {ticket}: {error.message}", error.remedy) from None
        return Worktree(path, branch, await self._start_of(path, known_base or base), created=True)

    async def _forget(self, path: Path, *force: str) -> None:
        """Take back git's record of a worktree of ours whose directory was deleted; nobody else's is touched."""
        listed = await git(self._repo, "worktree", "list", "--porcelain")
        recorded = path.parent.resolve() / path.name  # git follows links before it notes a path
        if f"worktree {recorded}" in listed.splitlines() and not path.exists():
            await git(self._repo, "worktree", "remove", "--force", *force, str(recorded), check=not force)

    async def _discard_draft(self, draft: Path) -> None:
        """Remove what an interrupted start left: no agent has ever worked in it.

        git keeps its record locked while it fills the directory, and one that was killed then leaves it so.
        """
        self._home.mkdir(parents=True, exist_ok=True)
        await anyio.to_thread.run_sync(lambda: shutil.rmtree(draft, ignore_errors=True))
        await self._forget(draft, "--force")

    async def _commit(self, base: str) -> str:
        found = await git(self._repo, "rev-parse", "--verify", "-q", f"{base}^{{commit}}", check=False)
        if not found:
            raise WorktreeError(f"base {base!r} names no commit", "name a branch, tag or commit of the repository")
        return found

    async def _start_of(self, path: Path, base: str) -> str:
        """Return the commit the work started from: a base branch may have moved on since."""
        commit = await git(self._repo, "rev-parse", "--verify", "-q", f"{base}^{{commit}}", check=False)
        shared = await git(path, "merge-base", "HEAD", commit, check=False) if commit else ""
        return shared or await git(path, "rev-parse", "HEAD")


def _copy_all(repo: Path, target: Path, names: tuple[str, ...]) -> None:
    """Copy files that git does not carry. What the worktree already has is kept."""
    for pattern in names:
        matches = [repo / pattern] if (repo / pattern).exists() else sorted(repo.glob(pattern))
        if not matches:
            raise WorktreeError(f"copy: nothing matches {pattern!r} in {repo}", "correct `copy` or add the file")
        for source in matches:
            _copy(source, target / source.relative_to(repo))


def _copy(source: Path, target: Path) -> None:
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(".git", ".supervisor"))
    else:
        shutil.copy2(source, target, follow_symlinks=False)
