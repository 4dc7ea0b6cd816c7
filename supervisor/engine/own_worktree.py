"""A ticket's worktree, found or made again, with the files that belong in it.

Those that the ticket's own work has left, if its worktree has gone; else those that a fork begins with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from supervisor.core.rewinds import last_files
from supervisor.engine.git import git

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.engine.context import Engine
    from supervisor.engine.worktree import Worktree


async def find_or_make(engine: Engine, ticket: str) -> tuple[Worktree, bool]:
    """Return the ticket's worktree, and whether files that were kept have been laid into it.

    Raises WorktreeError as ``Worktrees.ensure`` does, and StoreError.
    """
    files, onto = await _kept(engine, ticket)
    laid: list[str] = []

    async def lay(worktree: Path) -> None:
        await engine.snapshots.seed(worktree, files)
        laid.append(files)

    spec, fork = engine.specs.get(ticket), engine.forks.get(ticket)
    own = spec.base if spec is not None else fork.start if fork is not None else None
    base, known = own or engine.spec.base, engine.board[ticket].base_commit
    copy = spec.copy if spec is not None else ()
    tree = await engine.worktrees.ensure(ticket, base, known, copy, lay if files else None, onto)
    return tree, bool(laid)


async def would_hold(engine: Engine, ticket: str) -> str:
    """Return the commit with the files that a worktree which is gone would be made again with.

    Empty where it would only have what its branch holds. Raises WorktreeError and StoreError.
    """
    files, onto = await _kept(engine, ticket)
    repo, branch = engine.spec.repo, f"refs/heads/{engine.worktrees.branch(ticket)}"
    if not files:
        return ""
    where, tip = [
        await git(repo, "rev-parse", "--verify", "-q", f"{name}^{{commit}}", check=False)
        for name in (onto or f"{files}^", branch)
    ]
    return files if tip and tip == where else ""


async def _kept(engine: Engine, ticket: str) -> tuple[str, str | None]:
    """Return the commit with the files that a new worktree gets, and where its branch must be for that."""
    if await anyio.Path(engine.worktrees.path(ticket)).exists():
        return "", None
    fork = engine.forks.get(ticket)
    files = last_files(await engine.journal.store.events(ticket))
    if files and await engine.snapshots.exists(files):
        return files, f"{files}^"
    return (fork.files, None) if fork is not None else ("", None)
