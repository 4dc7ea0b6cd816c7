"""What the tickets of one running batch share."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from supervisor.core.budget import Purse
from supervisor.core.usage import Prices
from supervisor.engine.agent import AgentSession, SessionStart
from supervisor.engine.ask_desk import AskDesk
from supervisor.engine.custody import Custody
from supervisor.engine.effects import secrets_of
from supervisor.engine.governor import Governor
from supervisor.engine.holds import Holds
from supervisor.engine.memory import MemoryWatch
from supervisor.engine.session import ClaudeSession

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.core.board import Board
    from supervisor.core.effects import EffectRecord
    from supervisor.core.forks import Fork
    from supervisor.core.spec import BatchSpec, EffectSpec, TicketSpec
    from supervisor.engine.desk import EffectDesk
    from supervisor.engine.effects import EffectRunner, Verdict
    from supervisor.engine.journal import Journal
    from supervisor.engine.snapshots import Snapshots
    from supervisor.engine.worktree import Worktrees


async def wait_for(event: anyio.Event, seconds: float | None) -> None:
    """Wait for an event, at most so many seconds; None waits for as long as it takes."""
    with anyio.move_on_after(seconds):
        await event.wait()


SessionFactory = Callable[[SessionStart, Callable[[], float]], AgentSession]


@dataclass(frozen=True, slots=True)
class Launch:
    """How agents are started."""

    cli: Path
    """The launcher script."""
    config_dir: Path
    """Where sessions are kept, for us to look at."""
    env: Callable[[str], Mapping[str, str]]
    """Environment of the agent of a ticket, on top of ours; names the configuration directory if it is our own."""
    recorder: Callable[[EffectSpec, EffectRecord], Verdict] | None = None
    """Answers instead of effects; for rehearsals, which never run one."""
    run_commands: bool = True
    """Whether setup and verify run (a rehearsal of one's own batch leaves them out unless asked)."""


@dataclass(slots=True)
class Engine:
    """Everything a runner needs besides its ticket."""

    spec: BatchSpec
    journal: Journal
    worktrees: Worktrees
    snapshots: Snapshots
    launch: Launch
    desk: EffectDesk
    effects: EffectRunner
    state_dir: Path
    clock: Callable[[], float] = time.time
    running: Callable[[], float] = anyio.current_time
    """Seconds on a clock that nobody sets, and that stands still while the machine sleeps."""
    new_session: SessionFactory = ClaudeSession
    purse: Purse = field(default_factory=Purse)
    prices: Prices = field(default_factory=Prices)
    largest_calls: dict[str, float] = field(default_factory=dict)
    """USD of the largest single API call seen, by the model that tickets name; empty for the default one."""
    specs: dict[str, TicketSpec] = field(default_factory=dict)
    """What each ticket is, those of the file and the forks."""
    forks: dict[str, Fork] = field(default_factory=dict)
    """Where each fork comes from, by its id."""
    custody: Custody = field(default_factory=Custody)
    """Tickets that must not be started right now."""
    holds: Holds = field(default_factory=Holds)
    """Why no further ticket is started for now."""
    starts: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(os.cpu_count() or 2))
    """Agents that start at the same time: more than about one for each core only makes all of them slower."""
    backoff_s: float = 5.0
    """First wait after an API failure that the CLI gave up on; doubled each time, at most five minutes."""
    wait_for: Callable[[anyio.Event, float | None], Awaitable[None]] = wait_for
    """Waits for an event, at most so many seconds."""
    chance: Callable[[], float] = random.random
    """Spreads what would happen at the same time."""
    sharers: Callable[[], int] = lambda: 1
    """Among how many tickets the batch's free money is shared right now; the pool knows."""

    governor: Governor = field(init=False)
    """When agents may start, by what the API says."""
    asks: AskDesk = field(init=False)
    """What agents want of the operator."""
    memory: MemoryWatch = field(init=False)
    """What agents use, and whether there is room for another."""

    def __post_init__(self) -> None:
        self.governor = Governor(self)
        self.asks = AskDesk(self.journal, lambda: self.clock(), secrets_of(self.spec.effects))
        self.memory = MemoryWatch(self.holds)

    @property
    def board(self) -> Board:
        """The live board."""
        return self.journal.board
