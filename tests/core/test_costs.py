"""What is recorded against what was served, by a model of sessions that knows both."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.core import costs, fold
from supervisor.core import events as ev
from supervisor.core.budget import CostMeter, unreported
from supervisor.core.model import Mode, Outcome, PromptKind, TicketSnapshot
from supervisor.core.usage import Prices, UsageMeter, lost_spend

PRICE = 2e-6
MODEL = "m"
CALLS = st.lists(st.integers(1, 400_000), min_size=1, max_size=4)
"""Input tokens of the API calls of a turn."""


@dataclass
class Session:
    """A conversation as the CLI keeps it: its own count, and what of that was written down."""

    served: float = 0.0
    """What all its calls have really cost."""
    counter: float = 0.0
    kept: float = 0.0


@dataclass
class World:
    """One lineage of tickets and their sessions; everything that is recorded goes through the real arithmetic."""

    sessions: dict[str, Session] = field(default_factory=lambda: {"s1": Session()})
    events: dict[str, list[ev.Event]] = field(default_factory=lambda: {"001": []})
    current: dict[str, str] = field(default_factory=lambda: {"001": "s1"})
    prices: Prices = field(default_factory=Prices)
    unseen: float = 0.0
    """Cost of calls that were killed before any message of theirs was heard."""
    calls: int = 0
    past: float = 0.0
    """What forks' sessions had cost before: paid by their parents."""

    def __post_init__(self) -> None:
        self.prices.learn({MODEL: {"inputTokens": 1000, "costUSD": 1000 * PRICE}})

    def emit(self, ticket: str, event: ev.Event) -> None:
        self.events[ticket].append(event)

    def snapshot(self, ticket: str) -> TicketSnapshot:
        snapshot = TicketSnapshot(ticket)
        for event in self.events[ticket]:
            snapshot = fold.reduce(snapshot, event)
        return snapshot

    @property
    def served(self) -> float:
        return sum(s.served for s in self.sessions.values()) - self.past

    @property
    def recorded(self) -> float:
        return sum(self.snapshot(ticket).spent_usd for ticket in self.events)

    def call(self, session: Session, usage: UsageMeter, tokens: int) -> None:
        """One API call, of which a message is heard."""
        self.calls += 1
        cost = tokens * PRICE
        session.served += cost
        session.counter += cost
        usage.see(f"msg-{self.calls}", MODEL, {"input_tokens": tokens})

    def fork(self, ticket: str, inherits: bool) -> None:
        """Another ticket goes on with a copy of the conversation, which may carry what that had cost."""
        child = f"{ticket}.{len(self.events) + 1}"
        parent = self.sessions[self.current[ticket]]
        kept = parent.kept if inherits else 0.0
        self.sessions[child] = Session(kept, kept, kept)
        self.past += kept
        self.events[child], self.current[child] = [], child

    def attempt(self, ticket: str, turns: list[tuple[list[int], bool]], ending: str, cut: list[int]) -> None:
        """Connect, take turns (some of them clear the conversation first), and end in one of several ways."""
        number, at = len([e for e in self.events[ticket] if isinstance(e, ev.AttemptStarted)]) + 1, 0.0
        session = self.sessions[self.current[ticket]]
        session.counter = session.kept
        meter, usage, ident = CostMeter(session.counter), UsageMeter(), self.current[ticket]
        self.emit(ticket, ev.AttemptStarted(ticket, at, number, Mode.RESUME, ident))
        found = costs.correction(costs.sheet(self.events[ticket]), ticket, at, ident, meter.baseline_usd)
        if found is not None:
            self.emit(ticket, found)
        self.emit(ticket, ev.AttemptConnected(ticket, at, number, baseline_usd=meter.baseline_usd))
        for calls, clears in turns:
            if clears:
                ident = f"{ident}'"
                session = self.sessions[ident] = Session()
                self.current[ticket] = ident
                meter.reset()
                self.emit(ticket, ev.SessionReplaced(ticket, at, number, ident))
            for tokens in calls:
                self.call(session, usage, tokens)
            cost = meter.turn(session.counter)
            usage.settle(cost)
            told = ("u", "success", "completed", False, 1, cost, session.counter)
            self.emit(ticket, ev.PromptStored(ticket, at, number, "u", PromptKind.TASK, "x"))
            self.emit(ticket, ev.TurnEnded(ticket, at, number, *told))
        for tokens in cut if ending != "done" else ():
            self.call(session, usage, tokens)
        lost = [0.0, 0.0]
        if ending == "killed":
            session.served += 0.01  # a call was under way of which nobody heard
            self.unseen += 0.01
            lost[0] = lost_spend(usage, self.prices, None)
        else:
            session.kept = session.counter
        if ending == "told" and not usage.empty:
            lost[1] = unreported(meter.total_usd, session.kept) or 0.0
        elif ending == "ended" and not usage.empty:  # its file could not be read: the next baseline tells
            lost[0] = lost_spend(usage, self.prices, None) * 1.7
        self.emit(
            ticket, ev.AttemptEnded(ticket, at, number, Outcome.CRASHED, estimated_usd=lost[0], settled_usd=lost[1])
        )


TURNS = st.lists(st.tuples(CALLS, st.booleans()), max_size=3)
ORDERLY = st.sampled_from(["done", "told", "ended"])
ANY = st.sampled_from(["done", "told", "ended", "killed"])


Life = tuple[list[tuple[list[int], bool]], str, list[int]]
"""Turns, each with its calls and whether it clears the conversation first; an ending; the calls of a turn cut short."""
Steps = list[tuple[int, Life | bool]]
"""What happens to which ticket: an attempt, or a fork that inherits what the conversation had cost, or does not."""


