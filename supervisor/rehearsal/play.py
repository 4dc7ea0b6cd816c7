"""``supervise rehearse``: the same engine and the real CLI, with scripted answers, on a throwaway repository.

No key, no cost, no network beyond loopback. Without a directory to keep, everything is made in a temporary one and
removed at the end.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from supervisor.core.errors import LockedError
from supervisor.engine.batch import STATE_DIR, make_state_dir
from supervisor.engine.context import Engine, Launch
from supervisor.engine.lock import holder
from supervisor.engine.process import write_launcher
from supervisor.preflight import check_repository, find_cli
from supervisor.rehearsal.harness import RehearsalServer, clone_repo, prepare_sample
from supervisor.rehearsal.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.core.spec import BatchSpec

FAKE_KEY = "rehearsal-no-real-key"
_BACKOFF_S = 1.0
"""First wait after an API failure: a rehearsal does not wait as long as the real thing."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What is to be rehearsed."""

    spec: BatchSpec | None
    """The operator's own batch; None for the sample."""
    keep: Path | None
    """Where to keep what is made, and to find it again; None for a temporary directory."""
    run_commands: bool
    """Whether setup and verify commands run."""
    again: str = ""
    """The command that goes on with it; empty where nothing is kept."""


async def play(rehearsal: Rehearsal, load: Callable[[Path], BatchSpec], headless: bool, as_json: bool) -> int:
    """Rehearse a batch and return the exit code its endings call for."""
    from supervisor.run import run_batch

    cli = find_cli()
    if rehearsal.spec is not None:
        await check_repository(rehearsal.spec.repo)
    forget_credentials()
    async with AsyncExitStack() as stack:
        if rehearsal.keep is not None and (first := holder(rehearsal.keep / STATE_DIR / "lock")) is not None:
            raise LockedError(first.pid, str(rehearsal.keep))
        home = rehearsal.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="supervise-")))
        spec = await _spec(rehearsal, home, load)
        state_dir = home / STATE_DIR
        await anyio.to_thread.run_sync(_make_dirs, home, state_dir)
        scripts = {t.id: t.rehearsal for t in spec.tickets if t.rehearsal}
        server = await stack.enter_async_context(RehearsalServer(home / "api", scripts))
        launch = rehearsal_launch(home, state_dir, cli, server, rehearsal.run_commands, Recorder(scripts))
        return await run_batch(
            spec,
            state_dir,
            launch,
            headless=headless,
            as_json=as_json,
            rehearsal=True,
            adjust=_hasten,
            again=rehearsal.again,
            said=_left_out(rehearsal),
        )


def _left_out(rehearsal: Rehearsal) -> str:
    """Return what of the operator's own batch is not played, in words; empty where all of it is."""
    spec = rehearsal.spec
    if spec is None:
        return ""
    words = []
    if not rehearsal.run_commands:
        named = [name for name in ("setup", "verify") if any(getattr(ticket, name) for ticket in spec.tickets)]
        if named:
            words.append(f"{' and '.join(named)} commands are not run (--run-commands runs them)")
    if spec.effects:
        words.append("effect commands are recorded, not run")
    return f"rehearsal: {'; '.join(words)}" if words else ""


def _hasten(engine: Engine) -> None:
    engine.backoff_s = _BACKOFF_S


def _make_dirs(home: Path, state_dir: Path) -> None:
    make_state_dir(home)
    make_state_dir(state_dir)
    for name in ("api", "home", "claude"):
        (home / name).mkdir(exist_ok=True)


async def _spec(rehearsal: Rehearsal, home: Path, load: Callable[[Path], BatchSpec]) -> BatchSpec:
    """Return the batch on its throwaway repository, made now unless it was kept."""
    await anyio.to_thread.run_sync(make_state_dir, home)
    if rehearsal.spec is None:
        repo = home / "tinyshop"
        if not await anyio.Path(repo / ".git").exists():
            await prepare_sample(home)
        return load(repo / "tickets.toml")
    repo = home / "repo"
    if not await anyio.Path(repo / ".git").exists():
        await clone_repo(rehearsal.spec.repo, repo)
    return replace(rehearsal.spec, repo=repo)


def rehearsal_launch(
    home: Path,
    state_dir: Path,
    cli: Path,
    server: RehearsalServer,
    run_commands: bool,
    recorder: Recorder | None,
) -> Launch:
    """Return how agents are started so that nothing of theirs leaves ``home`` and loopback."""

    def env(ticket: str) -> dict[str, str]:
        return {
            "HOME": str(home / "home"),
            "CLAUDE_CONFIG_DIR": str(home / "claude"),
            "ANTHROPIC_BASE_URL": server.base_url(ticket),
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    return Launch(write_launcher(state_dir / "agent", cli), home / "claude", env, recorder, run_commands)


def forget_credentials() -> None:
    """Take every setting of the API and the CLI out of our environment: a rehearsal must not use them.

    Everything in our environment is inherited by the agents, a stray token included.
    """
    for name in [n for n in os.environ if n.startswith(("ANTHROPIC", "CLAUDE"))]:
        del os.environ[name]
