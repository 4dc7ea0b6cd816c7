"""Looks at a ticket's past while no supervisor runs: where it can be forked, and what taking its files back would do.

Whoever asks holds the batch lock. Nothing that is written down is changed; git is asked as it would be otherwise.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from supervisor.core.errors import ConfigError
from supervisor.core.rewinds import Source
from supervisor.engine import forking, place_requests, transcripts
from supervisor.engine.context import Engine, Launch
from supervisor.engine.effects import EffectRunner
from supervisor.engine.git import git
from supervisor.engine.groups import task_group
from supervisor.engine.request_fields import BadRequest, find_name, text
from supervisor.engine.snapshots import Snapshots
from supervisor.engine.worktree import Worktrees

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from supervisor.core.spec import BatchSpec
    from supervisor.engine.desk import EffectDesk
    from supervisor.engine.journal import Journal

    Request = Mapping[str, Any]
    Reply = dict[str, Any]

NOT_RUNNING = "no supervisor is running"
HOW_TO_START = "start one with `supervise`, or `supervise run --headless` where there is no terminal"
QUESTIONS = {
    "cuts": place_requests.cuts,
    "checkpoints": place_requests.checkpoints,
    "preview": place_requests.preview,
}


@dataclass(frozen=True, slots=True)
class Sources:
    """What a look needs to know beside the state directory."""

    load: Callable[[], BatchSpec]
    """Reads the batch's file. Raises ConfigError."""
    homes: tuple[Path, ...]
    """Directories in which Claude Code may keep the tickets' sessions."""


async def answer(journal: Journal, desk: EffectDesk, state_dir: Path, request: Request, sources: Sources) -> Reply:
    """Answer one of `QUESTIONS`. Raises BadRequest and SupervisorError.

    Args:
        journal: what is written down.
        desk: the ledger, opened.
        state_dir: the batch's.
        request: as a running supervisor takes it.
        sources: where the rest is.
    """
    if request.get("source") == Source.CHECKPOINT:
        raise BadRequest(
            f"{NOT_RUNNING}, and only the session itself knows its checkpoints: {HOW_TO_START}; git's snapshots"
            " can be looked at now, without --checkpoint"
        )
    ident, fault = find_name(text(request, "ticket"), [t.id for t in journal.board.rows()], "ticket")
    if ident is None:
        raise BadRequest(fault)
    try:
        spec = sources.load()
    except ConfigError as error:
        raise BadRequest(f"{NOT_RUNNING}, and the batch's file cannot be used: {error}: name it with --file") from None
    worktrees = state_dir / "worktrees"
    repo = await _repository(Worktrees(spec.repo, worktrees, spec.name).path(ident), spec.repo)
    home = await anyio.to_thread.run_sync(_home, sources.homes, journal.board[ident].session_id or "")
    async with task_group() as group:
        engine = Engine(
            spec=replace(spec, repo=repo),
            journal=journal,
            worktrees=Worktrees(repo, worktrees, spec.name),
            snapshots=Snapshots(repo, spec.name),
            launch=Launch(Path(), home, lambda _: {}),
            desk=desk,
            effects=EffectRunner(desk, spec.effects, group, spec.path.parent),
            state_dir=state_dir,
            clock=time.time,
            specs={ticket.id: ticket for ticket in spec.tickets},
        )
        await forking.load(engine)
        return await QUESTIONS[text(request, "do")](engine, request)
    raise AssertionError("a task group lets errors out")


async def _repository(worktree: Path, named: Path) -> Path:
    """Return the repository that a worktree belongs to: a rehearsal's is a clone, not the one that the file names."""
    if not await anyio.Path(worktree).is_dir():
        return named
    common = Path(await git(worktree, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    return common.parent if common.name == ".git" else common


def _home(homes: tuple[Path, ...], session: str) -> Path:
    """Return the directory that holds a session; the first one where none does."""
    return next((home for home in homes if transcripts.find(home, session) is not None), homes[0])
