"""Setting files back: exact, undone by doing it again, and nothing is lost that no snapshot holds."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.core.changes import LeftOut, Restored
from supervisor.engine.own_index import OwnIndex
from tests.engine.place import Place, clash, files_of, make_model, sh, work_hard

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from tests.engine.place import Files

pytestmark = pytest.mark.anyio


async def test_setting_back_is_exact_and_setting_back_again_undoes_it(place: Place) -> None:
    first, clean = await place.snapshots.take("001", place.work, "clean"), files_of(place.work)
    work_hard(place)
    second, worked = await place.snapshots.take("001", place.work, "worked"), files_of(place.work)
    done = await place.snapshots.restore("001", place.work, first.commit)
    assert files_of(place.work) == {**clean, b"some.log": ("file", b"ignored\n")}
    assert set(done.written) == {"hello.txt", "link", "run.sh", "src/two.py"}
    assert set(done.removed) == {"new/deep/er.txt", "dangling", "tool"}
    assert (done.left, done.index_fault, done.before) == ((), "", second.tree)
    assert place.sh("status", "--porcelain") == ""
    undone = await place.snapshots.restore("001", place.work, second.commit)
    assert files_of(place.work) == worked
    assert undone.left == ()
    assert await place.snapshots.restore("001", place.work, second.commit) == Restored(
        second.commit, before=second.tree
    )


async def test_commits_of_the_agents_stay_and_the_files_show_as_changes(place: Place) -> None:
    first = await place.snapshots.take("001", place.work, "m")
    place.write("hello.txt", "committed\n")
    place.write("more.txt", "more\n")
    place.sh("add", "-A")
    place.sh("commit", "-qm", "the agent's")
    head = place.sh("rev-parse", "HEAD")
    await place.snapshots.restore("001", place.work, first.commit)
    assert (place.work / "hello.txt").read_text() == "hello\n"
    assert not (place.work / "more.txt").exists()
    assert (place.sh("rev-parse", "HEAD"), place.sh("branch", "--show-current")) == (head, "work")
    assert place.sh("status", "--porcelain").split("\n") == ["M hello.txt", " D more.txt"]  # nothing is staged


HOSTILE = [b"new\nline", b'quo"te', b"it's", b"-rf", b" blank ", b":(top)x", b"back\\slash", b"tab\t", b"\xff\xfe.bin",
           "修复 🏷️.md".encode(), b"*", b"[a]", b"..x", b"a.lock", b"sub dir/\x1b[2J", b"#x", b"!x", b"x\r"]  # fmt: skip


async def test_hostile_names(place: Place) -> None:
    for number, name in enumerate(HOSTILE):
        place.write(os.fsdecode(name), f"{number}\n")
    first, before = await place.snapshots.take("001", place.work, "m"), files_of(place.work)
    assert {os.fsdecode(name) for name in HOSTILE} <= place.held(first.commit)
    for name in HOSTILE[::2]:
        place.write(os.fsdecode(name), "changed\n")
    for name in HOSTILE[1::2]:
        (place.work / os.fsdecode(name)).unlink()
    second, after = await place.snapshots.take("001", place.work, "m"), files_of(place.work)
    await place.snapshots.restore("001", place.work, first.commit)
    assert files_of(place.work) == before
    done = await place.snapshots.restore("001", place.work, second.commit)
    assert files_of(place.work) == after
    assert {os.fsencode(path) for path in done.removed} == set(HOSTILE[1::2])


async def test_what_was_ignored_stays_whatever_became_of_the_rules(place: Place) -> None:
    place.write("secret.log", "old secret\n")
    place.write("build/out.bin", "built\n")
    first = await place.snapshots.take("001", place.work, "m")
    (place.work / ".gitignore").unlink()
    place.write("build/more.bin", "built later\n")
    place.write("mine.txt", "mine\n")
    second = await place.snapshots.take("001", place.work, "m")
    assert {"secret.log", "build/out.bin", "build/more.bin", "mine.txt"} <= place.held(second.commit)
    done = await place.snapshots.restore("001", place.work, first.commit)
    assert (done.written, done.removed, done.left) == ((".gitignore",), ("mine.txt",), ())
    assert (place.work / "secret.log").read_text() == "old secret\n"
    assert (place.work / "build" / "more.bin").exists()


async def test_a_file_that_no_snapshot_holds_is_not_overwritten(place: Place) -> None:
    place.write("notes.md", "notes\n")
    first = await place.snapshots.take("001", place.work, "m")
    place.write(".gitignore", "*.md\n")
    place.write("notes.md", "ignored now, and changed\n")
    place.sh("add", ".gitignore")
    done = await place.snapshots.restore("001", place.work, first.commit)
    assert (place.work / "notes.md").read_text() == "ignored now, and changed\n"
    assert done.left == (LeftOut("notes.md", "something that no snapshot holds is in its place"),)
    assert done.written == (".gitignore",)


async def test_a_directory_with_files_that_no_snapshot_holds_is_not_replaced(place: Place) -> None:
    place.write("thing", "a file\n")
    place.write("free", "a file\n")
    first = await place.snapshots.take("001", place.work, "m")
    for name in ("thing", "free"):
        (place.work / name).unlink()
        place.write(f"{name}/kept.txt", "held\n")
    (place.work / "free" / "hollow").mkdir()
    place.write("thing/precious.log", "ignored\n")
    done = await place.snapshots.restore("001", place.work, first.commit)
    assert (place.work / "thing" / "precious.log").read_text() == "ignored\n"
    assert (place.work / "free").read_text() == "a file\n"
    assert done.left == (LeftOut("thing", "something that no snapshot holds is in its place"),)


async def test_no_link_is_followed_out_of_the_worktree(place: Place) -> None:
    first, clean = await place.snapshots.take("001", place.work, "m"), files_of(place.work)
    outside = place.root / "outside"
    shutil.copytree(place.work / "src", outside)
    (outside / "three.py").write_text("theirs\n")
    theirs = files_of(outside)
    shutil.rmtree(place.work / "src")
    (place.work / "src").symlink_to(outside)
    second, linked = await place.snapshots.take("001", place.work, "m"), files_of(place.work)
    assert {path for path in place.held(second.commit) if path.startswith("src")} == {"src"}
    await place.snapshots.restore("001", place.work, first.commit)
    assert files_of(place.work) == clean
    await place.snapshots.restore("001", place.work, second.commit)
    assert files_of(place.work) == linked
    assert files_of(outside) == theirs


async def test_a_link_that_is_put_there_meanwhile_is_not_followed_either(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something that the agent left running goes on while its files are set back."""
    outside = place.root / "outside"
    outside.mkdir()
    (outside / "new.txt").write_text("theirs\n")
    others = OwnIndex.others

    async def swap(own: OwnIndex) -> frozenset[bytes]:
        found = await others(own)
        shutil.rmtree(place.work / "made")
        (place.work / "made").symlink_to(outside)
        return found

    first = await place.snapshots.take("001", place.work, "m")
    place.write("made/new.txt", "new\n")
    monkeypatch.setattr(OwnIndex, "others", swap)
    done = await place.snapshots.restore("001", place.work, first.commit)
    assert (outside / "new.txt").read_text() == "theirs\n"
    assert done.removed == ()
    assert [one.path for one in done.left] == ["made"]


