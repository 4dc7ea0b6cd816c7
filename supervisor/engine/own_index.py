"""An index file of our own for one worktree: it reads the files into git without the agent's index, HEAD or branch.

It lies beside the agent's index in the worktree's git directory and goes away with it. It begins as a copy of that
one, so that git knows which files it need not read again, and is copied anew when the agent's has changed: what the
agent tracks is in it, whatever the ignore rules say. Nobody but us locks it, so a lock we find was left by a death.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from typing import TYPE_CHECKING, NamedTuple

import anyio

from supervisor.core.changes import LeftOut, TreeState
from supervisor.core.errors import WorktreeError
from supervisor.engine.git import GitOutput, git_config, run_git

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

_NAME = "supervise.index"
_CONFIG = {
    "core.hooksPath": "/dev/null",  # two hooks would run: reference-transaction and post-index-change
    "core.fsmonitor": "false",  # may name a program
    "core.safecrlf": "false",  # makes a warning about line ends fatal
    "core.splitIndex": "false",
    "core.trustctime": "true",
}
_PATHSPECS = {
    "GIT_LITERAL_PATHSPECS": "0",
    "GIT_GLOB_PATHSPECS": "0",
    "GIT_NOGLOB_PATHSPECS": "0",
    "GIT_ICASE_PATHSPECS": "0",
}
_CLOSED_DIRECTORY = re.compile(rb"^warning: could not open directory '(.+/)': ", re.MULTILINE)
_MAX_REFUSED = 20
"""Single files that git may give up over before the fault must lie elsewhere, such as a full disk."""

NESTED = "a repository of its own"
UNREADABLE = "cannot be read"


class _Entry(NamedTuple):
    """One path that an index holds."""

    tag: str
    """S for a file that is not to be there, another letter for others; in lower case if it is taken for unchanged."""
    mode: str
    """Six octal digits."""
    path: bytes


class OwnIndex:
    """The files of one worktree, read and written through an index of our own. One task at a time, under ``lock``."""

    def __init__(self, worktree: Path, git_dir: Path, max_file_bytes: int) -> None:
        self.root = worktree
        self.git_dir = git_dir
        self.lock = anyio.Lock()
        self._max = max_file_bytes
        self._file = git_dir / _NAME
        self._made_from: object = None
        self._links: tuple[bytes, ...] = ()
        self._sparse: tuple[str, ...] = ()
        self._tree: str | None = None
        place = {"GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(worktree)}
        self._theirs = {**place, **_PATHSPECS, **git_config(_CONFIG)}
        self._ours = {**self._theirs, "GIT_INDEX_FILE": str(self._file)}

    async def run(
        self, *args: str, feed: bytes | None = None, theirs: bool = False, env: Mapping[str, str] | None = None
    ) -> GitOutput:
        """Run git in the worktree, on our index or on the agent's."""
        return await run_git(
            self.root, *args, env={**(self._theirs if theirs else self._ours), **(env or {})}, feed=feed
        )

    async def line(self, *args: str, feed: bytes | None = None) -> str:
        """Run git on our index and return the line it printed. Raises WorktreeError if it failed."""
        return (await self.run(*args, feed=feed)).checked().out.decode(errors="replace").rstrip("\n")

    async def read(self) -> TreeState:
        """Put all files into git as they are, those apart that it cannot or should not hold, and return the tree.

        Raises WorktreeError when git fails on our index, on a fresh copy of the agent's and on one with HEAD's files.
        """
        fault = WorktreeError(f"the files of {self.root} cannot be read")
        for ready in (self._keep, self._copy, self._rebuild):
            try:
                if await ready():
                    return await self._read()
            except WorktreeError as error:
                fault, self._made_from = error, None
        raise fault

    async def load(self, tree: str) -> None:
        """Make our index hold ``tree``; no file is touched. What is known of unchanged files is kept."""
        self._tree = None
        (await self.run("read-tree", "--reset", tree)).checked()

    async def others(self) -> frozenset[bytes]:
        """Return the files that our index does not hold and no ignore rule names."""
        done = (await self.run("ls-files", "-z", "-o", "--exclude-standard")).checked()
        return frozenset(done.out.split(b"\0"))

    async def differing(self) -> tuple[frozenset[bytes], tuple[LeftOut, ...]]:
        """Return the paths where the files differ from our index, and what git cannot hold.

        A path that ends with / is a repository that is not tracked.
        """
        done = (await self.run("ls-files", "-z", "-t", "-m", "-d", "-o", "--exclude-standard")).checked()
        return await anyio.to_thread.run_sync(self._sort_out, done)

    async def in_parts(
        self, paths: list[bytes], act: Callable[[list[bytes]], Awaitable[GitOutput]]
    ) -> dict[bytes, str]:
        """Do something with many paths, and where git gives up as a whole, find the paths it gives up over.

        Returns those, with git's words. Raises WorktreeError if there are so many that the fault lies elsewhere.
        """
        refused: dict[bytes, str] = {}
        todo = [paths] if paths else []
        while todo:
            part = todo.pop()
            done = await act(part)
            if done.code in (0, 1):
                continue
            if len(part) > 1:
                todo += [part[len(part) // 2 :], part[: len(part) // 2]]
                continue
            refused[part[0]] = done.err.decode(errors="replace").strip().rpartition("\n")[2] or f"exit {done.code}"
            if len(refused) > _MAX_REFUSED:
                done.checked()
        return refused

    async def _read(self) -> TreeState:
        found, left_out = await self.differing()
        left = {os.fsencode(one.path): one.reason for one in left_out}
        changed = [path for path in found if path not in left]
        if changed:
            self._tree = None
            left |= await self._add(changed, left)
        if self._tree is None:
            self._tree = await self.line("write-tree")
        return TreeState(self._tree, report(left))

    async def _add(self, changed: list[bytes], left: Mapping[bytes, str]) -> dict[bytes, str]:
        """Add what changed; return the paths that git could not read."""
        known = {link + b"/" for link in self._links}  # their commits are noted
        done = await self._add_paths([b".", *(b":(exclude,literal)" + path for path in left if path not in known)])
        if done.code == 0:
            return {}
        refused: dict[bytes, str] = {}
        if done.code != 1:
            refused = await self.in_parts(changed, lambda part: self._add_paths([b":(literal)" + p for p in part]))
        still, _ = await self.differing()
        return {path: refused.get(path, UNREADABLE) for path in still if path not in left}

    async def _add_paths(self, specs: list[bytes]) -> GitOutput:
        words = ("add", "-A", "--ignore-errors", *self._sparse, "--pathspec-from-file=-", "--pathspec-file-nul")
        return await self.run(*words, feed=b"".join(spec + b"\0" for spec in specs))

    def _sort_out(self, listed: GitOutput) -> tuple[frozenset[bytes], tuple[LeftOut, ...]]:
        found = frozenset(line[2:] for line in listed.out.split(b"\0")[:-1])  # behind a letter and a blank
        left = dict.fromkeys(_CLOSED_DIRECTORY.findall(listed.err), UNREADABLE)
        left |= {path: why for path in found if (why := self._why_not(path))}
        left |= {link + b"/": NESTED for link in self._links if os.path.lexists(self._at(link) / ".git")}
        return found, report(left)

    def _why_not(self, path: bytes) -> str | None:
        """Return why git should not be given a file."""
        if path.endswith(b"/"):
            return NESTED
        try:
            info = self._at(path).lstat()
        except PermissionError:
            return UNREADABLE
        except OSError:
            return None
        large = stat.S_ISREG(info.st_mode) and info.st_size > self._max
        return f"larger than {self._max / 1e6:g} MB" if large else None

    async def _keep(self) -> bool:
        """Go on with our index if it was made from the agent's as that is now."""
        now = await anyio.to_thread.run_sync(self._tidy)
        return self._made_from is not None and now == self._made_from and self._file.exists()

    async def _copy(self) -> bool:
        """Begin with the agent's index."""
        made_from = await anyio.to_thread.run_sync(self._copy_file)
        if made_from is not None:
            await self._begin(made_from)
        return made_from is not None

    async def _rebuild(self) -> bool:
        """Begin with HEAD's files: the agent's index is missing, broken, or holds a merge that cannot be read."""
        made_from = await anyio.to_thread.run_sync(self._tidy)
        self._file.unlink(missing_ok=True)
        if (await self.run("rev-parse", "--verify", "-q", "HEAD")).code == 0:
            await self.line("read-tree", "HEAD")
        await self._begin(made_from or "none")
        return True

    async def _begin(self, made_from: object) -> None:
        """Learn what a new index holds, and take away the agent's marks that hide changes."""
        self._tree = None
        done = (await self.run("ls-files", "-z", "-c", "-s", "-v")).checked()
        entries = await anyio.to_thread.run_sync(_entries, done.out)
        self._links = tuple(entry.path for entry in entries if entry.mode == "160000")
        await self._unmark("--no-assume-unchanged", [entry.path for entry in entries if entry.tag.islower()])
        skipped = [entry.path for entry in entries if entry.tag in "Ss"]
        if skipped and await self.line("config", "--type=bool", "--default=false", "core.sparseCheckout") == "true":
            self._sparse = ("--sparse",)
            skipped = [path for path in skipped if os.path.lexists(self._at(path))]
        await self._unmark("--no-skip-worktree", skipped)
        self._made_from = made_from

    async def _unmark(self, option: str, paths: list[bytes]) -> None:
        if paths:
            await self.line("update-index", option, "-z", "--stdin", feed=b"\0".join(paths))

    def _tidy(self) -> object:
        """Remove what a death left, and return what tells one state of the agent's index from the next."""
        self._file.with_name(f"{_NAME}.lock").unlink(missing_ok=True)
        try:
            info = (self.git_dir / "index").stat()
        except FileNotFoundError:
            return None
        return info.st_ino, info.st_size, info.st_mtime_ns

    def _copy_file(self) -> object:
        made_from = self._tidy()
        if made_from is not None:
            draft = self._file.with_name(f"{_NAME}.new")
            shutil.copy2(self.git_dir / "index", draft)  # with its time: git mistrusts files that are not older
            draft.replace(self._file)
        return made_from

    def _at(self, path: bytes) -> Path:
        return self.root / os.fsdecode(path)


def _entries(listed: bytes) -> list[_Entry]:
    """Return what ``ls-files -z -s -v`` printed: ``H 100644 id 0<tab>path``."""
    found = []
    for line in listed.split(b"\0")[:-1]:
        about, _, path = line.partition(b"\t")
        tag, mode, *_ = about.decode().split(" ")
        found.append(_Entry(tag, mode, path))
    return found


def report(left: Mapping[bytes, str]) -> tuple[LeftOut, ...]:
    """Return what was left out in the order of paths, and of a directory nothing but its name."""
    kept: list[LeftOut] = []
    for path in sorted(left):
        name = os.fsdecode(path)
        if not (kept and kept[-1].path.endswith("/") and name.startswith(kept[-1].path)):
            kept.append(LeftOut(name, left[path]))
    return tuple(kept)
