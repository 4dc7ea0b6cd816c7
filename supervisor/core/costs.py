"""What a ticket's attempts have cost, spelled out from its events: baselines, totals, differences. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.budget import ROUNDING_USD, unreported

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from supervisor.core.model import Mode, Outcome, TicketSnapshot


@dataclass(frozen=True, slots=True)
class TurnCost:
    """What one result reported."""

    total_usd: float | None
    """The session's total, as reported."""
    cost_usd: float
    """The difference that it made."""
    ending: str
    is_ours: bool = True
    """It answers a prompt of ours."""
    tokens: int = 0


@dataclass(slots=True)
class AttemptCost:
    """What one attempt cost, and how that is known."""

    number: int
    mode: Mode
    session_id: str
    """The one it ended with."""
    cap_usd: float | None = None
    reserve_usd: float | None = None
    baseline_usd: float | None = None
    """The session's total right after connect; None while nothing was connected."""
    turns: list[TurnCost] = field(default_factory=list)
    estimated_usd: float = 0.0
    """Booked for what no result reported, by the messages that were seen; 0 once a correction took its place."""
    settled_usd: float = 0.0
    """Booked for what no result reported, as the process wrote it down."""
    corrected_usd: float = 0.0
    """By how much the next baseline of the session changed that."""
    replaced_usd: float = 0.0
    """The estimate that was corrected."""
    told_by_usd: float | None = None
    """The baseline that corrected it."""
    outcome: Outcome | None = None
    is_open: bool = True

    @property
    def reported_usd(self) -> float:
        """What its results reported."""
        return sum(turn.cost_usd for turn in self.turns)

    @property
    def booked_usd(self) -> float:
        """What was booked beside its results, corrections included."""
        return self.estimated_usd + self.replaced_usd + self.settled_usd + self.corrected_usd

    @property
    def cost_usd(self) -> float:
        """What it cost, as far as that is known."""
        return max(0.0, self.reported_usd + self.booked_usd)

    @property
    def overshoot_usd(self) -> float:
        """By how much it passed its cap; 0 where it did not, or had none."""
        return 0.0 if self.cap_usd is None else max(0.0, self.cost_usd - self.cap_usd)

    @property
    def known_usd(self) -> float | None:
        """The session's total as this attempt last heard of it; None if it never did."""
        told = [turn.total_usd for turn in self.turns if turn.total_usd is not None]
        return told[-1] if told else self.baseline_usd


def sheet(events: Iterable[ev.Event]) -> tuple[AttemptCost, ...]:
    """Return the costs of one ticket's attempts, oldest first, from its events in order."""
    attempts: dict[int, AttemptCost] = {}
    for event in events:
        if isinstance(event, ev.AttemptStarted):
            about = (event.number, event.mode, event.session_id, event.cap_usd, event.reserve_usd)
            attempts[event.number] = AttemptCost(*about)
        elif (number := getattr(event, "number", None)) in attempts:
            _take(attempts[number], event)
    return tuple(attempts.values())


def _take(attempt: AttemptCost, event: ev.Event) -> None:
    match event:
        case ev.AttemptConnected():
            attempt.baseline_usd = event.baseline_usd
        case ev.SessionReplaced():
            attempt.session_id = event.session_id
        case ev.TurnEnded():
            ending = "/".join(filter(None, (event.subtype, event.terminal_reason)))
            ours = event.prompt_uuid is not None
            cost = max(0.0, event.cost_usd)
            attempt.turns.append(TurnCost(event.total_cost_usd, cost, ending, ours, max(0, event.tokens)))
        case ev.AttemptEnded():
            attempt.outcome, attempt.is_open = event.outcome, False
            attempt.estimated_usd += max(0.0, event.estimated_usd)
            attempt.settled_usd += max(0.0, event.settled_usd)
        case ev.CostCorrected():
            attempt.corrected_usd += event.by_usd
            attempt.replaced_usd, attempt.estimated_usd = attempt.replaced_usd + attempt.estimated_usd, 0.0
            attempt.told_by_usd = event.baseline_usd
        case _:
            pass


def correction(
    attempts: Sequence[AttemptCost], ticket: str, at: float, session_id: str, baseline_usd: float
) -> ev.CostCorrected | None:
    """Return what a baseline tells of the last attempt on its session; None where it tells nothing new.

    A baseline that is no higher than what that attempt had heard was written down before it: its process was killed,
    and what was booked for it stays.
    """
    before = [a for a in attempts if a.session_id == session_id and a.known_usd is not None and not a.is_open]
    if not before:
        return None
    last = before[-1]
    assert last.known_usd is not None
    found = unreported(last.known_usd, baseline_usd)
    if found is None:
        return None
    by = found - last.booked_usd
    if abs(by) <= ROUNDING_USD and not last.estimated_usd:
        return None
    return ev.CostCorrected(ticket, at, last.number, by, last.estimated_usd, baseline_usd)


@dataclass(frozen=True, slots=True)
class Lineage:
    """A ticket and all its forks."""

    root: str
    members: tuple[TicketSnapshot, ...]
    """The root first, forks under their parents."""

    @property
    def spent_usd(self) -> float:
        """What all of them have spent: what a fork's session had cost before, its baseline has taken out."""
        return sum(t.spent_usd for t in self.members)


def lineages(tickets: Iterable[TicketSnapshot]) -> tuple[Lineage, ...]:
    """Return all tickets by their lineage, in the order of their roots."""
    known = {t.id: t for t in tickets}
    members: dict[str, list[TicketSnapshot]] = {}
    for ticket in known.values():
        members.setdefault(root_of(ticket, known), []).append(ticket)
    return tuple(Lineage(root, tuple(found)) for root, found in members.items())


def root_of(ticket: TicketSnapshot, known: Mapping[str, TicketSnapshot]) -> str:
    """Return the ticket that a ticket was forked from in the end; its own id where it is no fork."""
    seen = {ticket.id}
    while ticket.parent is not None and ticket.parent in known and ticket.parent not in seen:
        ticket = known[ticket.parent]
        seen.add(ticket.id)
    return ticket.id
