"""Where a running supervisor listens, and what may be said there. Standard library only: a client is to start fast.

The protocol: newline-delimited JSON objects over a Unix socket in the state directory, one answer for each request.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STATE_DIR = ".supervisor"
"""The state directory's usual name, beside tickets.toml."""
SOCKET = "control.sock"
"""The socket's name in the state directory."""
MAX_REQUEST = 1_000_000
"""Most bytes of one request, its newline included."""
_MAX_PATH = 100
"""Longest path that every system takes as the address of a Unix socket."""
_OWN_FDS = Path("/proc/self/fd")


@contextmanager
def short(path: Path) -> Iterator[str]:
    """Give a spelling of a socket's path that fits into an address, for as long as the block runs.

    A long one goes through a descriptor of its directory, or where there is no ``/proc`` through a link to it. Neither
    changes the working directory, which all threads share. Raises OSError where the directory is missing.
    """
    if len(os.fsencode(path)) <= _MAX_PATH:
        yield str(path)
    elif _OWN_FDS.is_dir():
        fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield f"{_OWN_FDS}/{fd}/{path.name}"
        finally:
            os.close(fd)
    else:
        with tempfile.TemporaryDirectory(prefix="supervise-") as place:
            link = Path(place, "d")
            link.symlink_to(path.parent.absolute())
            yield str(link / path.name)
