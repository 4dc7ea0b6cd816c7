"""What differs between two states: kinds, lines, names, bounds; nothing of anybody's is run to find out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from supervisor.core.changes import ChangeKind, Changes, FileChange
from supervisor.core.errors import WorktreeError
from supervisor.engine.changes import against_now, between, diff_text
from tests.engine.place import sh, work_hard

if TYPE_CHECKING:
    from tests.engine.place import Place

pytestmark = pytest.mark.anyio


async def test_each_kind_of_change_is_told(place: Place) -> None:
    work_hard(place)
    place.write("src/moved.py", "one\n" * 20 + "and more\n")
    (place.work / "src" / "one.py").unlink()
    (place.work / ".gitignore").unlink()
    (place.work / ".gitignore").symlink_to("run.sh")
    (place.work / "some.log").unlink()
    assert await against_now(place.snapshots, place.work, "main") == Changes(
        (
            FileChange(".gitignore", ChangeKind.TYPECHANGE, 1, 2),
            FileChange("dangling", ChangeKind.ADDED, 1, 0),
            FileChange("hello.txt", ChangeKind.MODIFIED, 1, 1),
            FileChange("link", ChangeKind.MODIFIED, 1, 1),
            FileChange("new/deep/er.txt", ChangeKind.ADDED, 1, 0),
            FileChange("run.sh", ChangeKind.MODIFIED, 0, 0),
            FileChange("src/moved.py", ChangeKind.RENAMED, 1, 0, old_path="src/one.py"),
            FileChange("src/two.py", ChangeKind.DELETED, 0, 20),
            FileChange("tool", ChangeKind.ADDED, None, None),
        )
    )


async def test_totals_leave_binary_files_out(place: Place) -> None:
    work_hard(place)
    changes = await against_now(place.snapshots, place.work, "main")
    assert (changes.insertions, changes.deletions, changes.truncated) == (4, 22, False)
    assert [one.path for one in changes.files if one.binary] == ["tool"]


async def test_two_snapshots_are_compared_in_either_direction(place: Place) -> None:
    first = await place.snapshots.take("001", place.work, "m")
    place.write("more.txt", "1\n2\n")
    second = await place.snapshots.take("001", place.work, "m")
    assert await between(place.work, first.commit, second.tree) == Changes(
        (FileChange("more.txt", ChangeKind.ADDED, 2, 0),)
    )
    assert await between(place.work, second.commit, first.commit) == Changes(
        (FileChange("more.txt", ChangeKind.DELETED, 0, 2),)
    )
    assert await between(place.work, first.commit, first.tree) == Changes()


async def test_comparing_keeps_nothing(place: Place) -> None:
    place.write("more.txt")
    status = place.sh("status", "--porcelain")
    assert len((await against_now(place.snapshots, place.work, "main")).files) == 1
    assert (await place.snapshots.list("001"), place.sh("status", "--porcelain")) == ((), status)


async def test_hostile_names(place: Place) -> None:
    names = [b"new\nline", b"tab\there", b'"', b"\xff", b":100644 x", b"-\t-\tx", b"1\t2\t"]
    for name in names:
        place.write(os.fsdecode(name), "1\n2\n")
    changes = await against_now(place.snapshots, place.work, "main")
    assert {os.fsencode(one.path) for one in changes.files} == set(names)
    assert {(one.insertions, one.kind) for one in changes.files} == {(2, ChangeKind.ADDED)}
    for name in names:
        text, cut = await diff_text(
            place.work, "main", (await place.snapshots.current(place.work)).tree, os.fsdecode(name)
        )
        assert (text.count("diff --git"), text.count("\n+"), cut) == (1, 3, False)


async def test_many_files_are_cut(place: Place) -> None:
    for number in range(12):
        place.write(f"new{number:02}.txt")
    now = (await place.snapshots.current(place.work)).tree
    whole, part = await between(place.work, "main", now, most=12), await between(place.work, "main", now, most=5)
    assert (len(whole.files), whole.truncated) == (12, False)
    assert (part.files, part.truncated) == (whole.files[:5], True)


async def test_text_of_all_files_and_of_one(place: Place) -> None:
    work_hard(place)
    place.write("修复.txt", b"\xff caf\xc3\xa9\n")
    now = (await place.snapshots.current(place.work)).tree
    text, cut = await diff_text(place.work, "main", now)
    assert not cut
    assert "+hello, world\n" in text
    assert "diff --git a/修复.txt b/修复.txt\n" in text
    assert "+\N{REPLACEMENT CHARACTER} café\n" in text
    assert "\x1b" not in text
    one, _ = await diff_text(place.work, "main", now, "hello.txt")
    assert one in text
    assert one.startswith("diff --git a/hello.txt b/hello.txt\n")
    assert await diff_text(place.work, "main", now, "*.txt") == ("", False)


async def test_text_of_a_renamed_file(place: Place) -> None:
    place.sh("mv", "src/one.py", "src/1.py")
    place.write("src/1.py", "one\n" * 20 + "and more\n")
    now = (await place.snapshots.current(place.work)).tree
    (change,) = (await between(place.work, "main", now)).files
    text, _ = await diff_text(place.work, "main", now, change.path, old_path=change.old_path)
    assert "rename from src/one.py\nrename to src/1.py\n" in text
    assert text.endswith("+and more\n")


@pytest.mark.parametrize(("line", "kept"), [(b"line\n", 1000), (b"x" * 3_000_000, 1000)], ids=["lines", "one-line"])
async def test_a_long_text_is_cut(place: Place, line: bytes, kept: int) -> None:
    place.write("long.txt", line * (3_000_000 // len(line)))
    now = (await place.snapshots.current(place.work)).tree
    text, cut = await diff_text(place.work, "main", now, max_bytes=kept)
    assert cut
    assert kept - 10 <= len(text) <= kept or text.endswith("@@\n")
    assert text.endswith("\n")
    whole, cut = await diff_text(place.work, "main", now, max_bytes=10_000_000)
    assert (whole.startswith(text), cut) == (True, False)


async def test_nobodys_programs_and_settings_are_used(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = place.root / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{place.root / 'caught'}'\n")
    trap.chmod(0o755)
    plain = place.snapshots
    place.write(".gitattributes", "*.txt diff=trap\n")
    place.write("hello.txt", "changed\n")
    now = (await plain.current(place.work)).tree
    expected = await diff_text(place.work, "main", now)
    for key, value in {
        "diff.external": str(trap),
        "diff.trap.textconv": str(trap),
        "diff.trap.command": str(trap),
        "core.pager": str(trap),
        "color.ui": "always",
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "diff.context": "9",
        "diff.renames": "false",
    }.items():
        sh(place.repo, "config", key, value)
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap))
    monkeypatch.setenv("GIT_DIFF_OPTS", "-u0")
    assert await diff_text(place.work, "main", now) == expected
    assert len((await between(place.work, "main", now)).files) == 2
    assert not (place.root / "caught").exists()


@pytest.mark.parametrize("state", ["nowhere", "0" * 40, "--output=caught", "", "-p"])
async def test_an_unknown_state_is_an_error(place: Place, state: str) -> None:
    with pytest.raises(WorktreeError, match="git diff-tree"):
        await between(place.work, "main", state)
    with pytest.raises(WorktreeError, match="git diff-tree"):
        await diff_text(place.work, state, "main")
    assert not (place.work / "caught").exists()


async def test_a_diff_can_be_applied(place: Place) -> None:
    """What is shown is what changed, to the byte."""
    place.write("hello.txt", b"no newline at the end")
    place.write("new.txt", b"tabs\t and blanks \n\r\n")
    now = (await place.snapshots.current(place.work)).tree
    text, _ = await diff_text(place.work, "main", now)
    place.sh("checkout", "-q", "--", ".")
    (place.work / "new.txt").unlink()
    (place.root / "patch").write_text(text, newline="")
    place.sh("apply", str(place.root / "patch"))
    assert (await place.snapshots.current(place.work)).tree == now
