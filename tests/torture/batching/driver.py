"""One supervisor of a tortured batch: ``python -m tests.torture.batching.driver HOME SEED TICKETS PORT``.

The real engine on the real CLI, without a screen. The scripted API is somebody else's process, and effects really run.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from supervisor.engine.process import forget_git_locators
from supervisor.preflight import find_cli
from supervisor.rehearsal.harness import RehearsalServer
from supervisor.rehearsal.play import forget_credentials, rehearsal_launch
from supervisor.run import exit_with, run_batch
from tests.torture.batching import scenario

if TYPE_CHECKING:
    from supervisor.engine.context import Engine

BACKOFF_S = 0.2


def _hasten(engine: Engine) -> None:
    engine.backoff_s = BACKOFF_S


def main(home: Path, seed: int, tickets: int, port: int) -> int:
    """Run the batch until nothing can move, and return the exit code."""
    forget_credentials()
    forget_git_locators()
    played = scenario.make(home, seed, tickets)
    server = RehearsalServer(home / "api", played.scripts, port)  # the harness runs it
    state_dir = home / "state"
    launch = rehearsal_launch(home, state_dir, find_cli(), server, run_commands=True, recorder=None)
    return anyio.run(partial(run_batch, played.spec, state_dir, launch, headless=True, as_json=True, adjust=_hasten))


if __name__ == "__main__":
    home, seed, tickets, port = sys.argv[1:]
    exit_with(main(Path(home), int(seed), int(tickets), int(port)))
