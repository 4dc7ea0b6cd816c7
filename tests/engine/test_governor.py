"""The governor of starts: storms, refused keys and windows, over scripted agents on virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.core import events as ev
from supervisor.core.limits import Window
from supervisor.core.model import Mode, Outcome, State, Why
from supervisor.leaving import exit_code
from tests.engine import storm
from tests.engine.acts import crash, finish, overloaded
from tests.engine.virtual import START, VirtualWorld, running
from tests.engine.world import World, attempts, check_books, stored, ticket

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.core.model import TicketSnapshot
    from supervisor.engine.batch import Batch
    from tests.engine.fake_session import Act, FakeSession

pytestmark = pytest.mark.anyio
IDS = tuple(f"{n:03}" for n in range(1, 21))


@pytest.fixture
def virtual(tmp_path: Path) -> VirtualWorld:
    """A world whose time passes at once."""
    return VirtualWorld(tmp_path / "world")


@pytest.mark.parametrize("seed", range(3))
async def test_twenty_tickets_come_through_a_storm(tmp_path: Path, seed: int) -> None:
    found = await storm.run(tmp_path / "world", seed)
    assert found.done == storm.TICKETS
    assert found.nearest_s >= 0.1, "no two restarts fall together"
    assert found.too_fast == 0, "nothing starts faster than the governor lets it"
    assert found.fresh == 0, "a refusal is no reason for a new session"
    assert found.paid_usd == pytest.approx(storm.TICKETS * storm.CALLS * storm.CALL_USD), "nothing is paid for twice"
    assert found.recorded_usd == pytest.approx(found.paid_usd)
    assert found.refused <= storm.TICKETS + 20, "each hears it once, then one at a time asks"
    assert found.seconds <= storm.CALM - START + 60


class Keys:
    """An API that takes our key from some time on."""

    def __init__(self, world: World) -> None:
        self.good = False
        self.asked: list[str] = []
        """Whose requests came, in order."""
        world.agents.default = self.act()

    def act(self) -> Act:
        """Return what every agent does."""

        async def work(session: FakeSession, uuid: str) -> None:
            self.asked.append(session.start.ticket)
            await (finish() if self.good else overloaded(401))(session, uuid)

        return work


def _asking(batch: Batch) -> list[str]:
    return [t.id for t in batch.board if t.state is State.NEEDS_YOU]


async def _refused(virtual: VirtualWorld, batch: Batch, parked: int) -> list[str]:
    """Wait until a key was refused and all have come to rest; return who asks for another."""
    await virtual.until(lambda: _asking(batch) and sum(t.state is State.PARKED for t in batch.board) == parked)
    await virtual.time.sleep(1)
    return _asking(batch)


async def test_a_refused_key_is_one_thing_for_the_operator(virtual: VirtualWorld) -> None:
    keys, notices = Keys(virtual), list[str]()
    async with virtual.batch(*map(ticket, IDS), slots=4) as batch:
        batch.engine.holds.listen(lambda: notices.append(batch.engine.holds.words))
        async with running(batch):
            (asker,) = await _refused(virtual, batch, 3)
            assert batch.board[asker].why is Why.AUTH
            assert keys.asked == list(IDS[:4]), "those that ran find out, nobody else tries"
            parked = [t for t in batch.board if t.state is State.PARKED]
            assert {t.until for t in parked} == {None}
            assert len(parked) == 3
            assert "401" in batch.board.announced.notice
            keys.good = True
            batch.submit("resume", [asker])
            await virtual.until(lambda: all(t.state is State.DONE for t in batch.board))
            assert batch.board.announced.notice == ""
        assert [n for n in notices if "refused" in n] == notices[:1], "it was said once"
    assert keys.asked[4] == asker, "one tries the other key before all others do"
    assert len(keys.asked) == 4 + 20


async def test_a_wrong_key_again_asks_again_and_nobody_else_tries(virtual: VirtualWorld) -> None:
    keys = Keys(virtual)
    async with virtual.batch(*map(ticket, IDS), slots=4) as batch, running(batch):
        for tries in range(4):
            (asker,) = await _refused(virtual, batch, 3)
            assert len(keys.asked) == 4 + tries
            batch.submit("resume", [asker])
            await virtual.until(lambda: not _asking(batch))
        assert virtual.now() < START + 60


async def test_when_the_one_that_asks_is_cancelled_another_one_asks(virtual: VirtualWorld) -> None:
    keys = Keys(virtual)
    async with virtual.batch(*map(ticket, IDS), slots=4) as batch, running(batch):
        (asker,) = await _refused(virtual, batch, 3)
        batch.submit("cancel", [asker])
        await virtual.until(lambda: _asking(batch) not in ([], [asker]))
        assert len(keys.asked) == 5
        assert virtual.now() < START + 60


async def test_a_key_that_becomes_good_by_itself_is_noticed(virtual: VirtualWorld) -> None:
    """A login that is renewed in another window: one ticket looks now and then, ever more seldom."""
    keys = Keys(virtual)
    async with virtual.batch(*map(ticket, IDS), slots=4) as batch, running(batch):
        await virtual.until(lambda: virtual.now() > START + 1000)
        assert len(keys.asked) == 4 + 5, "after 60, 120, 240, 480 and 960 seconds"
        keys.good = True
        await virtual.until(lambda: all(t.state is State.DONE for t in batch.board))
        assert virtual.now() <= START + 2000


async def test_a_run_without_a_screen_ends_when_the_key_is_refused(virtual: VirtualWorld) -> None:
    keys = Keys(virtual)
    async with virtual.batch(*map(ticket, IDS), slots=4) as batch:
        await batch.pool.run()
        assert exit_code(batch.board) == 3
        await check_books(batch)
    for _ in range(2):  # the next starts find out with one ticket
        async with virtual.batch(*map(ticket, IDS), slots=4) as batch:
            await batch.pool.run()
            assert len(_asking(batch)) == 1
    assert len(keys.asked) == 4 + 1 + 1
    keys.good = True
    async with virtual.batch(*map(ticket, IDS), slots=4) as batch:
        await batch.pool.run()
        assert {t.state for t in batch.board} == {State.DONE}


def _patience(seconds: float, status: int = 429) -> Act:
    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.put(ev.Retrying(session.start.ticket, session.clock(), 1, 3, seconds, status))
        await session.interrupted.wait()
        session.result(uuid, "error_during_execution", "aborted_streaming", 0.0)

    return act


async def test_a_long_wait_of_the_cli_becomes_ours(virtual: VirtualWorld) -> None:
    """The agent's process and the slot are given back, and the ticket goes on when the API said so."""
    virtual.agents.acts["001"].append(_patience(50.0))
    async with virtual.batch(ticket(), ticket("002"), slots=1) as batch:
        parked = list[float]()

        def note(_: ev.Event, __: TicketSnapshot, now: TicketSnapshot) -> None:
            if now.state is State.PARKED:
                parked.append(now.until or 0.0)

        batch.board.listen(note)
        await batch.pool.run()
        first, second = await attempts(batch)
        assert {t.state for t in (await stored(batch)).values()} == {State.DONE}
    assert (first.outcome, first.detail, second.mode) == (Outcome.API_ERROR, "API 429: asks for patience", Mode.RESUME)
    assert second.started >= START + 50
    assert parked[0] >= START + 50
    assert virtual.agents.of("002")[0].start.ticket == "002"


