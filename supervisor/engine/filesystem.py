"""What kind of file system a path is on, and whether a batch's state may be kept there.

The database shares memory between its connections through a mapped file, and relies on locks and on writes that are
really on the disk. File systems that reach another machine, or the host of a virtual one, break this without an error:
the database is damaged days later. So they are refused by name, before anything is made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOUNTS = Path("/proc/self/mountinfo")
"""Only Linux has it; elsewhere nothing is checked."""

_NETWORK = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afs", "coda", "ceph", "lustre", "gpfs"}
    | {"beegfs", "orangefs", "pvfs2", "glusterfs", "davfs", "davfs2", "sshfs", "rclone", "s3fs", "gcsfuse", "blobfuse"}
    | {"blobfuse2", "goofys", "mount-s3", "curlftpfs", "gvfsd-fuse", "juicefs", "cephfs", "moosefs", "mfs", "seaweedfs"}
)
_OF_THE_HOST = frozenset(
    {"9p", "virtiofs", "vboxsf", "prl_fs", "vmhgfs", "vmhgfs-fuse", "drvfs", "grpcfuse", "osxfs", "fakeowner"}
)
"""Directories of the machine that a virtual one runs on. As the root of a sandbox they are all there is, and nobody
else uses them."""
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the table of mounts."""

    point: Path
    kind: str
    """Such as ``ext4`` or ``fuse.sshfs``."""
    source: str = ""


def mounts(table: str) -> Iterator[Mount]:
    """Yield the mounts of a table in the format of ``/proc/self/mountinfo`` (man 5 proc); other lines are left out."""
    for line in table.splitlines():
        before, separator, after = line.partition(" - ")
        fields, about = before.split(" "), after.split(" ")
        if separator and len(fields) > 4 and about[0]:
            yield Mount(Path(_unescaped(fields[4])), about[0], _unescaped(about[1]) if len(about) > 1 else "")


def _unescaped(text: str) -> str:
    """Spaces, tabs, line breaks and backslashes are written as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def mount_of(path: Path, table: str) -> Mount | None:
    """Return the mount that an absolute path without links is on: the innermost, and of those at one place the last."""
    found: Mount | None = None
    for mount in mounts(table):
        is_inner = found is None or len(mount.point.parts) >= len(found.point.parts)
        if is_inner and path.is_relative_to(mount.point):
            found = mount
    return found


def find_mount(path: Path) -> Mount | None:
    """Return the mount that a path is on, or will be once it is made; None where the system does not tell."""
    try:
        table = MOUNTS.read_text(errors="surrogateescape")
    except OSError:
        return None
    return mount_of(path.resolve(), table)


def objection(mount: Mount) -> str:
    """Return why a batch's state must not be kept on a mount; empty where it may."""
    kind = mount.kind.removeprefix("fuse.")
    if kind in _NETWORK:
        return f"{mount.point} is a network file system ({mount.kind})"
    if kind in _OF_THE_HOST and mount.point != Path("/"):
        return f"{mount.point} is a directory of the host machine ({mount.kind})"
    return ""


def caution(mount: Mount) -> str:
    """Return what the operator should know of a mount that may be used; empty where there is nothing."""
    kind = mount.kind.removeprefix("fuse.")
    if kind in _IN_MEMORY:
        return f"{mount.point} is kept in memory ({mount.kind}): all is lost when the machine stops"
    if kind in _OF_THE_HOST:
        return f"{mount.point} is a directory of the host machine ({mount.kind}): nothing else may use it meanwhile"
    return ""


def refuse_unsafe(path: Path) -> None:
    """Raise StoreError when a batch's state must not be kept at a path, which need not exist yet."""
    mount = find_mount(path)
    if mount is not None and (words := objection(mount)):
        raise StoreError(
            f"{path} cannot be the state directory: {words}, where databases get damaged",
            "name a directory on a local disk with --state-dir",
        )
