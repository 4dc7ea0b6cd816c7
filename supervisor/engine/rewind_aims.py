"""Where a ticket's files can be taken back to: its prompts, its base, and what an undo would bring back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core.errors import SupervisorError
from supervisor.core.rewinds import Checkpoint, Source, last_taken_back, prompt_words, undone_to
from supervisor.engine import changes, own_worktree

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from supervisor.core.changes import Changes, LeftOut
    from supervisor.engine.context import Engine


@dataclass(frozen=True, slots=True)
class Aim:
    """What files shall be taken back to."""

    source: Source
    to: str
    """In words that follow "taken back to"."""
    commit: str
    """Holds the files of then; may be empty for a checkpoint of the session's."""
    at: float
    """When that was: effects since then stay done. Infinite where time goes forward again."""
    prompt: str | None = None
    """Uuid of the first prompt after that; None where it does not matter."""


@dataclass(frozen=True, slots=True)
class Now:
    """A ticket's files as they are."""

    place: Path
    """Where git can be run."""
    state: str
    """A tree or a commit."""
    left_out: tuple[LeftOut, ...] = ()
    is_gone: bool = False
    """The worktree's directory is missing; the state is what it would be made again with."""


async def checkpoints(engine: Engine, ticket: str) -> tuple[Checkpoint, ...]:
    """Return the prompts that a ticket's files can be taken back to, newest first. Raises StoreError."""
    store = engine.journal.store
    sessions = {attempt.number: attempt.session_id for attempt in await store.attempts(ticket)}
    in_use = engine.board[ticket].session_id
    points = [
        Checkpoint(
            number,
            prompt.uuid,
            prompt.kind,
            prompt_words(prompt.text),
            prompt.at,
            prompt.snapshot,
            in_use is not None and sessions.get(prompt.attempt) == in_use,
        )
        for number, prompt in enumerate(await store.prompts(ticket), 1)
    ]
    return tuple(reversed(points))


async def changed_since(engine: Engine, ticket: str, points: Sequence[Checkpoint]) -> dict[str, Changes]:
    """Return what has changed since each of the points, by its uuid; those without a snapshot are left out.

    Raises WorktreeError.
    """
    now = await files_now(engine, ticket)
    return {p.uuid: await changes.between(now.place, p.snapshot, now.state) for p in points if p.snapshot}


async def files_now(engine: Engine, ticket: str) -> Now:
    """Return the ticket's files as they are; of a worktree that is gone, those that it would be made again with.

    Raises WorktreeError.
    """
    worktree = engine.worktrees.path(ticket)
    if worktree.is_dir():
        state = await engine.snapshots.current(worktree)
        return Now(worktree, state.tree, state.left_out)
    kept = await own_worktree.would_hold(engine, ticket)
    return Now(engine.spec.repo, kept or f"refs/heads/{engine.worktrees.branch(ticket)}", is_gone=True)


async def find_aim(engine: Engine, ticket: str, source: Source, to: str) -> Aim:
    """Return what is meant. Raises SupervisorError when there is nothing of the kind.

    Args:
        engine: the batch.
        ticket: whose files.
        source: what they are taken from.
        to: uuid or number of a prompt; with an undo the commit it is expected to go back to, or empty.
    """
    if source is Source.UNDO:
        return await _undo(engine, ticket, to)
    if source is Source.BASE:
        fork = engine.forks.get(ticket)
        commit = fork.files if fork is not None else engine.board[ticket].base_commit
        if commit is None:
            raise SupervisorError(f"{ticket} has not begun: it has no files yet")
        first = next(iter(await engine.journal.store.prompts(ticket)), None)
        to = "how they were at the beginning" if fork is None else "how they were when it was forked"
        return Aim(source, to, commit, 0.0, first.uuid if first else None)
    point = next((p for p in await checkpoints(engine, ticket) if to in (p.uuid, str(p.number))), None)
    if point is None:
        raise SupervisorError(f"{ticket} has no such prompt: choose one of its checkpoints")
    if source is Source.SNAPSHOT and not point.snapshot:
        raise SupervisorError(f"no snapshot could be taken before prompt {point.number}: take the session's checkpoint")
    if source is Source.CHECKPOINT and not point.in_session:
        raise SupervisorError(
            f"prompt {point.number} belongs to an earlier conversation, whose checkpoints are gone: "
            "take the git snapshot instead"
        )
    return Aim(source, point.to, point.snapshot, point.at, point.uuid)


async def _undo(engine: Engine, ticket: str, to: str) -> Aim:
    events = await engine.journal.store.events(ticket)
    last = last_taken_back(events)
    if last is None:
        raise SupervisorError(f"no files of {ticket} were taken back: there is nothing to undo")
    if to and to != last.snapshot:
        raise SupervisorError("the files were taken back once more since: look again, then undo")
    return Aim(Source.UNDO, undone_to(events), last.snapshot, float("inf"))
