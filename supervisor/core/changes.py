"""Files as the screens see them: what changed between two states, what a snapshot holds, what a rewind did.

Paths are relative to the worktree, with ``/``. They come from the agent: any bytes but NUL, those that are no UTF-8
as lone surrogates (``os.fsencode`` gives the bytes back), so make them safe before they are drawn or stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ChangeKind(StrEnum):
    """What happened to a file."""

    ADDED = "added"
    MODIFIED = "modified"
    """Its content or its executable bit."""
    DELETED = "deleted"
    RENAMED = "renamed"
    TYPECHANGE = "typechange"
    """A file became a symbolic link or a repository, or the other way round."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that differs between two states."""

    path: str
    kind: ChangeKind
    insertions: int | None
    """Lines; None for a binary file."""
    deletions: int | None
    old_path: str | None = None
    """Where a renamed file was."""

    @property
    def names(self) -> frozenset[str]:
        """The paths it concerns: two for a renamed file."""
        return frozenset({self.path} if self.old_path is None else {self.path, self.old_path})

    @property
    def binary(self) -> bool:
        """Whether git counts no lines in it."""
        return self.insertions is None


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two states of a worktree, in the order of paths."""

    files: tuple[FileChange, ...] = ()
    truncated: bool = False
    """More files differ than are listed."""

    @property
    def insertions(self) -> int:
        """Lines added in the listed files."""
        return sum(f.insertions or 0 for f in self.files)

    @property
    def deletions(self) -> int:
        """Lines taken away in the listed files."""
        return sum(f.deletions or 0 for f in self.files)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A path that a snapshot does not hold, or a rewind did not set back."""

    path: str
    """Ends with ``/`` for a whole directory."""
    reason: str
    """Such as ``a repository of its own``; a few words of ours or of git's."""


@dataclass(frozen=True, slots=True)
class TreeState:
    """A worktree's files at one moment, as git holds them."""

    tree: str
    """Id of a tree object; names the state wherever a commit could. No ref keeps it: git may drop it after weeks."""
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A worktree's files at one moment, kept for good by a ref of ours."""

    commit: str
    ref: str
    tree: str
    message: str = ""
    at: float = 0.0
    """Unix time, whole seconds."""
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Restored:
    """What setting a worktree back did."""

    commit: str
    written: tuple[str, ...] = ()
    """Files that were changed back or made again."""
    removed: tuple[str, ...] = ()
    """Files that were not there then."""
    left: tuple[LeftOut, ...] = ()
    """What is not as the snapshot has it, or was never in one; the files there were not touched."""
    before: str = ""
    """Tree that holds what was there before; equals an earlier snapshot's if that one can undo all of this."""
    index_fault: str = ""
    """Why git's index could not be set to the branch's last commit; empty where it was."""
