"""What the tickets of one running batch share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from supervisor.core.budget import Prices, Purse
from supervisor.engine.agent import AgentSession, SessionStart
from supervisor.engine.session import ClaudeSession

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.core.board import Board
    from supervisor.core.effects import EffectRecord
    from supervisor.core.spec import BatchSpec, EffectSpec
    from supervisor.engine.desk import EffectDesk
    from supervisor.engine.effects import EffectRunner, Verdict
    from supervisor.engine.journal import Journal
    from supervisor.engine.worktree import Worktrees

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
    launch: Launch
    desk: EffectDesk
    effects: EffectRunner
    state_dir: Path
    clock: Callable[[], float] = time.time
    new_session: SessionFactory = ClaudeSession
    purse: Purse = field(default_factory=Purse)
    prices: Prices = field(default_factory=Prices)
    starts: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(os.cpu_count() or 2))
    """Agents that start at the same time: more than about one for each core only makes all of them slower."""
    backoff_s: float = 5.0
    """First wait after an API failure that the CLI gave up on; doubled each time, at most five minutes."""

    @property
    def board(self) -> Board:
        """The live board."""
        return self.journal.board
