"""Snapshots of a worktree's files, kept by refs of ours; the agent's index, HEAD and branch are not touched.

A snapshot is a commit on top of the worktree's HEAD that holds what is tracked and what is not, but not what is
ignored. It is made by git alone, so it holds what a command of the agent's changed as well as what a tool wrote. Knows
nothing of tickets but an id and a place.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from supervisor.core.changes import LeftOut, Restored, Snapshot, TreeState
from supervisor.core.errors import WorktreeError
from supervisor.engine.git import git, git_config, run_git, slug
from supervisor.engine.own_index import OwnIndex
from supervisor.engine.restoring import set_back

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_FILE_BYTES = 100_000_000
"""Larger files are left out: they would be stored again at every prompt after a change."""

_NAME, _EMAIL = "supervise", "supervise@localhost"
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LEFT_OUT = "Left-out: "
_FORMAT = "%(refname)%00%(objectname)%00%(tree)%00%(committerdate:unix)%00%(contents)%00"
_ENV = git_config({"core.hooksPath": "/dev/null", "commit.gpgSign": "false", "i18n.commitEncoding": "utf-8"})


class Snapshots:
    """The snapshots of one repository's worktrees."""

    def __init__(self, repo: Path, batch: str = "", max_file_bytes: int = MAX_FILE_BYTES) -> None:
        """Keep snapshots in ``repo``.

        Args:
            repo: the repository whose worktrees these are.
            batch: a name that keeps the tickets of several batches in one repository apart; may be empty.
            max_file_bytes: files larger than that are left out.
        """
        self._repo = repo
        self._refs = f"refs/supervisor/{slug(batch)}" if batch else "refs/supervisor"
        self._max = max_file_bytes
        self._worktrees: dict[Path, OwnIndex] = {}
        self._known: Path | None = None
        self._newest: dict[str, int] = {}
        self._seen_to: dict[str, int] = {}

    async def take(self, ticket: str, worktree: Path, message: str) -> Snapshot:
        """Keep the files of ``worktree`` as they are now, and say what could not be kept.

        Raises WorktreeError when it is no worktree of the repository, or git fails.
        """
        own = await self._own(worktree)
        async with own.lock:
            state = await own.read()
            at = int(time.time())
            commit = await _commit(own, state, message, at)
            ref = await self._keep(ticket, commit)
        return Snapshot(commit, ref, state.tree, _subject(message), float(at), state.left_out)

    async def current(self, worktree: Path) -> TreeState:
        """Return the files of ``worktree`` as they are now, as a tree that no ref keeps; to be compared with."""
        own = await self._own(worktree)
        async with own.lock:
            return await own.read()

    async def restore(self, ticket: str, worktree: Path, commit: str) -> Restored:
        """Set the files of ``worktree`` back to a snapshot of the ticket's. Take one before, to be able to undo it.

        Ignored files, HEAD and the branch stay. Raises WorktreeError, with no file touched, when the ticket has no such
        snapshot, it is no worktree of the repository, or git fails.
        """
        found = next((one for one in await self.list(ticket) if one.commit == commit), None)
        if found is None:
            raise WorktreeError(f"{ticket} has no snapshot {commit[:12]}", "choose one of its own")
        return await self._set_back(worktree, found)

    async def seed(self, worktree: Path, commit: str) -> Restored:
        """Lay the files of any snapshot, or of any commit, over a worktree, like ``restore``."""
        if not await self.exists(commit):
            raise WorktreeError(f"there is no snapshot {commit[:12]}", "it may have been removed by hand")
        about = await git(self._repo, "log", "-1", "--format=%T%x00%ct%x00%B", "--no-show-signature", commit, env=_ENV)
        tree, at, contents = about.split("\0", 2)
        return await self._set_back(worktree, _snapshot("", commit, tree, at, contents))

    async def list(self, ticket: str) -> tuple[Snapshot, ...]:
        """Return the ticket's snapshots, oldest first."""
        told = await git(self._repo, "for-each-ref", f"--format={_FORMAT}", f"{self._of(ticket)}/", env=_ENV)
        fields = told.split("\0")
        found = [_snapshot(*fields[i : i + 5]) for i in range(0, len(fields) - 4, 5)]
        return tuple(sorted(found, key=lambda one: _number(one.ref)))

    async def drop(self, ticket: str, chosen: Sequence[Snapshot] | None = None) -> None:
        """Forget some of the ticket's snapshots, or all; git removes what they alone held when it next cleans up.

        Raises WorktreeError; all of them are kept then.
        """
        found = await self.list(ticket) if chosen is None else chosen
        gone = "".join(f"delete {one.ref} {one.commit}\n" for one in found)
        if gone:
            (await run_git(self._repo, "update-ref", "--stdin", env=_ENV, feed=gone.encode())).checked()
        self._seen_to[ticket] = 0 if chosen is None else self._newest.get(ticket, 0)
        if chosen is None:
            self._newest.pop(ticket, None)

    def taken(self, ticket: str) -> int:
        """Return how many snapshots of a ticket may have been taken since ``drop`` last saw to it.

        After a start those from before are counted too, once the first one was taken.
        """
        return self._newest.get(ticket, 0) - self._seen_to.get(ticket, 0)

    async def adopt(self, ticket: str, commit: str) -> str:
        """Let a ticket keep another one's snapshot too, whatever becomes of that one, and return its ref."""
        return await self._keep(ticket, commit)

    async def exists(self, commit: str) -> bool:
        """Return whether the repository still holds a commit of that full id."""
        if not _ID.fullmatch(commit):
            return False
        return (await run_git(self._repo, "cat-file", "-e", f"{commit}^{{commit}}", env=_ENV)).code == 0

    async def _set_back(self, worktree: Path, target: Snapshot) -> Restored:
        own = await self._own(worktree)
        async with own.lock:
            return await set_back(own, target)

    async def _own(self, worktree: Path) -> OwnIndex:
        """Return our index of a worktree, having made sure that it still is one of the repository's."""
        if self._known is None:
            told = await git(self._repo, "rev-parse", "--path-format=absolute", "--git-common-dir")
            self._known = Path(told).resolve() / "worktrees"
        git_dir = await anyio.to_thread.run_sync(_git_dir, worktree, self._known)
        own = self._worktrees.get(worktree)
        if own is None or own.git_dir != git_dir:
            own = self._worktrees[worktree] = OwnIndex(worktree, git_dir, self._max)
        return own

    async def _keep(self, ticket: str, commit: str) -> str:
        """Put the next ref of the ticket's on a commit."""
        while True:
            counted = ticket not in self._newest
            if counted:
                newest = max((_number(one.ref) for one in await self.list(ticket)), default=0)
                self._newest.setdefault(ticket, newest)
            self._newest[ticket] += 1
            ref = f"{self._of(ticket)}/{self._newest[ticket]}"
            done = await run_git(self._repo, "update-ref", ref, commit, "", env=_ENV)  # none of that name may exist
            if done.code == 0:
                return ref
            del self._newest[ticket]
            if counted:
                done.checked()

    def _of(self, ticket: str) -> str:
        return f"{self._refs}/{slug(ticket)}"


