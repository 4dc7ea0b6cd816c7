"""Where a batch's state may be kept, and what happens when its disk fills up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.core.errors import StoreError
from supervisor.engine import filesystem
from supervisor.engine.batch import make_state_dir
from supervisor.engine.filesystem import Mount, caution, mount_of, mounts, objection
from supervisor.engine.holds import Holds
from supervisor.engine.storage import HOLD, LIMIT_BYTES, DiskWatch, shortage

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
30 27 0:40 / /home rw,relatime - nfs4 server:/home rw,vers=4.2,addr=10.0.0.1
31 30 8:17 / /home/ann/disk rw,relatime - xfs /dev/sdb1 rw
32 27 0:41 / /mnt/c rw,noatime - 9p C:\134 rw,aname=drvfs;path=C:\134
33 27 0:42 / /srv/a\040b rw,relatime shared:9 - fuse.sshfs ann@host:/a\040b rw,user_id=1000
34 27 0:43 / /workspaces rw,relatime - virtiofs share rw
35 27 0:44 / /data rw,relatime - ext4 /dev/sdc rw
36 35 0:45 / /data rw,relatime - cifs //nas/data rw,vers=3.0
37 27 0:46 / /tmp rw,nosuid - tmpfs tmpfs rw,size=1g
this line makes no sense
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/x", "ext4"),
        ("/home/ann/shop", "nfs4"),
        ("/home/ann/disk/shop", "xfs"),
        ("/home/ann/disks", "nfs4"),
        ("/mnt/c/Users", "9p"),
        ("/srv/a b/c", "fuse.sshfs"),
        ("/srv/a", "ext4"),
        ("/data", "cifs"),
        ("/tmp", "tmpfs"),
        ("/", "ext4"),
    ],
)
def test_the_innermost_mount_counts(path: str, kind: str) -> None:
    mount = mount_of(Path(path), TABLE)
    assert mount is not None
    assert mount.kind == kind


def test_lines_without_sense_are_left_out() -> None:
    assert len(list(mounts(TABLE))) == 10
    assert mount_of(Path("/x"), "nonsense\n - \n") is None


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "fuse.rclone", "ceph", "9p", "virtiofs"])
def test_file_systems_that_damage_databases(kind: str) -> None:
    assert f"({kind})" in objection(Mount(Path("/work"), kind))


@pytest.mark.parametrize(
    "kind", ["ext4", "xfs", "btrfs", "zfs", "overlay", "tmpfs", "fuseblk", "fuse.mergerfs", "apfs"]
)
def test_file_systems_that_do_not(kind: str) -> None:
    assert objection(Mount(Path("/work"), kind)) == ""


@pytest.mark.parametrize("kind", ["9p", "virtiofs"])
def test_the_root_of_a_sandbox_is_used_with_care(kind: str) -> None:
    assert objection(Mount(Path("/"), kind)) == ""
    assert "host machine" in caution(Mount(Path("/"), kind))


def test_what_is_kept_in_memory_is_pointed_out() -> None:
    assert "lost when the machine stops" in caution(Mount(Path("/tmp"), "tmpfs"))
    assert caution(Mount(Path("/"), "ext4")) == ""


def _table(tmp_path: Path, kind: str) -> Path:
    table = tmp_path / "mountinfo"
    table.write_text(f"27 1 254:0 / / rw - {kind} server:/x rw\n")
    return table


def test_a_state_directory_on_a_network_is_refused_before_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystem, "MOUNTS", _table(tmp_path, "nfs4"))
    with pytest.raises(StoreError, match=r"/ is a network file system \(nfs4\).*--state-dir"):
        make_state_dir(tmp_path / "state")
    assert not (tmp_path / "state").exists()
    monkeypatch.setattr(filesystem, "MOUNTS", _table(tmp_path, "ext4"))
    assert make_state_dir(tmp_path / "state").is_dir()


@pytest.mark.parametrize(("holds", "mode"), [(None, 0o700), ("state.db", 0o700), ("notes.txt", 0o755)])
def test_a_directory_that_was_there_is_closed_to_others_if_it_is_for_us(
    tmp_path: Path, holds: str | None, mode: int
) -> None:
    place = tmp_path / "state"
    place.mkdir()
    place.chmod(0o755)
    if holds is not None:
        (place / holds).touch()
    make_state_dir(place)
    assert place.stat().st_mode & 0o777 == mode
    assert make_state_dir(tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_where_the_system_tells_nothing_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "MOUNTS", tmp_path / "none")
    assert make_state_dir(tmp_path / "state").is_dir()


@dataclass
class Disk:
    """A disk as the system describes it, in blocks of 1 kB."""

    f_bavail: int
    f_blocks: int = 100_000_000
    f_frsize: int = 1_000
    f_files: int = 1_000_000
    f_favail: int = 900_000


KB = LIMIT_BYTES // 1_000


@pytest.mark.parametrize(
    ("disk", "words"),
    [
        (Disk(KB), ""),
        (Disk(KB - 1), "less than 200 MB free"),
        (Disk(60_000, f_blocks=1_000_000), ""),
        (Disk(40_000, f_blocks=1_000_000), "less than 50 MB free"),
        (Disk(KB, f_favail=999), "room for fewer than 1000 files"),
        (Disk(KB, f_files=0, f_favail=0), ""),
        (Disk(KB, f_files=100, f_favail=4), "room for fewer than 5 files"),
    ],
)
def test_what_is_too_little(disk: Disk, words: str) -> None:
    assert shortage(disk) == words


def _watch(holds: Holds, ask: Callable[[Path], Disk], *paths: Path) -> DiskWatch:
    return DiskWatch(holds, paths or (Path("/a"),), statvfs=ask)


@pytest.mark.anyio
async def test_a_disk_that_fills_up_and_is_cleared() -> None:
    holds, said, disk = Holds(), [], Disk(10 * KB)
    holds.listen(lambda: said.append(holds.words))
    watch = _watch(holds, lambda _: disk)
    for free in (10 * KB, KB - 1, KB - 500, KB + 1, 2 * KB, 3 * KB):
        disk.f_bavail = free
        await watch.look()
    assert said == ["new tickets wait for space on the disk (/a has less than 200 MB free)", ""]


@pytest.mark.anyio
async def test_a_little_more_than_the_limit_does_not_start_tickets_again() -> None:
    holds, disk = Holds(), Disk(KB - 1)
    watch = _watch(holds, lambda _: disk)
    await watch.look()
    disk.f_bavail = KB + 1
    await watch.look()
    assert HOLD in holds
    disk.f_bavail = KB * 5 // 4
    await watch.look()
    assert not holds


@pytest.mark.anyio
async def test_one_disk_is_named_once_and_one_that_cannot_be_asked_is_left_out() -> None:
    def ask(path: Path) -> Disk:
        if path.name == "gone":
            raise FileNotFoundError
        return Disk(0, f_favail=0) if path.name != "full of files" else Disk(KB, f_favail=0)

    holds = Holds()
    await _watch(holds, ask, Path("/a"), Path("/b"), Path("/gone"), Path("/full of files")).look()
    assert holds.words == (
        "new tickets wait for space on the disk (/a has less than 200 MB free;"
        " /full of files has room for fewer than 1000 files)"
    )


@pytest.mark.anyio
async def test_it_looks_again_and_again() -> None:
    looks, seen = [], anyio.Event()

    def ask(path: Path) -> Disk:
        looks.append(path)
        if len(looks) == 3:
            anyio.from_thread.run_sync(seen.set)
        return Disk(KB)

    async with anyio.create_task_group() as group:
        group.start_soon(_watch(Holds(), ask).run, 0.0)
        with anyio.fail_after(30):
            await seen.wait()
        group.cancel_scope.cancel()


def test_holds_tell_only_of_changes() -> None:
    holds, told = Holds(), []
    stop = holds.listen(lambda: told.append(holds.words))
    holds.clear("a")
    holds.set("a", "one")
    holds.set("a", "one")
    holds.set("b", "two")
    holds.set("a", "three")
    assert told == ["one", "one; two", "three; two"]
    assert "a" in holds
    holds.clear("a")
    holds.clear("b")
    assert not holds
    stop()
    holds.set("a", "one")
    assert told[3:] == ["two", ""]