async def test_a_merge_is_given_up_so_that_no_commit_pretends_to_be_it(place: Place) -> None:
    first = await place.snapshots.take("001", place.work, "m")
    clash(place)
    await place.snapshots.restore("001", place.work, first.commit)
    place.sh("commit", "-qam", "after it")
    assert place.sh("rev-list", "--parents", "-1", "HEAD").count(" ") == 1


async def test_an_empty_worktree(place: Place) -> None:
    clean = files_of(place.work)
    first = await place.snapshots.take("001", place.work, "")
    for path in place.work.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    one = await place.snapshots.take("001", place.work, " \n\0")
    assert (place.held(one.commit), one.message) == (set(), "snapshot")
    await place.snapshots.restore("001", place.work, first.commit)
    assert files_of(place.work) == clean
    await place.snapshots.restore("001", place.work, one.commit)
    assert files_of(place.work) == {}


async def test_a_fork_begins_with_its_parents_files(place: Place) -> None:
    work_hard(place)
    one = await place.snapshots.take("001", place.work, "m")
    fork = place.root / "fork"
    sh(place.repo, "worktree", "add", "-q", "-b", "fork", str(fork), "work")
    done = await place.snapshots.seed(fork, one.commit)
    parents = files_of(place.work)
    del parents[b"some.log"]
    assert files_of(fork) == parents
    assert (done.left, sh(fork, "status", "--porcelain")) == ((), place.sh("status", "--porcelain"))
    assert sh(fork, "branch", "--show-current") == "fork"


@pytest.fixture
def readonly(place: Place) -> Iterator[Path]:
    """A directory in which nothing can be made or removed."""
    path = place.work / "src"
    yield path
    path.chmod(0o755)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_what_cannot_be_set_back_is_named(place: Place, readonly: Path) -> None:
    first = await place.snapshots.take("001", place.work, "m")
    place.write("src/one.py", "changed\n")
    place.write("src/new.py", "new\n")
    place.write("hello.txt", "changed\n")
    readonly.chmod(0o555)
    done = await place.snapshots.restore("001", place.work, first.commit)
    assert done.written == ("hello.txt",)
    assert done.left == (
        LeftOut("src/new.py", "cannot be removed: Permission denied"), LeftOut("src/one.py", "could not be set back"),
    )  # fmt: skip


