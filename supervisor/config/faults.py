"""Collects what is wrong with a file, so that the operator sees all of it at once.

The texts of a fault quote the file, so they are made safe to draw here, once for all.
"""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from supervisor.core.errors import ConfigError, Fault
from supervisor.core.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Collection

_MOST_LISTED = 12
_MOST_SEARCHED = 2_000
_MOST_SEARCHES = 100
_LONGEST_NAME = 100
_MOST_WORK = 10_000_000
"""Most pairs of characters that are compared for the hints of one file: half a second's work."""


class Faults:
    """The faults of one file, in the order they are found."""

    def __init__(self, file: str) -> None:
        self._file = safe_line(file)
        self._found: list[Fault] = []
        self._searches = 0
        self._work = 0

    def add(self, place: str, message: str, hint: str = "") -> None:
        """Note one fault; see `supervisor.core.errors.Fault` for the parts."""
        self._found.append(Fault(self._file, safe_line(place), safe_line(message), safe_line(hint)))

    def unknown(self, place: str, what: str, name: str, known: Collection[str]) -> None:
        """Note a name that does not exist, and the nearest that does."""
        self.add(place, f'unknown {what} "{name}"', self.nearest(name, known))

    def nearest(self, name: str, known: Collection[str]) -> str:
        """Return a hint at the right name; empty where there is nothing helpful to say.

        The search is slow, so a file that is wrong in hundreds of places gets fewer hints.
        """
        near = closest(name, known) if self._affords(name, known) else None
        if near:
            return f'did you mean "{near}"?'
        return "known: " + ", ".join(known) if 0 < len(known) <= _MOST_LISTED else ""

    def _affords(self, name: str, known: Collection[str]) -> bool:
        self._searches += 1
        if self._searches > _MOST_SEARCHES or len(name) > _LONGEST_NAME:
            return False
        self._work += len(name) * sum(map(len, islice(known, _MOST_SEARCHED)))
        return self._work <= _MOST_WORK

    def stop(self) -> None:
        """Raise ConfigError if anything was found."""
        if self._found:
            raise ConfigError(tuple(self._found))


def closest(name: str, known: Collection[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is most like ``name``, or None if none is like it."""
    if len(name) > _LONGEST_NAME:
        return None
    folded = {word.casefold(): word for word in islice(known, _MOST_SEARCHED)}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=cutoff)
    return folded[near[0]] if near else None
