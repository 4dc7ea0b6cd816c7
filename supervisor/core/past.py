"""What happened to a ticket, as far as it tells how to read the files of its sessions again. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.asks import ALLOWS

if TYPE_CHECKING:
    from collections.abc import Iterable

ASKING = (ev.AskOpened, ev.AskAnswered)
"""Events that tell of denied calls."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """One session of a ticket's conversation."""

    session_id: str
    since: float = -math.inf
    """Seconds since the epoch: what its file tells of an earlier time was told before."""


def stretches(events: Iterable[ev.Event]) -> tuple[Stretch, ...]:
    """Return the sessions of a ticket's conversation in the order in which they were begun.

    A fork that is started over gets another copy of its parent's conversation, which the first one has told already.
    """
    found: dict[str, Stretch] = {}
    for event in events:
        match event:
            case ev.AttemptStarted(session_id=session) | ev.SessionReplaced(session_id=session):
                found.setdefault(session, Stretch(session))
            case ev.Forked(fork=fork):
                found.setdefault(fork.session_id, Stretch(fork.session_id))
            case ev.StartedOver(session_id=str(copy), at=at):
                found.setdefault(copy, Stretch(copy, at))
    return tuple(found.values())


def denied_calls(events: Iterable[ev.Event]) -> frozenset[str]:
    """Return the calls of tools that the operator denied while the agent waited, by the ids of their uses."""
    calls: dict[str, str] = {}
    denied: set[str] = set()
    for event in events:
        if isinstance(event, ev.AskOpened):
            calls[event.id] = event.tool_use_id
        elif isinstance(event, ev.AskAnswered) and event.kind not in ALLOWS and not event.rested:
            denied.add(calls.get(event.id, ""))
    return frozenset(denied - {""})
