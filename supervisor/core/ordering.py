"""In which order tickets stand, and in which groups. Pure; works on places in the file's order, not on tickets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from supervisor.core.model import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from supervisor.core.model import TicketSnapshot


class Sort(StrEnum):
    """What decides which ticket comes first. The value is the words for it; equals stay in the file's order."""

    FILE = "file order"
    STATE = "state"
    """What needs the operator first, what is over last."""
    COST = "cost"
    """The dearest first."""
    HEADROOM = "headroom"
    """The least first; tickets without a budget last."""
    AGE = "age"
    """The longest under way first."""
    LAST = "last activity"
    """The latest first."""
    ATTEMPTS = "attempts"
    """The most first."""

    def next(self) -> Sort:
        """Return the one after this, round and round."""
        members = list(Sort)
        return members[(members.index(self) + 1) % len(members)]


class Group(StrEnum):
    """What stands together under a heading. The value is the word for it."""

    NONE = "none"
    STATE = "state"
    LINEAGE = "lineage"
    """A ticket with all its forks; what has no forks comes last, under one heading."""

    def next(self) -> Group:
        """Return the one after this, round and round."""
        members = list(Group)
        return members[(members.index(self) + 1) % len(members)]


STATE_ORDER = (
    State.NEEDS_YOU,
    State.FAILED,
    State.RUNNING,
    State.STARTING,
    State.PARKED,
    State.QUEUED,
    State.PAUSED,
    State.DONE,
    State.CANCELLED,
)
"""The order of states: what asks for the operator, what moves, what waits, what is over."""
_DIGITS = 6
"""Of a dollar; beyond them sums differ by how they were added."""
_RANK = {state: rank for rank, state in enumerate(STATE_ORDER)}


def under_way_s(ticket: TicketSnapshot, now: float) -> float | None:
    """Return for how many seconds a ticket has been under way, or was; None for one that never started."""
    if ticket.started is None:
        return None
    end = now if ticket.holds_slot else ticket.ended or ticket.last_activity or ticket.started
    return end - ticket.started


def sort_key(sort: Sort, ticket: TicketSnapshot, now: float) -> float:
    """Return the number by which a ticket is sorted, the least first."""
    match sort:
        case Sort.FILE:
            return 0
        case Sort.STATE:
            return _RANK[ticket.state]
        case Sort.COST:
            return -round(ticket.so_far_usd, _DIGITS)
        case Sort.HEADROOM:
            left = ticket.left_usd
            return math.inf if left is None else round(left, _DIGITS)
        case Sort.AGE:
            age = under_way_s(ticket, now)
            return math.inf if age is None else -age
        case Sort.LAST:
            return math.inf if ticket.started is None or ticket.last_activity is None else -ticket.last_activity
        case Sort.ATTEMPTS:
            return -ticket.attempts


class Families:
    """Who descends from whom, by place. Holds as long as the same tickets stand in the same order."""

    def __init__(self, rows: Sequence[TicketSnapshot]) -> None:
        """Take the tickets in the file's order, parents before their forks."""
        places: dict[str, int] = {}
        self._parents: list[int | None] = []
        self._roots: list[int] = []
        sizes = [0] * len(rows)
        for place, ticket in enumerate(rows):
            parent = places.get(ticket.parent) if ticket.parent is not None else None
            self._parents.append(parent)
            self._roots.append(place if parent is None else self._roots[parent])
            sizes[self._roots[place]] += 1
            places[ticket.id] = place
        self._sizes = sizes

    def root(self, place: int) -> int:
        """Return the place of the ticket that a lineage began with."""
        return self._roots[place]

    def has_forks(self, root: int) -> bool:
        """Return whether a lineage is more than its root."""
        return self._sizes[root] > 1

    def depths(self, places: Iterable[int]) -> list[int]:
        """Return for each place how many of its ancestors stand above it; hidden ones do not count."""
        depths: dict[int, int] = {}
        for place in places:
            above = self._parents[place]
            while above is not None and above not in depths:
                above = self._parents[above]
            depths[place] = 0 if above is None else depths[above] + 1
        return list(depths.values())


@dataclass(frozen=True, slots=True)
class Block:
    """Tickets that stand together."""

    places: tuple[int, ...]
    of: State | int | None = None
    """What they have in common: their state, or the place of their root. None for the rest, or for all."""


def arrange(rows: Sequence[TicketSnapshot], keys: Mapping[int, float], group: Group, families: Families) -> list[Block]:
    """Return the places of what is shown, in blocks and in their order.

    Args:
        rows: All tickets, in the file's order.
        keys: What is shown: by place, in the file's order, what `sort_key` says.
        group: What stands together.
        families: The lineages of ``rows``.
    """
    match group:
        case Group.NONE:
            return [Block(_in_order(keys, keys))]
        case Group.STATE:
            return list(_states(rows, keys))
        case Group.LINEAGE:
            return list(_lineages(keys, families))


def _in_order(places: Iterable[int], keys: Mapping[int, float]) -> tuple[int, ...]:
    return tuple(sorted(places, key=keys.__getitem__))


def _states(rows: Sequence[TicketSnapshot], keys: Mapping[int, float]) -> Iterator[Block]:
    members: dict[State, list[int]] = {}
    for place in keys:
        members.setdefault(rows[place].state, []).append(place)
    for state in sorted(members, key=_RANK.__getitem__):
        yield Block(_in_order(members[state], keys), state)


def _lineages(keys: Mapping[int, float], families: Families) -> Iterator[Block]:
    members: dict[int | None, list[int]] = {}
    for place in keys:
        of = families.root(place)
        members.setdefault(of if families.has_forks(of) else None, []).append(place)
    single = members.pop(None, [])
    for root, family in sorted(members.items(), key=lambda item: min(keys[place] for place in item[1])):
        yield Block(tuple(family), root)
    if single:
        yield Block(_in_order(single, keys))
