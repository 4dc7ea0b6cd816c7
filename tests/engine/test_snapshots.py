"""Snapshots: they hold every file, touch nothing of the agent's, and say what they could not hold."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.core.changes import LeftOut
from supervisor.core.errors import WorktreeError
from supervisor.engine.snapshots import Snapshots
from tests.engine.place import clash, digest, files_of, sh, work_hard

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.place import Place

pytestmark = pytest.mark.anyio


async def test_a_snapshot_holds_all_files_but_the_ignored(place: Place) -> None:
    work_hard(place)
    one = await place.snapshots.take("001", place.work, "before\na prompt")
    assert place.held(one.commit) == {
        ".gitignore", "dangling", "hello.txt", "link", "new/deep/er.txt", "run.sh", "src/one.py", "tool",
    }  # fmt: skip
    assert place.content(one.commit, "hello.txt") == "hello, world"
    assert (one.ref, one.left_out, one.message) == ("refs/supervisor/001/1", (), "before a prompt")
    assert sh(place.repo, "rev-parse", one.ref, f"{one.ref}^{{tree}}", f"{one.ref}^").split() == [
        one.commit, one.tree, place.sh("rev-parse", "HEAD"),
    ]  # fmt: skip
    assert sh(place.repo, "log", "-1", "--format=%an %ae %cn %ce %s", one.ref) == (
        "supervise supervise@localhost supervise supervise@localhost before a prompt"
    )


async def test_nothing_of_the_agents_is_touched(place: Place) -> None:
    work_hard(place)
    place.write("staged.txt", "staged\n")
    place.sh("add", "staged.txt")
    place.write("staged.txt", "staged and changed\n")
    place.write("meant.txt")
    place.sh("add", "-N", "meant.txt")
    before = {name: digest(place.git_dir / name) for name in ("index", "HEAD", "logs/HEAD")}
    files, refs, status = files_of(place.work), sh(place.repo, "show-ref", "--heads"), place.sh("status", "--porcelain")
    one = await place.snapshots.take("001", place.work, "m")
    assert {name: digest(place.git_dir / name) for name in before} == before
    assert (files_of(place.work), sh(place.repo, "show-ref", "--heads")) == (files, refs)
    assert place.sh("status", "--porcelain") == status
    assert place.content(one.commit, "staged.txt") == "staged and changed"
    assert "meant.txt" in place.held(one.commit)


async def test_each_snapshot_has_a_number_also_after_a_restart(place: Place) -> None:
    first = await place.snapshots.take("a b", place.work, "one")
    place.write("more.txt")
    again = Snapshots(place.repo)
    second = await again.take("a b", place.work, "two")
    third = await place.snapshots.take("a b", place.work, "three")  # another had the number it was going to use
    assert await again.list("a b") == (first, second, third)
    assert [one.ref.rpartition("/")[2] for one in (first, second, third)] == ["1", "2", "3"]
    assert await again.list("a") == ()


async def test_batches_are_kept_apart_and_tickets_forgotten(place: Place) -> None:
    other = Snapshots(place.repo, "other batch")
    mine, theirs = await place.snapshots.take("001", place.work, "m"), await other.take("001", place.work, "m")
    assert (await place.snapshots.list("001"), await other.list("001")) == ((mine,), (theirs,))
    await place.snapshots.drop("001")
    assert (await place.snapshots.list("001"), await other.list("001")) == ((), (theirs,))
    assert (await place.snapshots.take("001", place.work, "m")).ref == mine.ref


@pytest.mark.parametrize("commit", ["", "HEAD", "--help", "0" * 40, "main", "a" * 39])
async def test_what_is_no_snapshot_is_refused(place: Place, commit: str) -> None:
    assert not await place.snapshots.exists(commit)
    with pytest.raises(WorktreeError, match="there is no snapshot"):
        await place.snapshots.seed(place.work, commit)


async def test_another_tickets_snapshot_is_refused(place: Place) -> None:
    one = await place.snapshots.take("001", place.work, "m")
    assert await place.snapshots.exists(one.commit)
    place.write("hello.txt", "kept\n")
    with pytest.raises(WorktreeError, match="002 has no snapshot"):
        await place.snapshots.restore("002", place.work, one.commit)
    assert (place.work / "hello.txt").read_text() == "kept\n"


async def test_no_hook_and_no_program_is_run(place: Place) -> None:
    trap = place.root / "trap"
    trap.write_text(f"#!/bin/sh\necho \"$0\" >> '{place.root / 'caught'}'\n")
    trap.chmod(0o755)
    hooks = place.repo / ".git" / "hooks"
    shutil.rmtree(hooks, ignore_errors=True)
    hooks.mkdir()
    for name in (
        "reference-transaction",
        "post-index-change",
        "pre-commit",
        "post-commit",
        "post-checkout",
        "commit-msg",
    ):
        shutil.copy2(trap, hooks / name)
    for key, value in {
        "core.fsmonitor": trap, "commit.gpgSign": "true", "gpg.program": trap, "core.safecrlf": "true",
        "core.autocrlf": "input",
    }.items():  # fmt: skip
        sh(place.repo, "config", key, str(value))
    first = await place.snapshots.take("001", place.work, "m")
    place.write("hello.txt", "dos\r\n")
    await place.snapshots.take("001", place.work, "m")
    assert not (await place.snapshots.restore("001", place.work, first.commit)).left
    await place.snapshots.drop("001")
    assert not (place.root / "caught").exists()


async def test_marks_that_hide_changes_are_not_believed(place: Place) -> None:
    place.sh("update-index", "--assume-unchanged", "hello.txt")
    place.sh("update-index", "--skip-worktree", "src/one.py", "src/two.py")
    place.write("hello.txt", "changed\n")
    place.write("src/one.py", "changed\n")
    (place.work / "src" / "two.py").unlink()
    one = await place.snapshots.take("001", place.work, "m")
    assert place.content(one.commit, "hello.txt") == place.content(one.commit, "src/one.py") == "changed"
    assert "src/two.py" not in place.held(one.commit)
    assert place.sh("ls-files", "-v", "hello.txt", "src/one.py") == "h hello.txt\nS src/one.py"


async def test_files_outside_a_sparse_checkout_are_no_deletions(place: Place) -> None:
    place.sh("sparse-checkout", "set", "src")
    assert not (place.work / "run.sh").exists() or place.sh("sparse-checkout", "set", "--no-cone", "/src/") == ""
    assert not (place.work / "run.sh").exists()
    place.write("src/one.py", "changed\n")
    place.write("outside.txt", "new\n")
    one = await place.snapshots.take("001", place.work, "m")
    changed = sh(place.repo, "diff-tree", "-r", "--name-status", "HEAD", one.commit)
    assert changed.split("\n") == ["A\toutside.txt", "M\tsrc/one.py"]
    place.write("src/one.py", "changed again\n")
    assert (await place.snapshots.restore("001", place.work, one.commit)).written == ("src/one.py",)
    assert not (place.work / "run.sh").exists()


@pytest.mark.parametrize("commits", [True, False], ids=["with-a-commit", "empty"])
async def test_a_repository_inside_is_named_and_left_alone(place: Place, commits: bool) -> None:
    first = await place.snapshots.take("001", place.work, "m")
    place.write("vendor/lib/lib.c", "theirs\n")
    sh(place.work / "vendor" / "lib", "init", "-q")
    if commits:
        sh(place.work / "vendor" / "lib", "add", ".")
        sh(place.work / "vendor" / "lib", "commit", "-qm", "theirs")
    place.write("vendor/note.txt", "ours\n")
    one = await place.snapshots.take("001", place.work, "m")
    nested = LeftOut("vendor/lib/", "a repository of its own")
    assert one.left_out == (nested,)
    assert await place.snapshots.list("001") == (first, one)
    assert "vendor/note.txt" in place.held(one.commit)
    done = await place.snapshots.restore("001", place.work, first.commit)
    assert (done.removed, done.left) == (("vendor/note.txt",), (nested,))
    assert (place.work / "vendor" / "lib" / "lib.c").read_text() == "theirs\n"


async def test_a_submodule_is_named_and_left_alone(place: Place, model: Path) -> None:
    place.sh("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(model), "sub")
    place.sh("commit", "-qm", "with a submodule")
    first = await place.snapshots.take("001", place.work, "m")
    nested = LeftOut("sub/", "a repository of its own")
    assert first.left_out == (nested,)
    place.write("sub/hello.txt", "work in it\n")
    sh(place.work / "sub", "commit", "-qam", "work in it")
    place.write("sub/more.txt", "more work in it\n")
    second = await place.snapshots.take("001", place.work, "m")
    assert second.tree != first.tree
    done = await place.snapshots.restore("001", place.work, first.commit)
    assert (done.written, done.removed, done.left) == ((), (), (nested,))
    assert place.sh("status", "--porcelain") == "M sub"  # strip() took the blank in front
    assert (place.work / "sub" / "more.txt").exists()
    place.sh("rm", "-qrf", "sub")
    done = await place.snapshots.restore("001", place.work, first.commit)
    assert (done.written, done.left) == ((".gitmodules",), (LeftOut("sub", nested.reason),))


async def test_large_files_are_named_and_left_alone(place: Place) -> None:
    small = Snapshots(place.repo, max_file_bytes=1000)
    place.write("core", b"0" * 5000)
    place.write("grows.txt", "short\n")
    first = await small.take("001", place.work, "m")
    large = LeftOut("core", "larger than 0.001 MB")
    assert first.left_out == (large,)
    place.write("core", b"1" * 5000)
    place.write("grows.txt", b"2" * 5000)
    place.write("later", b"3" * 5000)
    done = await small.restore("001", place.work, first.commit)
    assert [one.path for one in done.left] == ["core", "grows.txt", "later"]
    assert (done.written, done.removed) == ((), ())
    place.write("core", "small by now\n")
    done = await small.restore("001", place.work, first.commit)
    assert large in done.left
    assert (place.work / "core").exists()  # it was there then


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
async def test_what_cannot_be_read_is_named_and_left_alone(place: Place) -> None:
    first = await place.snapshots.take("001", place.work, "m")
    for path in ("hello.txt", "secret.txt"):
        place.write(path, "secret\n").chmod(0)
    place.write("cell/inside.txt")
    for path in ("cell", "src"):
        (place.work / path).chmod(0)
    place.write("free.txt")
    try:
        one = await place.snapshots.take("001", place.work, "m")
        done = await place.snapshots.restore("001", place.work, first.commit)
    finally:
        for path in ("cell", "src"):
            (place.work / path).chmod(0o755)
    unreadable = tuple(LeftOut(path, "cannot be read") for path in ("cell/", "hello.txt", "secret.txt", "src/"))
    assert one.left_out == done.left == unreadable
    assert {"free.txt", "src/one.py"} <= place.held(one.commit)
    assert place.content(one.commit, "hello.txt") == "hello"  # as it was when it could be read
    assert (done.written, done.removed) == ((), ("free.txt",))
    assert not (place.work / "secret.txt").stat().st_mode & 0o777


async def test_a_file_that_git_gives_up_over_does_not_spoil_the_rest(place: Place) -> None:
    """git ends at once, without having added anything, when it cannot convert a file."""
    place.write(".gitattributes", "*.utf16 working-tree-encoding=UTF-16\n")
    for number in range(5):
        place.write(f"good{number}.txt")
    place.write("bad.utf16", "no byte order mark")
    one = await place.snapshots.take("001", place.work, "m")
    assert [left.path for left in one.left_out] == ["bad.utf16"]
    assert "BOM" in one.left_out[0].reason
    assert {".gitattributes", *(f"good{number}.txt" for number in range(5))} <= place.held(one.commit)


async def test_ignored_files_that_the_agent_tracks_are_held(place: Place) -> None:
    await place.snapshots.take("001", place.work, "m")
    place.write("build/dist.js", "built\n")
    place.sh("add", "-f", "build/dist.js")
    place.sh("commit", "-qm", "with what was built")
    place.write("build/dist.js", "built again\n")
    one = await place.snapshots.take("001", place.work, "m")
    assert place.content(one.commit, "build/dist.js") == "built again"


def _break_index(place: Place) -> None:
    (place.git_dir / "index").write_bytes(b"DIRC\0\0\0\2 no index at all")


def _lose_index(place: Place) -> None:
    (place.git_dir / "index").unlink()


def _lock_indexes(place: Place) -> None:
    for name in ("index.lock", "supervise.index.lock"):
        (place.git_dir / name).write_bytes(b"half an index")


@pytest.mark.parametrize("break_it", [_break_index, _lose_index, _lock_indexes, clash])
@pytest.mark.parametrize("known", [True, False], ids=["in-use", "at-first"])
async def test_whatever_state_the_index_is_in(place: Place, break_it: object, known: bool) -> None:
    assert callable(break_it)
    if known:
        await place.snapshots.take("001", place.work, "m")
    break_it(place)
    place.write("src/one.py", "changed\n")
    (place.work / "src" / "two.py").unlink()
    place.write("new.txt")
    one, files = await place.snapshots.take("001", place.work, "m"), files_of(place.work)
    assert (place.content(one.commit, "src/one.py"), "new.txt" in place.held(one.commit)) == ("changed", True)
    assert one.left_out == ()
    assert "src/two.py" not in place.held(one.commit)
    place.write("src/one.py", "changed again\n")
    done = await place.snapshots.restore("001", place.work, one.commit)
    assert files_of(place.work) == files
    if break_it is _lock_indexes:
        assert "index.lock" in done.index_fault
        assert (place.git_dir / "index.lock").exists()
    elif break_it is not _break_index:
        assert done.index_fault == ""
        assert "?? new.txt" in place.sh("status", "--porcelain")


async def test_a_branch_without_a_commit(place: Place) -> None:
    place.sh("switch", "-q", "--orphan", "fresh")
    place.write("first.txt")
    one = await place.snapshots.take("001", place.work, "m")
    assert place.held(one.commit) == {"first.txt"}
    assert sh(place.repo, "rev-list", "--count", one.commit) == "1"
    place.write("second.txt")
    done = await place.snapshots.restore("001", place.work, one.commit)
    assert (done.removed, done.left, done.index_fault) == (("second.txt",), (), "")


def _other_repository(place: Place) -> None:
    (place.work / ".git").unlink()
    sh(place.work, "init", "-q")


def _other_worktree(place: Place) -> None:
    sh(place.repo, "worktree", "add", "-q", "-b", "other", str(place.root / "other"))
    shutil.copy2(place.root / "other" / ".git", place.work / ".git")


def _no_repository(place: Place) -> None:
    (place.work / ".git").unlink()


def _nothing(place: Place) -> None:
    shutil.rmtree(place.work)


def _nonsense(place: Place) -> None:
    (place.work / ".git").write_bytes(b"gitdir: \0\xff")


@pytest.mark.parametrize("spoil", [_other_repository, _other_worktree, _no_repository, _nothing, _nonsense])
async def test_a_worktree_that_is_no_longer_ours_is_refused(place: Place, spoil: object) -> None:
    assert callable(spoil)
    one = await place.snapshots.take("001", place.work, "m")
    spoil(place)
    files = files_of(place.work)
    for attempt in (
        lambda: place.snapshots.take("001", place.work, "m"),
        lambda: place.snapshots.restore("001", place.work, one.commit),
    ):
        with pytest.raises(WorktreeError, match="no worktree of this repository"):
            await attempt()
    assert files_of(place.work) == files


async def test_the_operators_own_tree_is_refused(place: Place) -> None:
    with pytest.raises(WorktreeError, match="no worktree of this repository"):
        await place.snapshots.take("001", place.repo, "m")


async def test_tickets_at_once_do_not_meet(place: Place) -> None:
    works = [place.work]
    for number in range(3):
        works.append(place.root / f"w{number}")
        sh(place.repo, "worktree", "add", "-q", "-b", f"w{number}", str(works[-1]))
    for number, work in enumerate(works):
        (work / "hello.txt").write_text(f"{number}\n")
    async with anyio.create_task_group() as group:
        for _ in range(2):
            for number, work in enumerate(works):
                group.start_soon(place.snapshots.take, str(number), work, "m")
    for number in range(len(works)):
        taken = await place.snapshots.list(str(number))
        assert [place.content(one.commit, "hello.txt") for one in taken] == [f"{number}"] * 2


async def test_snapshots_of_one_worktree_take_turns(place: Place) -> None:
    first = await place.snapshots.take("001", place.work, "m")
    for number in range(20):
        place.write(f"new{number}.txt")
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(place.snapshots.take, "001", place.work, "m")
            group.start_soon(place.snapshots.current, place.work)
        group.start_soon(place.snapshots.restore, "001", place.work, first.commit)
    assert len(await place.snapshots.list("001")) == 4
