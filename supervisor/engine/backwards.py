"""A file's lines from the last to the first, so that the end of a big one costs no more than that of a small one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLOCK_BYTES = 256 * 1024
MOST_BYTES = 32 * 1024 * 1024
"""How far back a file is read at most."""
LINE_BYTES = 4 * 1024 * 1024
"""A longer line is passed over."""


def lines_backwards(path: Path) -> Iterator[bytes]:
    """Yield a file's lines without their ends, the last one first; what is beyond `MOST_BYTES` stays unread.

    What follows the last line's end counts as a line: it may be half of one, if somebody is writing now.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        place = file.seek(0, os.SEEK_END)
        least = max(0, place - MOST_BYTES)
        parts: list[bytes] = []
        length = 0
        while place > least:
            size = min(BLOCK_BYTES, place - least)
            place -= size
            file.seek(place)
            first, *others = file.read(size).split(b"\n")
            if others:
                parts.append(others.pop())
                if length + len(parts[-1]) <= LINE_BYTES:
                    yield b"".join(reversed(parts))
                yield from reversed(others)
                parts, length = [], 0
            length += len(first)
            parts = [*parts, first] if length <= LINE_BYTES else []
        if place == 0 and 0 < length <= LINE_BYTES:
            yield b"".join(reversed(parts))