async def test_a_short_wait_is_left_to_the_cli(virtual: VirtualWorld) -> None:
    async def act(session: FakeSession, uuid: str) -> None:
        session.put(ev.Retrying("001", session.clock(), 1, 3, 2.0, 429))
        await virtual.time.sleep(2.0)
        await session.finish(uuid)

    virtual.agents.acts["001"].append(act)
    async with virtual.batch(ticket(), ticket("002"), slots=2) as batch:
        await batch.pool.run()
        assert len(await attempts(batch)) == 1


async def test_while_the_cli_waits_nobody_else_starts(virtual: VirtualWorld) -> None:
    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.put(ev.Retrying("001", session.clock(), 1, 3, 10.0, 429))
        await virtual.time.sleep(12.0)
        await session.finish(uuid)

    virtual.agents.acts["001"].append(act)
    async with virtual.batch(ticket(), *(ticket(i, after=()) for i in IDS[1:4]), slots=2) as batch:
        second = virtual.agents.acts["002"]
        second.append(finish())
        await batch.pool.run()
        late = [(await attempts(batch, ident))[0].started for ident in IDS[2:4]]
    assert min(late) >= START + 10


WINDOWS = (Window("five_hour", 1.0, START + 500), Window("seven_day", 0.5, START + 5000))


def _exhausted(kind: str = "five_hour", resets_at: float = START + 500, overage: bool = False) -> Act:
    async def act(session: FakeSession, uuid: str) -> None:
        ident, now = session.start.ticket, session.clock()
        session.put(ev.LimitsSeen(ident, now, "rejected", kind, resets_at, WINDOWS, overage))
        await (finish() if overage else overloaded(429))(session, uuid)

    return act


