"""Watches the memory: what each agent uses, and whether there is enough for another one.

An agent needs 100 to 220 MB, and what it runs may need much more. When memory runs out the kernel kills what it likes,
so no further agent is started while little is left; what runs goes on. Where the system does not tell (no ``/proc``)
nothing is held back.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from supervisor.engine.process import families

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from supervisor.engine.holds import Holds
    from supervisor.engine.process import ProcessId

HOLD = "memory"
"""The name of the reason that is put up."""
LIMIT_BYTES = 600_000_000
LIMIT_SHARE = 0.05
"""On a large machine the limit is this share of it, up to `MOST_BYTES`."""
MOST_BYTES = 4_000_000_000
ONE_AGENT_BYTES = 250_000_000
"""What the only agent needs: while none runs, a batch on a small machine must not wait for ever."""
LOOK_S = 3.0
"""How often memory is looked at."""
_EASE = 1.25
"""So much more than the limit must be available before tickets start again, or they would start and stop by turns."""


@dataclass(frozen=True, slots=True)
class Available:
    """What a machine, or the part of it that we may use, has."""

    bytes: int
    """What could be used right now without anything else being pushed out."""
    total: int


def limit(total: int, agents: int) -> float:
    """Return how many bytes must be available for another agent to be started.

    Args:
        total: bytes of the machine.
        agents: how many run already.
    """
    return min(max(LIMIT_BYTES, LIMIT_SHARE * total), MOST_BYTES) if agents else ONE_AGENT_BYTES


def is_short(seen: Available | None, agents: int, *, held: bool) -> bool:
    """Return whether the start of another agent has to wait.

    Args:
        seen: what is available; None where nobody knows.
        agents: how many run already.
        held: whether starts are being held back now; then more must be available than it took to hold them.
    """
    return seen is not None and seen.bytes < limit(seen.total, agents) * (_EASE if held else 1.0)


def available(proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> Available | None:
    """Return what is available, in a container or unit with a limit of its own what that leaves. Blocks.

    None where the system does not tell.
    """
    try:
        fields = dict(line.split(":", 1) for line in (proc / "meminfo").read_text().splitlines())
        seen = [Available(_kilobytes(fields["MemAvailable"]), _kilobytes(fields["MemTotal"]))]
    except (OSError, ValueError, KeyError):
        return None
    with suppress(OSError, IndexError):
        own = (proc / "self" / "cgroup").read_text().split("0::/", 1)[1].splitlines()[0]
        seen += filter(None, map(_group, [cgroups / own, *(cgroups / own).parents]))
    return min(seen, key=lambda one: one.bytes)


def _kilobytes(words: str) -> int:
    return int(words.split()[0]) * 1024


def _group(directory: Path) -> Available | None:
    """Return what a control group leaves, its cached files counted as free; None where it sets no limit."""
    try:
        most = int((directory / "memory.max").read_text())
        used = int((directory / "memory.current").read_text())
        stat = dict(line.split() for line in (directory / "memory.stat").read_text().splitlines())
        return Available(max(0, most - used + int(stat.get("inactive_file", 0))), most)
    except (OSError, ValueError):  # "max" is no number
        return None


def usage(processes: Iterable[ProcessId]) -> int:
    """Return the bytes that processes use together, what they share with others divided among those. Blocks."""
    return sum(_proportional(process.pid) or _resident(process.pid) for process in processes)


def _proportional(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        words = Path(f"/proc/{pid}/smaps_rollup").read_text()
        return _kilobytes(words.split("\nPss:", 1)[1])
    return 0


def _resident(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        pages = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")
    return 0


class MemoryWatch:
    """Holds new tickets back while memory is short, and knows what each agent uses. For the tasks of one loop."""

    def __init__(
        self,
        holds: Holds,
        *,
        available: Callable[[], Available | None] = available,
        every_s: float = LOOK_S,
    ) -> None:
        """Prepare to watch.

        Args:
            holds: where the reason is put up and taken down.
            available: asks the system, in a thread.
            every_s: how often to look.
        """
        self._holds = holds
        self._available = available
        self._every_s = every_s
        self._agents: dict[str, ProcessId] = {}
        self._used: dict[str, int] = {}
        self._looked = anyio.Event()

    @property
    def used(self) -> Mapping[str, int]:
        """Bytes by ticket, as of the last look: its agent and everything that was started by it."""
        return self._used

    def begins(self, ticket: str, agent: ProcessId) -> None:
        """An agent runs from now on."""
        self._agents[ticket] = agent

    def ends(self, ticket: str) -> None:
        """A ticket's agent is gone; safe to call when there was none."""
        self._agents.pop(ticket, None)
        self._used.pop(ticket, None)

    async def room(self) -> None:
        """Wait until another agent may be started."""
        self._decide(await anyio.to_thread.run_sync(self._available))
        while HOLD in self._holds:
            await self._looked.wait()

    async def look(self) -> None:
        """Look once."""
        agents = dict(self._agents)
        seen, used = await anyio.to_thread.run_sync(self._measure, agents, abandon_on_cancel=True)
        self._used = {ticket: size for ticket, size in used.items() if self._agents.get(ticket) == agents[ticket]}
        self._decide(seen)

    def _decide(self, seen: Available | None) -> None:
        held = HOLD in self._holds
        if not is_short(seen, len(self._agents), held=held):
            self._holds.clear(HOLD)
        elif not held and seen is not None:
            self._holds.set(HOLD, self._words(seen))
        self._looked.set()
        self._looked = anyio.Event()

    def _measure(self, agents: Mapping[str, ProcessId]) -> tuple[Available | None, dict[str, int]]:
        seen = self._available()
        if seen is None or not agents:
            return seen, {}
        known = families(agents.values())
        return seen, {ticket: usage([agent, *known[agent]]) for ticket, agent in agents.items()}

    def _words(self, seen: Available) -> str:
        """Return what the operator reads. It stays as it is until the reason is taken down."""
        least = f"less than {limit(seen.total, len(self._agents)) / 1e6:,.0f} MB is available"
        if not self._used:
            return f"new tickets wait for memory ({least})"
        largest = max(self._used, key=lambda ticket: self._used[ticket])
        agents = f"{len(self._used)} agents use" if len(self._used) > 1 else "one agent uses"
        total = f"{agents} {sum(self._used.values()) / 1e6:,.0f} MB"
        return f"new tickets wait for memory ({least}; {total}, {largest} the most)"

    async def run(self) -> None:
        """Look again and again, for ever."""
        while True:
            await self.look()
            await anyio.sleep(self._every_s)
