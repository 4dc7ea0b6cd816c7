"""Memory: what is available, when starts are held back for it, and what agents use."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.core.model import State
from supervisor.engine import memory
from supervisor.engine.holds import Holds
from supervisor.engine.memory import HOLD, Available, MemoryWatch, available, is_short, limit, usage
from supervisor.engine.process import identify
from tests.engine.acts import hang
from tests.engine.world import World, running, ticket

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.fake_session import FakeSession

pytestmark = pytest.mark.anyio
MB, GB = 1_000_000, 1_000_000_000


@pytest.mark.parametrize(
    ("total", "agents", "least"),
    [
        (8 * GB, 3, 600 * MB),
        (32 * GB, 3, 1600 * MB),
        (512 * GB, 3, 4 * GB),
        (8 * GB, 0, 250 * MB),
    ],
)
def test_how_much_must_be_available(total: int, agents: int, least: int) -> None:
    assert limit(total, agents) == least
    assert is_short(Available(least - 1, total), agents, held=False)
    assert not is_short(Available(least, total), agents, held=False)
    assert is_short(Available(least, total), agents, held=True), "what holds starts back is not what lets them go on"
    assert not is_short(Available(least * 5 // 4, total), agents, held=True)


def test_nobody_is_held_back_where_the_system_does_not_tell() -> None:
    assert not is_short(None, 5, held=True)


def _system(root: Path, own: str, groups: dict[str, tuple[str, int, int]]) -> tuple[Path, Path]:
    proc, cgroups = root / "proc", root / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal: 8000000 kB\nMemFree: 1 kB\nMemAvailable: 4000000 kB\n")
    (proc / "self" / "cgroup").write_text(f"0::{own}\n")
    for name, (most, used, cached) in groups.items():
        directory = cgroups / name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "memory.max").write_text(f"{most}\n")
        (directory / "memory.current").write_text(f"{used}\n")
        (directory / "memory.stat").write_text(f"anon 1\ninactive_file {cached}\n")
    return proc, cgroups


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ({}, Available(4_096_000_000, 8_192_000_000)),
        ({"a/b": ("max", 5 * GB, 0)}, Available(4_096_000_000, 8_192_000_000)),
        ({"a/b": (str(2 * GB), 1500 * MB, 300 * MB)}, Available(800 * MB, 2 * GB)),
        ({"a/b": ("max", 1, 0), "a": (str(GB), 900 * MB, 0)}, Available(100 * MB, GB)),
        ({"a/b": (str(GB), 2 * GB, 0)}, Available(0, GB)),
        ({"a/b": (str(64 * GB), GB, 0)}, Available(4_096_000_000, 8_192_000_000)),
    ],
    ids=["none", "unlimited", "own", "above", "beyond", "roomy"],
)
def test_a_limit_of_our_own_counts(
    tmp_path: Path, groups: dict[str, tuple[str, int, int]], expected: Available
) -> None:
    assert available(*_system(tmp_path, "/a/b", groups)) == expected


@pytest.mark.parametrize("text", ["", "MemTotal: 1 kB\n", "MemAvailable: x kB\nMemTotal: 1 kB\n", "nonsense"])
def test_what_makes_no_sense_tells_nothing(tmp_path: Path, text: str) -> None:
    proc, cgroups = _system(tmp_path, "/", {})
    (proc / "meminfo").write_text(text)
    assert available(proc, cgroups) is None
    assert available(tmp_path / "nowhere", cgroups) is None


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_what_processes_use() -> None:
    here = usage([identify(os.getpid())])
    assert 10 * MB < here < 10 * GB
    assert usage([]) == 0
    assert memory._resident(os.getpid()) > MB, "where the kernel shows no shares"


class Machine:
    """A machine whose memory a test can use up."""

    def __init__(self, free: int) -> None:
        self.free = free

    def __call__(self) -> Available:
        return Available(self.free, 8 * GB)


async def test_starts_are_held_back_and_let_go_again() -> None:
    holds, machine = Holds(), Machine(GB)
    watch = MemoryWatch(holds, available=machine)
    watch.begins("001", identify(os.getpid()))
    watch.begins("002", identify(os.getpid()))
    await watch.look()
    assert HOLD not in holds
    assert set(watch.used) == {"001", "002"}
    machine.free = 500 * MB
    await watch.look()
    said = holds.words
    assert said.startswith("new tickets wait for memory (less than 600 MB is available; 2 agents use ")
    assert said.endswith(" the most)")
    machine.free = 650 * MB
    await watch.look()
    assert holds.words == said, "the words stay as they are while it lasts"
    machine.free = 800 * MB
    await watch.look()
    assert HOLD not in holds


async def test_the_only_agent_may_start_with_less() -> None:
    holds, machine = Holds(), Machine(500 * MB)
    watch = MemoryWatch(holds, available=machine)
    watch.begins("001", identify(os.getpid()))
    await watch.look()
    assert HOLD in holds
    watch.ends("001")
    await watch.look()
    assert HOLD not in holds
    machine.free = 200 * MB
    await watch.look()
    assert holds.words == "new tickets wait for memory (less than 250 MB is available)"


async def test_an_agent_waits_for_room_in_the_middle_of_its_start(world: World) -> None:
    """Tickets that have a slot already, and whose agents have not begun, are held back as well."""
    machine, begun = Machine(GB), list[str]()

    def connecting(session: FakeSession) -> None:
        begun.append(session.start.ticket)
        machine.free = 100 * MB

    for ident in ("001", "002"):
        world.agents.acts[ident].append(hang())
    async with world.batch(ticket("001"), ticket("002"), slots=2) as batch:
        batch.engine.memory._available = machine
        batch.engine.holds.listen(world._wake)
        world.agents.moments["connecting"] = connecting
        batch.engine.starts.total_tokens = 1
        async with running(batch):
            await world.until(lambda: any(t.detail == "I look at it." for t in batch.board))
            await world.until(lambda: HOLD in batch.engine.holds)
            await anyio.wait_all_tasks_blocked()
            (first,) = begun  # either may be quicker
            other = "002" if first == "001" else "001"
            assert batch.board[other].state is State.STARTING
            machine.free = GB
            await batch.engine.memory.look()
            await world.until(lambda: batch.board[other].detail == "I look at it.")
            batch.request_stop()


async def test_what_waits_for_room_can_be_stopped(world: World) -> None:
    async with world.batch(ticket()) as batch:
        batch.engine.memory._available = Machine(0)
        batch.engine.holds.listen(world._wake)
        async with running(batch):
            await world.until(lambda: HOLD in batch.engine.holds)
            assert batch.board["001"].state is State.STARTING
            batch.submit("interrupt", ["001"])
            await world.until(lambda: batch.board["001"].state is State.PAUSED)
        assert world.agents.open() == []
