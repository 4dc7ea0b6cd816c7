"""Agents that fall silent, and clocks that are set while tickets wait."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from supervisor.core import events as ev
from supervisor.core.model import Mode, Outcome, State, TicketSnapshot, Why
from supervisor.engine import parking
from supervisor.engine.parking import Parking
from supervisor.engine.watchdog import MOST_LOOK_S, Watchdog
from tests.engine.acts import deaf, hang, overloaded, unbegun
from tests.engine.world import World, attempts, check_books, running, stored, ticket

if TYPE_CHECKING:
    from tests.engine.fake_session import Act

pytestmark = pytest.mark.anyio
SOON = 0.001
"""Minutes after which an agent is taken to be silent."""


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def _looks(watchdog: Watchdog, clock: Clock, *gaps: float) -> list[bool]:
    """Let time pass in gaps, each with a look at its end."""
    found = []
    for gap in gaps:
        clock.now += gap
        found.append(watchdog.is_overdue())
    return found


def test_silence_is_counted_from_the_last_thing_heard() -> None:
    clock = Clock()
    watchdog = Watchdog(60, clock)
    watchdog.heard()
    assert watchdog.look_s == 6
    assert _looks(watchdog, clock, *[6.0] * 9) == [False] * 9
    watchdog.heard()
    assert _looks(watchdog, clock, *[6.0] * 10) == [False] * 9 + [True]


def test_a_pause_of_ours_is_no_silence_of_the_agents() -> None:
    clock = Clock()
    watchdog = Watchdog(900, clock)
    watchdog.heard()
    assert watchdog.look_s == MOST_LOOK_S
    assert _looks(watchdog, clock, 3600.0, 86_400.0) == [False, False]
    left = int(900 / MOST_LOOK_S) - 2 * 2
    assert _looks(watchdog, clock, *[MOST_LOOK_S] * left) == [False] * (left - 1) + [True]


SILENT: dict[str, Act] = {"hears": hang(), "deaf": deaf(), "unbegun": unbegun()}


@pytest.mark.parametrize("how", SILENT)
async def test_a_silent_agent_is_interrupted_and_its_session_resumed(
    world: World, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supervisor.engine.turns.RESULT_GRACE_S", 0.05)
    world.agents.acts["001"].append(SILENT[how])
    async with world.batch(ticket(stall_minutes=SOON)) as batch:
        await batch.pool.run()
        assert (await stored(batch))["001"].state is State.DONE
        first, second = await attempts(batch)
        await check_books(batch)
    assert (first.outcome, first.detail) == (Outcome.INTERRUPTED, "no message for 0.001 minutes")
    assert (second.outcome, second.session_id) == (Outcome.DONE, first.session_id)
    assert second.mode is (Mode.FRESH if how == "unbegun" else Mode.RESUME), "what never reached the disk begins again"
    assert world.agents.sessions[0].killed is (how == "deaf"), "who does not hear is ended at once"


async def test_an_agent_that_is_silent_again_waits_for_the_operator(world: World) -> None:
    world.agents.acts["001"].extend([hang(), hang()])
    async with world.batch(ticket(stall_minutes=SOON)) as batch, running(batch):
        await world.until(lambda: batch.board["001"].state is State.NEEDS_YOU)
        found = batch.board["001"]
        assert (found.why, found.detail) == (Why.STALLED, "no message for 0.001 minutes")
        assert len(world.agents.sessions) == 2
        batch.submit("resume", ["001"])
        await world.until(lambda: batch.board["001"].state is State.DONE)
        assert [a.outcome for a in await attempts(batch)] == [Outcome.INTERRUPTED] * 2 + [Outcome.DONE]


async def test_a_wish_counts_more_than_a_silence(world: World) -> None:
    """It comes while the agent is being interrupted for its silence."""
    world.agents.acts["001"].append(hang())
    async with world.batch(ticket(stall_minutes=SOON)) as batch:
        world.agents.moments["interrupting"] = lambda _: batch.request_stop()
        await batch.pool.run(stay=True)
        assert (await stored(batch))["001"].state is State.QUEUED
        assert len(await attempts(batch)) == 1


def _parked(ident: str, until: float | None) -> TicketSnapshot:
    return TicketSnapshot(ident, state=State.PARKED, until=until)


def test_parked_tickets_go_on_at_their_time() -> None:
    wall, ours = Clock(), Clock()
    place = Parking(wall, ours)
    tickets = [_parked("001", 1010.0), _parked("002", 1020.0), _parked("003", None), TicketSnapshot("004")]
    assert place.look(tickets) == (["003"], 10.0)
    wall.now = ours.now = 1010.0
    assert place.look(tickets[:2]) == (["001"], 10.0)
    assert place.look([]) == ([], None)


def test_a_clock_that_is_set_back_makes_nobody_wait_longer() -> None:
    wall, ours = Clock(), Clock()
    place, tickets = Parking(wall, ours), [_parked("001", 1100.0)]
    assert place.look(tickets) == ([], parking.LOOK_S)
    wall.now -= 3600
    ours.now += 99
    assert place.look(tickets) == ([], 1.0)
    ours.now += 1
    assert place.look(tickets) == (["001"], None)


def test_a_clock_that_was_set_back_before_the_first_look() -> None:
    wall, ours = Clock(), Clock()
    place = Parking(wall, ours)
    wall.now -= 3600
    assert place.look([replace(_parked("001", 1010.0), last_activity=1000.0)]) == ([], 10.0)


def test_hours_that_the_machine_slept_count() -> None:
    wall, ours = Clock(), Clock()
    place, tickets = Parking(wall, ours), [_parked("001", 5000.0)]
    assert place.look(tickets) == ([], parking.LOOK_S)
    wall.now += 4000
    ours.now += 1
    assert place.look(tickets) == (["001"], None)


def test_another_time_is_counted_anew() -> None:
    wall, ours = Clock(), Clock()
    place = Parking(wall, ours)
    place.look([_parked("001", 1010.0)])
    ours.now += 9
    assert place.look([_parked("001", 1020.0)]) == ([], 20.0), "by neither clock has the new time come nearer"


async def test_a_clock_that_is_set_back_while_a_ticket_is_parked(world: World) -> None:
    world.backoff_s = 0.05
    world.agents.acts["001"].append(overloaded())
    async with world.batch(ticket()) as batch:

        def set_back(event: ev.Event, _: TicketSnapshot, after: TicketSnapshot) -> None:
            if after.state is State.PARKED and isinstance(event, ev.StateChanged):
                world.pass_time(-3600.0)

        batch.board.listen(set_back)
        await batch.pool.run()
        assert (await stored(batch))["001"].state is State.DONE
