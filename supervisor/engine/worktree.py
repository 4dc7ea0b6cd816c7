"""A git worktree and a branch for each ticket, in the state directory.

git's own locks are met by doing one worktree operation at a time. Nothing of the operator's is ever deleted or reused:
a directory or branch that is not ours is a clear error on that ticket.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from supervisor.core.errors import WorktreeError
from supervisor.engine.git import branch_of, commits, git, named_commit, slug

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence


@dataclass(frozen=True, slots=True)
class Worktree:
    """A ticket's own working tree."""

    path: Path
    branch: str
    base_commit: str
    created: bool
    """Made just now: its files are copied and its setup runs."""
    branched: bool = False
    """Its branch too was made just now: nobody has ever worked on it."""


class Worktrees:
    """The worktrees of one batch."""

    def __init__(self, repo: Path, home: Path, batch: str) -> None:
        self._repo = repo
        self._home = home
        self._batch = batch
        self._lock = anyio.Lock()
        self._shared: str | None = None
        """The repository's own git directory, once it was asked for."""

    def path(self, ticket: str) -> Path:
        """Return where the ticket's worktree is or will be."""
        return self._home / slug(ticket)

    def branch(self, ticket: str) -> str:
        """Return the name of the ticket's branch."""
        return branch_of(self._batch, ticket)

    async def is_free(self, ticket: str) -> bool:
        """Return whether nothing stands where the ticket's worktree and branch would be. Raises WorktreeError."""
        ref = f"refs/heads/{self.branch(ticket)}"
        return not self.path(ticket).exists() and not await git(
            self._repo, "rev-parse", "--verify", "-q", ref, check=False
        )

    async def ensure(
        self,
        ticket: str,
        base: str,
        known_base: str | None,
        copy: Sequence[str] = (),
        seed: Callable[[Path], Awaitable[object]] | None = None,
        onto: str | None = None,
    ) -> Worktree:
        """Return the ticket's worktree, making it from ``base`` if there is none.

        Args:
            ticket: the ticket's id.
            base: branch, tag or commit a new branch starts from.
            known_base: the commit it started from when it was made, if that was recorded.
            copy: paths relative to the repository, copied into a new worktree.
            seed: lays other files over a new worktree, unless its branch has gone on.
            onto: the commit from which it must not have gone on for that; None for ``base``.

        Raises WorktreeError when the place or the branch is taken by something that is not ours, or git fails.
        """
        async with self._lock:
            found = await self._find(ticket, known_base or base)
            if found is not None:
                return found
            return await self._make(ticket, base, known_base, copy, seed, onto or base)

    async def begin_anew(self, ticket: str, base_commit: str) -> None:
        """Put the ticket's branch, HEAD and index back on the commit it began from; no file is touched.

        Take a snapshot before: it keeps what HEAD holds. The branch's own commits are kept by a ref where the worktree
        was on something else. Raises WorktreeError when another worktree is on the branch, or git fails.
        """
        async with self._lock:
            path, ref = self.path(ticket), f"refs/heads/{self.branch(ticket)}"
            await self._unlock(self.branch(ticket))
            if await git(path, "symbolic-ref", "-q", "HEAD", check=False) != ref:
                await self._back_to_branch(path, ref, base_commit)
            await git(path, "-c", "core.hooksPath=/dev/null", "reset", "--quiet", "--mixed", base_commit)

    async def _back_to_branch(self, path: Path, ref: str, base_commit: str) -> None:
        listed = (await git(self._repo, "worktree", "list", "--porcelain")).split("\n\n")
        other = next((about.splitlines()[0] for about in listed if f"branch {ref}" in about.splitlines()), None)
        if other is not None:
            raise WorktreeError(f"{other} is on {ref}", "switch it to another branch, then start over")
        tip = await git(self._repo, "rev-parse", "--verify", "-q", ref, check=False)
        if tip:
            await git(self._repo, "update-ref", f"refs/supervisor-kept/{tip}", tip)
        for command in ("rebase", "am"):
            await git(path, command, "--quit", check=False)
        await git(self._repo, "update-ref", ref, tip or base_commit)
        await git(path, "symbolic-ref", "HEAD", ref)

    async def copy(self, ticket: str, names: Sequence[str]) -> None:
        """Copy files that git does not carry into a worktree that lacks them. Raises WorktreeError."""
        await anyio.to_thread.run_sync(_copy_all, self._repo, self.path(ticket), tuple(names))

    async def _find(self, ticket: str, base: str) -> Worktree | None:
        path, branch = self.path(ticket), self.branch(ticket)
        if not path.exists():
            return None
        asked = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
        told = await git(path, *asked, check=False) if path.is_dir() else ""
        top = told.removesuffix(f"\n{await self._git_dir()}")
        if top == told or Path(top).resolve() != path.resolve():
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

    async def _make(
        self,
        ticket: str,
        base: str,
        known_base: str | None,
        copy: Sequence[str],
        seed: Callable[[Path], Awaitable[object]] | None,
        onto: str,
    ) -> Worktree:
        """Make the worktree under another name and move it into place once it is whole.

        So a worktree that stands in its place is complete, whenever we were killed.
        """
        path, branch = self.path(ticket), self.branch(ticket)
        draft = path.with_name(f".new-{path.name}")
        await self._discard_draft(draft, path)
        await self._unlock(branch)
        exists, start = await commits(self._repo, f"refs/heads/{branch}", base)
        where = [str(draft), branch] if exists else ["-b", branch, str(draft), named_commit(base, start)]
        try:
            await git(self._repo, "worktree", "add", "--quiet", *where, dies_with_us=True)
            if seed is not None and await git(draft, "rev-parse", "HEAD") == await self._commit(onto):
                await seed(draft)
            await anyio.to_thread.run_sync(_copy_all, self._repo, draft, tuple(copy))
            await git(self._repo, "worktree", "move", str(draft), str(path))
        except WorktreeError as error:
            await self._discard_draft(draft)
            if not exists:
                await git(self._repo, "branch", "-D", branch, check=False)
            raise WorktreeError(f"no worktree for {ticket}: {error.message}", error.remedy) from None
        begun = start if not exists and known_base is None else await self._start_of(path, known_base or base)
        return Worktree(path, branch, begun, created=True, branched=not exists)

    async def _forget(self, path: Path, listed: str, *force: str) -> None:
        """Take back git's record of a worktree of ours whose directory was deleted; nobody else's is touched."""
        recorded = path.parent.resolve() / path.name  # git follows links before it notes a path
        if f"worktree {recorded}" in listed.splitlines() and not path.exists():
            await git(self._repo, "worktree", "remove", "--force", *force, str(recorded), check=not force)

    async def _unlock(self, branch: str) -> None:
        """Remove the lock of a ticket's branch. No agent is on it now, so it is of a git that was killed.

        git locks a branch for milliseconds and takes its lock along when it is asked to end. One that is killed leaves
        it, and every later git refuses.
        """
        lock = Path(await self._git_dir(), "refs", "heads", f"{branch}.lock")
        await anyio.to_thread.run_sync(lambda: lock.unlink(missing_ok=True))

    async def _git_dir(self) -> str:
        if self._shared is None:
            self._shared = await git(self._repo, "rev-parse", "--path-format=absolute", "--git-common-dir")
        return self._shared

    async def _discard_draft(self, draft: Path, path: Path | None = None) -> None:
        """Remove what an interrupted start left, in which no agent has ever worked, and the record of a lost ``path``.

        git keeps its record locked while it fills the directory, and one that was killed then leaves it so.
        """
        self._home.mkdir(parents=True, exist_ok=True)
        await anyio.to_thread.run_sync(lambda: shutil.rmtree(draft, ignore_errors=True))
        listed = await git(self._repo, "worktree", "list", "--porcelain")
        await self._forget(draft, listed, "--force")
        if path is not None:
            await self._forget(path, listed)

    async def _commit(self, name: str) -> str:
        """Return the commit that a name stands for. Raises WorktreeError where it names none."""
        return named_commit(name, *await commits(self._repo, name))

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