def _attempts(ending: st.SearchStrategy[str]) -> st.SearchStrategy[Steps]:
    attempt = st.tuples(TURNS, ending, CALLS)
    fork = st.booleans()
    return st.lists(st.tuples(st.integers(0, 3), attempt | fork), min_size=1, max_size=12)


def _play(steps: Steps) -> World:
    world = World()
    for which, step in steps:
        ticket = list(world.events)[which % len(world.events)]
        if isinstance(step, bool):
            world.fork(ticket, step)
        else:
            world.attempt(ticket, *step)
    for ticket in list(world.events):
        world.attempt(ticket, [], "done", [])  # whoever looks again finds out
    return world


@settings(max_examples=300)
@given(_attempts(ORDERLY))
def test_what_is_recorded_is_what_was_served_where_processes_left_in_good_order(
    steps: Steps,
) -> None:
    world = _play(steps)
    assert world.recorded == pytest.approx(world.served, abs=1e-6)
    assert all(world.snapshot(ticket).estimated_usd == 0.0 for ticket in world.events), "nothing is a guess any more"


@settings(max_examples=300)
@given(_attempts(ANY))
def test_a_kill_loses_at_most_the_call_that_nobody_heard_of_and_nothing_counts_twice(
    steps: Steps,
) -> None:
    world = _play(steps)
    assert world.recorded <= world.served + 1e-6
    assert world.recorded >= world.served - world.unseen - 1e-6


@settings(max_examples=100)
@given(_attempts(ANY))
def test_the_sheet_adds_up_to_what_the_ticket_has_spent(steps: Steps) -> None:
    world = _play(steps)
    for ticket, events in world.events.items():
        sheet = costs.sheet(events)
        assert sum(a.cost_usd for a in sheet) == pytest.approx(world.snapshot(ticket).spent_usd, abs=1e-9)
        assert sum(a.estimated_usd for a in sheet) == pytest.approx(world.snapshot(ticket).estimated_usd, abs=1e-9)


def _attempt(
    number: int, baseline: float, total: float | None = None, estimate: float = 0.0, settled: float = 0.0
) -> list[ev.Event]:
    about = ("001", 1.0, number)
    turn = ev.TurnEnded(*about, "u", "success", "completed", False, 1, cost_usd=(total or 0) - baseline)
    return [
        ev.AttemptStarted(*about, Mode.RESUME, "s", cap_usd=1.0),
        ev.AttemptConnected(*about, baseline_usd=baseline),
        *([] if total is None else [_total(turn, total)]),
        ev.AttemptEnded(*about, Outcome.CRASHED, estimated_usd=estimate, settled_usd=settled),
    ]


def _total(turn: ev.TurnEnded, total: float) -> ev.TurnEnded:
    from dataclasses import replace

    return replace(turn, total_cost_usd=total)


@pytest.mark.parametrize(
    ("attempts", "baseline", "by"),
    [
        (_attempt(1, 0.0, 0.5), 0.5, None),
        (_attempt(1, 0.0, 0.5, estimate=0.1), 0.55, -0.05),
        (_attempt(1, 0.0, 0.5, estimate=0.1), 0.7, 0.1),
        (_attempt(1, 0.0, 0.5, estimate=0.1), 0.6, 0.0),
        (_attempt(1, 0.0, 0.5, settled=0.1), 0.6, None),
        (_attempt(1, 0.0, 0.5), 0.6, 0.1),
        (_attempt(1, 0.0, 0.5, estimate=0.1), 0.0, None),
        (_attempt(1, 0.0, 0.5, estimate=0.1), 0.5, None),
        (_attempt(1, 0.2, estimate=0.1), 0.2, None),
        (_attempt(1, 0.2, estimate=0.1), 0.25, -0.05),
    ],
    ids=["told-all", "less", "more", "right", "settled", "unseen", "lost", "lost-after", "lost-before", "no-result"],
)
def test_the_next_baseline_corrects_what_was_booked(
    attempts: list[ev.Event], baseline: float, by: float | None
) -> None:
    found = costs.correction(costs.sheet(attempts), "001", 2.0, "s", baseline)
    assert (None if found is None else found.by_usd) == (None if by is None else pytest.approx(by))


def test_a_session_that_nobody_used_before_corrects_nothing() -> None:
    assert costs.correction(costs.sheet(_attempt(1, 0.0, 0.5)), "001", 2.0, "another", 9.0) is None
    assert costs.correction((), "001", 2.0, "s", 9.0) is None


def test_a_correction_is_not_made_twice() -> None:
    events = _attempt(1, 0.0, 0.5, estimate=0.1)
    found = costs.correction(costs.sheet(events), "001", 2.0, "s", 0.55)
    assert found is not None
    events += [found, ev.AttemptStarted("001", 2.0, 2, Mode.RESUME, "s")]
    assert costs.correction(costs.sheet(events), "001", 3.0, "s", 0.55) is None
    events += _attempt(2, 0.55)
    assert costs.correction(costs.sheet(events), "001", 3.0, "s", 0.55) is None


def test_an_overshoot_is_what_lies_beyond_the_cap() -> None:
    (attempt,) = costs.sheet(_attempt(1, 0.2, 1.35))
    assert [attempt.cost_usd, attempt.overshoot_usd] == pytest.approx([1.15, 0.15])


def test_lineages() -> None:
    tickets = [
        TicketSnapshot("001", spent_usd=1.0),
        TicketSnapshot("001.2", spent_usd=0.5, parent="001"),
        TicketSnapshot("002", spent_usd=2.0),
        TicketSnapshot("001.2.2", spent_usd=0.25, parent="001.2"),
    ]
    found = {f.root: (f.spent_usd, [t.id for t in f.members]) for f in costs.lineages(tickets)}
    assert found == {"001": (1.75, ["001", "001.2", "001.2.2"]), "002": (2.0, ["002"])}
