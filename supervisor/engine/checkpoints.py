"""The session's own checkpoints: asked of its process, connected in the ticket's worktree without a prompt.

That costs nothing, and starts no attempt. The process ends when we close it, and dies with us: it is started as every
agent is, and one without a turn also stops when its input ends.
"""

from __future__ import annotations

import os
import shutil
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from supervisor.core.changes import LeftOut
from supervisor.core.errors import SupervisorError, WorktreeError
from supervisor.core.text import safe_line
from supervisor.engine.agent import SessionFailed, SessionStart
from supervisor.engine.git import run_git
from supervisor.engine.groups import task_group

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from supervisor.core.rewinds import EditRewind
    from supervisor.engine.agent import AgentSession
    from supervisor.engine.context import Engine

_MEANINGS = {
    "No file checkpoint found": "the session has no checkpoint of that prompt",
    "File rewinding is not enabled": "the session was begun without checkpoints",
}
"""What the CLI's refusals mean; they have no code, only words."""
_USE_SNAPSHOT = "take the git snapshot instead"
OUTSIDE = "outside of the worktree"
NOT_IN_GIT = "git does not keep it: ignored, or too large"
LINK = "a link is in its place, or on the way to it"


@asynccontextmanager
async def connected(engine: Engine, ticket: str) -> AsyncIterator[AgentSession]:
    """Connect the ticket's session to a process of its own. The caller holds the ticket: a second one would lose turns.

    Raises SupervisorError when it does not start.
    """
    session = engine.new_session(_start(engine, ticket), engine.clock)
    try:
        async with task_group() as group:
            try:
                async with engine.starts:
                    await session.connect()
                group.start_soon(session.read)
                yield session
            finally:
                await session.close()
                group.cancel_scope.cancel()
    except SessionFailed as failed:
        words = safe_line(failed.failure.message, 300)
        raise SupervisorError(f"the session does not start: {words}: {_USE_SNAPSHOT}") from failed
    finally:
        session.drain()


def _start(engine: Engine, ticket: str) -> SessionStart:
    """No tools, rules or limits, for no model is asked; no project settings, whose hooks would run."""
    known, launch = engine.board[ticket], engine.launch
    if known.session_id is None:
        raise SupervisorError(f"{ticket} has no session: {_USE_SNAPSHOT}")
    env = {"CLAUDE_CODE_MAX_RETRIES": "0", **launch.env(ticket)}
    return SessionStart(
        ticket,
        known.attempts,
        its_worktree(engine, ticket),
        launch.cli,
        known.session_id,
        resume=True,
        env=env,
        model=known.model,
    )


def its_worktree(engine: Engine, ticket: str) -> Path:
    """Return the ticket's worktree. Raises WorktreeError when it is gone: checkpoints hold for that place only."""
    worktree = engine.worktrees.path(ticket)
    if not worktree.is_dir():
        raise WorktreeError("the worktree is gone, and checkpoints work only in it", _USE_SNAPSHOT)
    return worktree


async def dry_run(engine: Engine, ticket: str, prompt: str) -> tuple[str, ...]:
    """Return which files the checkpoint of a prompt would change, changing none. The caller holds the ticket.

    Raises SupervisorError when there is no such checkpoint, or the session does not start.
    """
    async with connected(engine, ticket) as session:
        return checked(await session.rewind_files(prompt, dry_run=True)).files


def checked(answer: EditRewind) -> EditRewind:
    """Return the answer itself. Raises SupervisorError if it is a refusal."""
    if answer.error:
        meaning = next((words for told, words in _MEANINGS.items() if told in answer.error), None)
        raise SupervisorError(f"{meaning or safe_line(answer.error, 300)}: {_USE_SNAPSHOT}")
    return answer


def inside(worktree: Path, files: Iterable[str]) -> dict[str, Path]:
    """Return the files by name: relative to the worktree, or absolute where they lie outside of it."""
    roots = (worktree, worktree.resolve())
    named = {}
    for file in map(Path, files):
        root = next((root for root in roots if file.is_relative_to(root)), None)
        named[file.relative_to(root).as_posix() if root is not None else str(file)] = file
    return named


async def not_kept(worktree: Path, tree: str, files: dict[str, Path]) -> tuple[LeftOut, ...]:
    """Return which of the files are there and not in a tree of the worktree: git could not bring them back."""
    done = (await run_git(worktree, "ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)).checked()
    kept = {os.fsdecode(name) for name in done.out.split(b"\0")}
    return tuple(
        LeftOut(name, OUTSIDE if Path(name).is_absolute() else NOT_IN_GIT)
        for name, file in files.items()
        if name not in kept and os.path.lexists(file)
    )


def behind_links(worktree: Path, files: dict[str, Path]) -> tuple[LeftOut, ...]:
    """Return the files that the CLI leaves alone, because it follows no link to write. Blocks."""
    top = worktree.resolve()
    found = [
        name
        for name, file in files.items()
        if not Path(name).is_absolute() and (file.is_symlink() or file.parent.resolve() != (top / name).parent)
    ]
    return tuple(LeftOut(name, LINK) for name in found)


async def copy_away(files: Iterable[Path], place: Path) -> int:
    """Copy files under a directory of ours, by their absolute paths, those apart that are there already.

    Returns how many are there then. Raises OSError.
    """
    return await anyio.to_thread.run_sync(_copy_away, list(files), place)


def _copy_away(files: list[Path], place: Path) -> int:
    count = 0
    for file in files:
        if file.is_symlink() or not file.is_file():
            continue
        target = place / str(file).lstrip("/")
        if not target.exists():  # after a death in the middle, what is there now is no longer what was there before
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = target.with_name(f".{target.name}.new")
            shutil.copy2(file, draft)
            draft.replace(target)
        count += 1
    return count
