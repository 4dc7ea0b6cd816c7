"""Letters: the operator's verbs on their way to a ticket, each a row on disk before anything happens.

A letter is closed in the same transaction as the change that carries it out, so that it is carried out once whenever we
are killed. A message's letter is its prompt: the letter's id is the prompt's uuid, which the agent takes in only once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Letter:
    """One verb for one ticket: a row of the mailbox."""

    id: str
    """A minted UUID; who sends it again says the same thing again, and nothing happens twice."""
    ticket: str
    verb: str
    at: float
    args: Mapping[str, Any] = field(default_factory=dict)
    """What the verb was told, as ``core.verb_args.checked`` returned it."""
    actor: str = ""
    """Who gave it."""
    closed: float | None = None
    says: str = ""
    """What came of it."""
    refused: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it still waits to be carried out."""
        return self.closed is None