async def test_a_window_that_is_used_up_parks_until_it_begins_anew_also_over_a_restart(virtual: VirtualWorld) -> None:
    virtual.agents.acts["001"].append(_exhausted())
    async with virtual.batch(ticket(), ticket("002"), slots=1) as batch, running(batch):
        await virtual.until(lambda: batch.board["001"].state is State.PARKED)
        totals = batch.board.totals()
        assert (totals.windows, totals.notional) == (WINDOWS, True)
        assert totals.notice.startswith("the 5-hour limit is used up: new tickets wait until ")
        assert totals.waits_until is not None
        assert START + 500 <= totals.waits_until <= START + 506
    async with virtual.batch(ticket(), ticket("002"), slots=1) as batch:
        assert batch.board.totals().notional
        await batch.pool.run()
        assert {t.state for t in batch.board} == {State.DONE}
        started = [(await attempts(batch, i))[-1].started for i in ("001", "002")]
    assert min(started) >= START + 500
    assert len(virtual.agents.prompts("002")) == 1


async def test_another_failure_does_not_change_what_is_waited_for(virtual: VirtualWorld) -> None:
    virtual.agents.acts["001"].append(_exhausted())

    async def afterwards(session: FakeSession, uuid: str) -> None:
        await virtual.until(lambda: batch.board["001"].state is State.PARKED)
        session.put(ev.Retrying("002", session.clock(), attempt=1, max_retries=2, delay_s=0.5, status=529))
        await overloaded()(session, uuid)

    virtual.agents.acts["002"].append(afterwards)
    async with virtual.batch(ticket(), ticket("002"), slots=2) as batch, running(batch):
        await virtual.until(lambda: batch.board["002"].state is State.PARKED)
        assert batch.board.totals().notice.startswith("the 5-hour limit is used up: new tickets wait until ")


async def test_the_window_of_one_family_holds_only_its_tickets(virtual: VirtualWorld) -> None:
    virtual.agents.acts["001"].append(_exhausted("seven_day_opus"))
    tickets = [ticket(model="opus"), ticket("002", model="opus"), ticket("003", model="sonnet")]
    async with virtual.batch(*tickets, slots=1) as batch:
        await batch.pool.run()
        started = {i: (await attempts(batch, i))[-1].started for i in IDS[:3]}
    assert started["003"] < START + 60
    assert min(started["001"], started["002"]) >= START + 500


async def test_a_window_that_is_paid_beyond_stops_nothing(virtual: VirtualWorld) -> None:
    virtual.agents.acts["001"].append(_exhausted(overage=True))
    async with virtual.batch(ticket(), ticket("002"), slots=1) as batch:
        await batch.pool.run()
        assert {t.state for t in batch.board} == {State.DONE}
    assert virtual.now() < START + 60


async def test_a_login_without_a_key_is_a_subscription(virtual: VirtualWorld) -> None:
    async def act(session: FakeSession, uuid: str) -> None:
        session.put(ev.LoginSeen("001", session.clock(), "none"))
        await session.finish(uuid)

    virtual.agents.acts["001"].append(act)
    async with virtual.batch(ticket()) as batch:
        await batch.pool.run()
        assert batch.board.totals().notional
        assert await batch.engine.journal.store.setting("costs are notional") == "yes"


async def test_a_ticket_that_crashes_in_bad_weather_waits_for_its_turn_too(virtual: VirtualWorld) -> None:
    """Its next attempt is a start like any other."""
    virtual.agents.acts["001"].append(overloaded(529))

    async def dies(session: FakeSession, uuid: str) -> None:
        await virtual.until(lambda: batch.board["001"].state is State.PARKED)
        await crash()(session, uuid)

    virtual.agents.acts["002"].append(dies)
    async with virtual.batch(ticket(), ticket("002"), slots=2) as batch:
        await batch.pool.run()
        first, second = await attempts(batch, "002")
    assert second.started - first.started >= 2.5


async def test_the_wait_can_be_stopped(virtual: VirtualWorld) -> None:
    virtual.agents.acts["001"].append(overloaded(529))
    async with virtual.batch(ticket(), ticket("002"), slots=1) as batch:
        async with running(batch):
            await virtual.until(lambda: batch.board["001"].state is State.PARKED)
            with anyio.fail_after(30):
                batch.request_stop()
                await batch.pool.finished.wait()
        assert batch.board["001"].state is State.PARKED
