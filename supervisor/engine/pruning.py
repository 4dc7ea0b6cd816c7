"""How many snapshots a ticket keeps: the newest, and every one that can still be gone back to.

Each prompt and each ending of an attempt takes one, so without a bound a ticket that is talked to for weeks slows git
down for the whole repository. What is dropped are the oldest of those that only say how an agent left the files; git
removes what they alone held when it next cleans up. A rewind to a prompt from before then can no longer tell for all
files whether somebody else has changed them since, and says so.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from supervisor.core.errors import WorktreeError
from supervisor.core.rewinds import can_be_gone_back_to

if TYPE_CHECKING:
    from supervisor.engine.context import Engine

log = logging.getLogger("supervisor.pruning")
KEPT = 50
"""So many of a ticket's newest snapshots stay, whatever they are for."""
EVERY = 20
"""So many are taken before it is looked again: looking reads the ticket's whole history."""


async def prune(engine: Engine, ticket: str) -> int:
    """Drop a ticket's snapshots beyond the bound and return how many. One that git cannot drop stays.

    May be called while the ticket works: what it takes meanwhile is among the newest. Raises StoreError.
    """
    if engine.snapshots.taken(ticket) <= EVERY:
        return 0
    try:
        old = (await engine.snapshots.list(ticket))[:-KEPT]
        events = await engine.journal.store.events(ticket)
        needed = can_be_gone_back_to(events)
        fork = engine.forks.get(ticket)
        begun = [letter.id for letter in await engine.journal.store.open_letters(ticket)]
        gone = [
            one
            for one in old
            if one.commit not in needed
            and not (fork is not None and one.commit == fork.files)
            and not any(ident in one.message for ident in begun)
        ]
        await engine.snapshots.drop(ticket, gone)
    except WorktreeError as error:
        log.warning("snapshots of %s could not be dropped: %s", ticket, error)
        return 0
    return len(gone)
