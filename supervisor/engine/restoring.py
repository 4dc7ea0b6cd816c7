"""Setting a worktree's files back to a tree that git holds.

Nothing is lost that no tree holds: a file is changed or removed only if the tree read just before has it. No link is
followed, neither to write nor to remove. Ignored files stay, by the rules of the tree that is set back to.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from supervisor.core.changes import Restored
from supervisor.core.errors import WorktreeError
from supervisor.engine.own_index import NESTED, report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from supervisor.core.changes import Snapshot
    from supervisor.engine.own_index import OwnIndex

_LINK_MODE = "160000"
_IN_THE_WAY = "something that no snapshot holds is in its place"
_MISSED = "could not be set back"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What has to happen to which paths."""

    write: list[bytes]
    new: frozenset[bytes]
    """Those to write that are not there now."""
    first: list[bytes]
    """To remove before anything is written, since they are where a directory or a file has to be."""
    later: list[bytes]
    """To remove after that, unless the ignore rules that were set back name them."""
    nested: list[bytes]
    """Repositories whose commit differs: not ours to move."""


async def set_back(own: OwnIndex, target: Snapshot) -> Restored:
    """Make the files what ``target`` holds, and say what was done.

    HEAD and the branch stay; the agent's index becomes HEAD's files, so all differences show as not yet staged.
    Once begun it is not cut short, since half of one state and half of another would be left. Raises WorktreeError
    when git fails as a whole; what it fails at with single files is told in what is returned.
    """
    now = await own.read()
    moves = (await own.run("diff-tree", "-r", "-z", "--raw", "--no-renames", now.tree, target.tree)).checked()
    untouched = {os.fsencode(one.path): one.reason for one in (*target.left_out, *now.left_out)}
    plan = await anyio.to_thread.run_sync(_plan, moves.out, untouched)
    with anyio.CancelScope(shield=True):
        await own.load(target.tree)
        removed, failed = await anyio.to_thread.run_sync(_remove, own.root, plan.first)
        failed |= await anyio.to_thread.run_sync(_blocked, own.root, plan)
        failed |= await _write(own, [path for path in plan.write if path not in failed])
        unwanted = await own.others()
        more, stuck = await anyio.to_thread.run_sync(_remove, own.root, [p for p in plan.later if p in unwanted])
        differing, covered = await own.differing()
        fault = await _unstage(own)
    beside = {os.fsencode(one.path): one.reason for one in covered}
    reasons = dict.fromkeys(plan.nested, NESTED) | untouched | beside | failed | stuck
    left = beside | {path: reasons.get(path, _MISSED) for path in differing if path + b"/" not in beside}
    return Restored(
        target.commit,
        written=_names(path for path in plan.write if path not in differing),
        removed=_names([*removed, *more]),
        left=report(left),
        before=now.tree,
        index_fault=fault,
    )


async def _write(own: OwnIndex, paths: list[bytes]) -> dict[bytes, str]:
    """Write files as our index holds them; return those git gives up over. What is not written is seen later."""
    words = ("checkout-index", "-f", "-u", "-z", "--stdin")
    try:
        return await own.in_parts(paths, lambda part: own.run(*words, feed=b"".join(path + b"\0" for path in part)))
    except WorktreeError as error:
        return dict.fromkeys(paths, error.message)


async def _unstage(own: OwnIndex) -> str:
    """Make the agent's index HEAD's files; return why that failed, if it did.

    A merge in progress is given up: its next commit would record the files of before as the result of the merge.
    """
    if (own.git_dir / "MERGE_HEAD").exists():
        await own.run("merge", "--quit", theirs=True)
    done = await own.run("reset", "--quiet", "--", ".", theirs=True)
    return done.err.decode(errors="replace").strip() if done.code else ""


def _plan(moves: bytes, untouched: dict[bytes, str]) -> _Plan:
    write, new, gone, nested = [], set(), [], []
    for before, after, status, path in _raw(moves):
        if path in untouched or any(up + b"/" in untouched for up in _parents(path)):
            continue
        if _LINK_MODE in (before, after):
            nested.append(path)
        elif status == "D":
            gone.append(path)
        else:
            write.append(path)
            if status == "A":
                new.add(path)
    files, directories = set(write), {up for path in new for up in _parents(path)}
    first = [path for path in gone if path in directories or not files.isdisjoint(_parents(path))]
    early = set(first)
    return _Plan(write, frozenset(new), first, [path for path in gone if path not in early], nested)


def _raw(moves: bytes) -> Iterator[tuple[str, str, str, bytes]]:
    """Read ``:100644 100755 id id M<nul>path<nul>``: both modes, what happened, the path."""
    fields = moves.split(b"\0")
    for about, path in zip(fields[::2], fields[1::2], strict=False):
        before, after, _, _, status = about.decode().lstrip(":").split(" ")
        yield before, after, status, path


def _parents(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]


def _blocked(root: Path, plan: _Plan) -> dict[bytes, str]:
    """Return the paths where something stands that no tree holds: git would remove it to make room."""
    return {path: _IN_THE_WAY for path in plan.write if _stands_in_the_way(root, path, path in plan.new)}


def _stands_in_the_way(root: Path, path: bytes, is_new: bool) -> bool:
    for up in _parents(path):
        place = root / os.fsdecode(up)
        if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
            return True
    place = root / os.fsdecode(path)
    if place.is_dir() and not place.is_symlink():
        return any(
            files or any((place / base / name).is_symlink() for name in names) for base, names, files in os.walk(place)
        )
    return is_new and os.path.lexists(place)


def _remove(root: Path, paths: Iterable[bytes]) -> tuple[list[bytes], dict[bytes, str]]:
    """Remove files, and directories that this leaves empty. Returns those removed, and why others could not be."""
    removed, failed = [], {}
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for path in paths:
            try:
                _remove_one(top, path)
            except OSError as error:
                failed[path] = f"cannot be removed: {error.strerror}"
            else:
                removed.append(path)
    finally:
        os.close(top)
    return removed, failed


def _remove_one(top: int, path: bytes) -> None:
    *parents, name = path.split(b"/")
    with ExitStack() as stack:
        directories = [top]
        for part in parents:  # one by one: a link that was put there meanwhile is an error, not a way out
            directory = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directories[-1])
            stack.callback(os.close, directory)
            directories.append(directory)
        os.unlink(name, dir_fd=directories[-1])
        with suppress(OSError):  # not empty
            for part, above in zip(reversed(parents), reversed(directories[:-1]), strict=True):
                os.rmdir(part, dir_fd=above)


def _names(paths: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(os.fsdecode(path) for path in paths)