PATHS = ["a", "a/b", "a/b/c", "a/d", "e", "e/f", "hello.txt", "src", "src/one.py", "src/one.py/x", "link", "link/g"]
KINDS = ["file", "program", "link", "directory", "gone"]
IGNORED = ["a", "b\nsrc\n", "link\ne/f", "*", ""]
COMMANDS = ["add -A", "add -f .", "commit -qam m --allow-empty", "rm -rqf --cached --ignore-unmatch ."]

ACTS = st.tuples(st.sampled_from(PATHS), st.sampled_from(KINDS), st.integers(0, 2))
RULES = st.tuples(st.just(".gitignore"), st.sampled_from(IGNORED), st.just(0))
GIT_ACTS = st.tuples(st.just("git"), st.sampled_from(COMMANDS), st.just(0))


def act(place: Place, what: str, how: str, number: int) -> None:
    """Do one thing to the worktree, whatever stands in the way."""
    if what == "git":
        place.sh(*how.split())
        return
    path = place.work / what
    for up in [path, *path.parents[: len(path.relative_to(place.work).parts) - 1]]:
        if up.is_symlink() or up.is_file() or (up == path and up.is_dir()):
            shutil.rmtree(up) if up.is_dir() and not up.is_symlink() else up.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    if how == "directory":
        path.mkdir()
    elif how == "link":
        path.symlink_to(["/etc", "src", "hello.txt"][number])
    elif how != "gone":
        path.write_text(how if what == ".gitignore" else "x\n" * number)
        path.chmod(0o755 if how == "program" else 0o644)


def only_files(files: Files) -> Files:
    return {path: about for path, about in files.items() if about[0] != "directory"}


def told(place: Place, tree: str) -> Files:
    """The files that a tree holds."""
    kinds = {"120000": "link", "100755": "program", "100644": "file"}
    found: Files = {}
    for line in place.sh("ls-tree", "-r", tree).splitlines():
        about, path = line.split("\t")
        mode, _, ident = about.split()
        content = b"" if ident.startswith("e69de29") else place.blob(ident)
        found[path.encode()] = (kinds[mode], content)
    return found


@settings(max_examples=8)
@given(st.lists(st.one_of(ACTS, GIT_ACTS), max_size=8), st.lists(st.one_of(ACTS, GIT_ACTS), max_size=8))
def test_whatever_was_done_is_undone(before: list[tuple[str, str, int]], since: list[tuple[str, str, int]]) -> None:
    async def play(place: Place) -> None:
        for one in before:
            act(place, *one)
        first, then = await place.snapshots.take("001", place.work, "m"), only_files(files_of(place.work))
        for one in since:
            act(place, *one)
        second, now = await place.snapshots.take("001", place.work, "m"), only_files(files_of(place.work))
        assert (told(place, first.tree), told(place, second.tree)) == (then, now)
        assert (await place.snapshots.restore("001", place.work, first.commit)).left == ()
        assert only_files(files_of(place.work)) == then
        assert (await place.snapshots.restore("001", place.work, second.commit)).left == ()
        assert only_files(files_of(place.work)) == now

    _play(play)


@settings(max_examples=8)
@given(st.lists(st.one_of(ACTS, RULES), max_size=8), st.lists(st.one_of(ACTS, RULES, GIT_ACTS), max_size=8))
def test_nothing_is_lost_whatever_is_ignored(
    before: list[tuple[str, str, int]], since: list[tuple[str, str, int]]
) -> None:
    async def play(place: Place) -> None:
        for one in before:
            act(place, *one)
        first = await place.snapshots.take("001", place.work, "m")
        for one in since:
            act(place, *one)
        now = only_files(files_of(place.work))
        done = await place.snapshots.restore("001", place.work, first.commit)
        after, held, wanted = only_files(files_of(place.work)), told(place, done.before), told(place, first.tree)
        assert {
            path: about for path, about in now.items() if after.get(path) != about and held.get(path) != about
        } == {}
        left = {os.fsencode(one.path) for one in done.left}
        assert {path for path, about in wanted.items() if after.get(path) != about} <= left

    _play(play)


def _play(play: Callable[[Place], Awaitable[None]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        place = Place(Path(root))
        make_model(place.repo)
        sh(place.repo, "worktree", "add", "-q", "-b", "work", str(place.work))
        anyio.run(play, place)
