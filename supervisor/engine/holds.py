"""Reasons why no further ticket is started for now, each put up and taken down by whoever knows of it.

What runs goes on. The pool starts nothing while there is a reason, and says in one notice what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Holds:
    """The reasons by name. For the tasks of one loop; nothing here waits."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._listeners: list[Callable[[], None]] = []

    def __bool__(self) -> bool:
        return bool(self._words)

    def __contains__(self, name: str) -> bool:
        return name in self._words

    def besides(self, *names: str) -> bool:
        """Return whether there is a reason of another name than these."""
        return any(name not in names for name in self._words)

    @property
    def words(self) -> str:
        """All reasons in one line for the operator, the oldest first; empty where there is none."""
        return "; ".join(self._words.values())

    def set(self, name: str, words: str) -> None:
        """Put a reason up, or say it in other words.

        Args:
            name: of the reason, such as ``disk``; one of that name is replaced.
            words: for the operator: what holds new tickets back, and what ends that.
        """
        if self._words.get(name) != words:
            self._words[name] = words
            self._tell()

    def clear(self, name: str) -> None:
        """Take a reason down; safe to call when it is not up."""
        if self._words.pop(name, None) is not None:
            self._tell()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` after each change; return the way to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()
