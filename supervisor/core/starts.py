"""When a ticket in the queue gets an agent, in words: the same for the shell and for every dialog."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisor.core.model import BatchTotals

_PAUSED = "once tickets start again: starting is paused (p, or supervise starting on)"


def starts_when(batch: BatchTotals) -> str:
    """Return when the next ticket in the queue starts, in words that follow a verb such as ``goes on``.

    Args:
        batch: what is announced of the batch.
    """
    if batch.stopping:
        return "at the next start"
    if batch.starting_paused:
        return _PAUSED
    if batch.held:
        return f"once tickets start again ({batch.held})"
    return "as soon as a slot is free"
