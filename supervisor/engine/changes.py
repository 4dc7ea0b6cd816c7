"""What differs between two states of a worktree, as records and as text. A state is a commit, or a tree of ours."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import anyio

from supervisor.core.changes import ChangeKind, Changes, FileChange
from supervisor.engine.git import git_config, run_git

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.engine.snapshots import Snapshots

MAX_FILES = 2_000
MAX_DIFF_BYTES = 400_000
_CONFIG = git_config(
    {
        "core.quotePath": "false",
        "core.bigFileThreshold": "20m",  # larger ones count as binary: lines are matched in memory
        "diff.renameLimit": "1000",
        "diff.orderFile": "/dev/null",
        "core.fsmonitor": "false",
    }
)
_ENV = {**_CONFIG, "GIT_LITERAL_PATHSPECS": "1", "GIT_DIFF_OPTS": ""}
_DIFF = ("diff-tree", "-r", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
_KINDS = {
    "A": ChangeKind.ADDED,
    "D": ChangeKind.DELETED,
    "R": ChangeKind.RENAMED,
    "T": ChangeKind.TYPECHANGE,
}


async def between(worktree: Path, old: str, new: str, most: int = MAX_FILES) -> Changes:
    """Return the files that differ between two states, at most ``most`` of them.

    Raises WorktreeError when git knows no such state.
    """
    words = (*_DIFF, "-z", "--raw", "--numstat", "--end-of-options", old, new)
    done = (await run_git(worktree, *words, env=_ENV)).checked()
    return await anyio.to_thread.run_sync(_changes, done.out, most)


async def against_now(snapshots: Snapshots, worktree: Path, old: str, most: int = MAX_FILES) -> Changes:
    """Return how the files of a worktree differ from a state, uncommitted and untracked ones included."""
    now = await snapshots.current(worktree)
    return await between(worktree, old, now.tree, most)


async def diff_text(
    worktree: Path,
    old: str,
    new: str,
    path: str | None = None,
    *,
    old_path: str | None = None,
    max_bytes: int = MAX_DIFF_BYTES,
) -> tuple[str, bool]:
    """Return a unified diff as text, and whether it was cut after ``max_bytes``. Untrusted, as the files are.

    Args:
        worktree: where git runs.
        old: a state.
        new: the other one.
        path: the one file that is wanted; None for all of them.
        old_path: where that file was before it was renamed.
        max_bytes: the diff is cut at the end of a line below this, or in a line that is longer.

    Raises WorktreeError when git knows no such state.
    """
    paths = [one for one in (old_path, path) if one is not None]
    words = (*_DIFF, "-p", "-U3", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--end-of-options")
    done = (await run_git(worktree, *words, old, new, "--", *paths, env=_ENV, limit=max_bytes)).checked()
    out = done.out
    if done.cut:
        out = out[: out.rfind(b"\n") + 1] or out
    return out.decode(errors="replace"), done.cut


def _changes(told: bytes, most: int) -> Changes:
    """Read ``:modes ids status<nul>path<nul>…`` and after them ``insertions<tab>deletions<tab>path<nul>…``."""
    fields = iter(told.split(b"\0"))
    happened: list[tuple[ChangeKind, bytes, bytes | None]] = []
    lines: dict[bytes, tuple[int | None, int | None]] = {}
    for field in fields:
        if field.startswith(b":"):
            kind = _KINDS.get(field.rpartition(b" ")[2][:1].decode(), ChangeKind.MODIFIED)
            path = next(fields)
            old = path if kind is ChangeKind.RENAMED else None
            happened.append((kind, next(fields) if old is not None else path, old))
        elif field:
            more, less, path = field.split(b"\t", 2)
            if not path:
                _, path = next(fields), next(fields)
            lines[path] = (None, None) if more == b"-" else (int(more), int(less))
    files = tuple(_change(kind, path, old, *lines.get(path, (None, None))) for kind, path, old in happened[:most])
    return Changes(files, len(happened) > most)


def _change(kind: ChangeKind, path: bytes, old: bytes | None, more: int | None, less: int | None) -> FileChange:
    return FileChange(os.fsdecode(path), kind, more, less, None if old is None else os.fsdecode(old))
