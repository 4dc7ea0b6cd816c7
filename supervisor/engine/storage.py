"""Watches the free space: when it runs low no further ticket starts, until there is enough again.

A disk that fills up fails in the middle of whatever is being written, in every agent at once. What runs goes on: to
stop it would cost more than it frees.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from supervisor.engine.holds import Holds

HOLD = "disk"
"""The name of the reason that is put up."""
LIMIT_BYTES = 200_000_000
LIMIT_SHARE = 0.05
"""On a small disk the limit is this share of it."""
LIMIT_FILES = 1_000
_EASE = 1.25
"""So much more than the limit must be free before tickets start again, or they would start and stop by turns."""
LOOK_S = 10.0
"""How often the disk is looked at."""


class Space(Protocol):
    """What ``os.statvfs`` tells."""

    @property
    def f_frsize(self) -> int: ...
    @property
    def f_blocks(self) -> int: ...
    @property
    def f_bavail(self) -> int: ...
    @property
    def f_files(self) -> int: ...
    @property
    def f_favail(self) -> int: ...


def shortage(space: Space, ease: float = 1.0) -> str:
    """Return what there is too little of, in words that stay the same while it is; empty where there is enough.

    Args:
        space: of one file system. One that does not count its files says that it has none.
        ease: the limits are so many times as high.
    """
    limit = min(LIMIT_BYTES, LIMIT_SHARE * space.f_blocks * space.f_frsize)
    if space.f_bavail * space.f_frsize < ease * limit:
        return f"less than {limit / 1e6:.0f} MB free"
    files = min(LIMIT_FILES, LIMIT_SHARE * space.f_files)
    if space.f_favail < ease * files:
        return f"room for fewer than {files:.0f} files"
    return ""


class DiskWatch:
    """Holds new tickets back while one of some directories is on a disk that is nearly full."""

    def __init__(
        self,
        holds: Holds,
        paths: Iterable[Path],
        *,
        statvfs: Callable[[Path], Space] = os.statvfs,
    ) -> None:
        """Prepare to watch.

        Args:
            holds: where the reason is put up and taken down.
            paths: the directories; one that does not exist is left out.
            statvfs: asks the system, in a thread: a disk may take its time to answer.
        """
        self._holds = holds
        self._paths = tuple(paths)
        self._statvfs = statvfs

    async def look(self) -> None:
        """Look once."""
        ease = _EASE if HOLD in self._holds else 1.0
        found = await anyio.to_thread.run_sync(self._shortages, ease, abandon_on_cancel=True)
        if found:
            self._holds.set(HOLD, f"new tickets wait for space on the disk ({'; '.join(found)})")
        else:
            self._holds.clear(HOLD)

    def _shortages(self, ease: float) -> list[str]:
        found: dict[str, str] = {}
        for path in self._paths:
            try:
                words = shortage(self._statvfs(path), ease)
            except OSError:
                continue
            if words:
                found.setdefault(words, f"{path} has {words}")
        return list(found.values())

    async def run(self, every_s: float = LOOK_S) -> None:
        """Look again and again, for ever."""
        while True:
            await self.look()
            await anyio.sleep(every_s)
