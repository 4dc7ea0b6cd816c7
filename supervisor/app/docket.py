"""Decisions on their way to the engine, and what was answered. It outlives the screens: no refusal goes unseen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisor.app.ports import BatchPort
    from supervisor.engine.desk import Ruling


@dataclass(frozen=True, slots=True)
class Refusal:
    """A decision that was not carried out."""

    key: str
    text: str
    """For the operator; untrusted."""
    ruling: Ruling | None = None
    """What was asked; None for a probe."""


class Docket:
    """Sends decisions and takes answers. Answers may come from any task of the loop, so they only leave a mark."""

    def __init__(self, port: BatchPort) -> None:
        self._port = port
        self.version = 0
        """Rises with everything that is sent or answered."""
        self.pending: dict[str, str] = {}
        """By the effect's key the label of what was asked."""
        self._refusals: dict[str, Refusal] = {}
        self._untold: list[Refusal] = []

    def rule(self, ruling: Ruling, label: str, *, once_more: bool = False) -> None:
        """Send a decision; it is pending on return."""
        self._begin(ruling.key, label)
        self._port.rule(ruling, lambda text: self._answered(ruling.key, text, ruling), once_more=once_more)

    def probe(self, key: str, label: str) -> None:
        """Have the other system asked; it is pending on return."""
        self._begin(key, label)
        self._port.probe(key, lambda text: self._answered(key, text, None))

    def refusal(self, key: str) -> Refusal | None:
        """Return why the last decision about an effect was refused; None after a newer one, or `forget`."""
        return self._refusals.get(key)

    def forget(self, key: str) -> None:
        """Drop a refusal that was read."""
        self._refusals.pop(key, None)

    def untold(self) -> list[Refusal]:
        """Return the refusals since the last call."""
        told, self._untold = self._untold, []
        return told

    def _begin(self, key: str, label: str) -> None:
        self.forget(key)
        self.pending[key] = label
        self.version += 1

    def _answered(self, key: str, text: str | None, ruling: Ruling | None) -> None:
        self.pending.pop(key, None)
        if text is not None:
            self._refusals[key] = Refusal(key, text, ruling)
            self._untold.append(self._refusals[key])
        self.version += 1
