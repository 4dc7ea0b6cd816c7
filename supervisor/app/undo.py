"""What an undo would do: bring back the files that were taken back last. Undoing an undo does it again. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.rewinds import last_taken_back, undone_to

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Undo:
    """What an undo would do."""

    to: str
    """Where the files would be taken to, in words that follow "taken back to"."""
    snapshot: str
    """The commit that holds them."""
    prompts_since: int
    """Prompts since then: what the agent did on those would be taken back with it."""


def undo_of(events: Sequence[ev.Event]) -> Undo | None:
    """Return what an undo would do, given all lasting events of a ticket; None where there is nothing to undo."""
    last = last_taken_back(events)
    if last is None:
        return None
    since = events[next(place for place, event in enumerate(events) if event is last) :]
    return Undo(undone_to(events), last.snapshot, sum(isinstance(event, ev.PromptStored) for event in since))
