"""What ids and ``after`` say together: ids used twice, names of no ticket, cycles, and the order of starting."""

from __future__ import annotations

import heapq
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from supervisor.config.faults import Faults
    from supervisor.core.spec import TicketSpec

_MOST_NAMED = 20


def check_ids(ids: Iterable[tuple[str, str]], faults: Faults) -> None:
    """Note ids used twice, also where only case differs: branches and directories of such ids collide.

    Args:
        ids: Place and id of every ticket, in file order.
        faults: Takes what is wrong.
    """
    seen: dict[str, tuple[str, str]] = {}
    for place, ticket_id in ids:
        folded = unicodedata.normalize("NFC", ticket_id).casefold()
        first_place, first = seen.setdefault(folded, (place, ticket_id))
        if first_place == place:
            continue
        same = "is used already" if first == ticket_id else f'is the same name as "{first}" on some disks'
        faults.add(f"{place} id", f'"{ticket_id}" {same}', f"see {first_place}")


def check_after(places: Mapping[str, str], after: Mapping[str, Sequence[str]], faults: Faults) -> None:
    """Note what tickets wait for in vain.

    Args:
        places: Place of each ticket, by id.
        after: What each waits for, by id.
        faults: Takes what is wrong.
    """
    for ticket_id, names in after.items():
        for name in names:
            if name == ticket_id:
                faults.add(f"{places[ticket_id]} after", "the ticket waits for itself")
            elif name not in places:
                faults.unknown(f"{places[ticket_id]} after", "ticket", name, places)
    for cycle in cycles(after):
        if len(cycle) > 1:
            faults.add(f"{places[cycle[0]]} after", f"tickets wait for each other: {_named(cycle)}")


def cycles(after: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Yield cycles as the ids on them, in the order of waiting; one at most begins at each ticket."""
    left: set[str] = set()
    heads: set[str] = set()
    for start in after:
        path: dict[str, Iterator[str]] = {} if start in left else {start: iter(after[start])}
        while path:
            here = next(reversed(path))
            name = next(path[here], None)
            if name is None:
                left.add(here)
                del path[here]
            elif name in path and name not in heads:
                heads.add(name)
                ids = list(path)
                yield ids[ids.index(name) :]
            elif name in after and name not in left and name not in path:
                path[name] = iter(after[name])


def _named(cycle: list[str]) -> str:
    ids = [*cycle, cycle[0]]
    if len(ids) > _MOST_NAMED:
        ids = [*ids[: _MOST_NAMED // 2], f"({len(ids) - _MOST_NAMED} more)", *ids[-_MOST_NAMED // 2 :]]
    return " → ".join(ids)


def starting_order(tickets: Sequence[TicketSpec]) -> list[TicketSpec]:
    """Return the tickets as one slot would start them: what they wait for, then priority, then file order."""
    waiting = {ticket.id: len(ticket.after) for ticket in tickets}
    dependants: dict[str, list[int]] = {}
    for index, ticket in enumerate(tickets):
        for name in ticket.after:
            dependants.setdefault(name, []).append(index)
    ready = [(-ticket.priority, index) for index, ticket in enumerate(tickets) if not ticket.after]
    heapq.heapify(ready)
    order: list[TicketSpec] = []
    while ready:
        ticket = tickets[heapq.heappop(ready)[1]]
        order.append(ticket)
        for index in dependants.get(ticket.id, ()):
            waiting[tickets[index].id] -= 1
            if not waiting[tickets[index].id]:
                heapq.heappush(ready, (-tickets[index].priority, index))
    return order