def _git_dir(worktree: Path, known: Path) -> Path:
    """Return a worktree's own git directory, by the file that names it. The agent can write to that file."""
    try:
        said = (worktree / ".git").read_text(errors="surrogateescape")
        git_dir = (worktree / said.removeprefix("gitdir: ").rstrip("\n")).resolve()
        back = git_dir / (git_dir / "gitdir").read_text(errors="surrogateescape").rstrip("\n")
        if said.startswith("gitdir: ") and git_dir.parent == known and back.resolve() == (worktree / ".git").resolve():
            return git_dir
    except (OSError, ValueError):
        pass
    raise WorktreeError(f"{worktree} is no worktree of this repository", "see who removed or replaced it")


async def _commit(own: OwnIndex, state: TreeState, message: str, at: int) -> str:
    who = {"NAME": _NAME, "EMAIL": _EMAIL, "DATE": f"{at} +0000"}
    env = {**_ENV, **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}}
    left_out = json.dumps([[one.path, one.reason] for one in state.left_out])
    words = ("commit-tree", state.tree, "-F", "-")
    text = f"{_subject(message)}\n\n{_LEFT_OUT}{left_out}\n".encode(errors="replace")
    done = await own.run(*words, "-p", "HEAD", feed=text, env=env)
    if done.code and (await own.run("rev-parse", "--verify", "-q", "HEAD")).code:
        done = await own.run(*words, feed=text, env=env)
    return done.checked().out.decode().strip()


def _subject(message: str) -> str:
    """Return the message as one line."""
    return " ".join(message.replace("\0", " ").split()) or "snapshot"


def _snapshot(ref: str, commit: str, tree: str, at: str, contents: str) -> Snapshot:
    subject, _, rest = contents.partition("\n")
    last = rest.strip().rpartition("\n")[2]
    left_out: tuple[LeftOut, ...] = ()
    if last.startswith(_LEFT_OUT):
        try:
            left_out = tuple(
                LeftOut(str(path), str(reason)) for path, reason in json.loads(last.removeprefix(_LEFT_OUT))
            )
        except (TypeError, ValueError):
            left_out = ()
    return Snapshot(commit, ref.strip(), tree, subject, float(at), left_out)


def _number(ref: str) -> int:
    last = ref.rpartition("/")[2]
    return int(last) if last.isdecimal() else 0
