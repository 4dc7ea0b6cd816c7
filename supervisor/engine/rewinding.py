"""Taking a ticket's files back, undoing that, and starting a ticket over.

Each is a letter that may be carried out again after a death in the middle. So the snapshot taken before anything is
touched carries the letter's id: it is found by it, and never replaced by one of a tree that is half taken back. A
ticket is held for as long as this takes; nobody is started in files that move.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.changes import LeftOut
from supervisor.core.errors import SupervisorError, WorktreeError
from supervisor.core.rewinds import FILES_TAKEN_BACK, MAX_NAMED, Source, named, rewound_words, work_done
from supervisor.core.text import safe_line
from supervisor.engine import changes, forking, own_worktree
from supervisor.engine.checkpoints import checked, connected, copy_away, inside, its_worktree, not_kept
from supervisor.engine.git import slug
from supervisor.engine.rewind_aims import changed_since, checkpoints, find_aim
from supervisor.engine.rewind_preview import NOT_BY_EDITS, preview

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from supervisor.core.changes import Changes, Snapshot
    from supervisor.core.letters import Letter
    from supervisor.engine.context import Engine
    from supervisor.engine.rewind_aims import Aim

__all__ = ["changed_since", "checkpoints", "preview", "rewind", "start_over"]
_EDITS_ONLY = ", as far as edits go, not what commands did"
_COULD_NOT = "could not be set back"


@dataclass(frozen=True, slots=True)
class _Done:
    """What became of the files."""

    changed: Changes
    left: str
    """Commit that holds them as they are now."""
    not_back: tuple[LeftOut, ...] = ()
    copies: Path | None = None
    """Where the files are that no snapshot holds."""


async def rewind(engine: Engine, letter: Letter) -> str:
    """Take a ticket's files back as the letter says; return what came of it.

    Raises SupervisorError, with the files as they were before, when it cannot be done.
    """
    async with engine.custody.of(letter.ticket):
        _refuse_effects(engine, letter.ticket)
        aim = await find_aim(engine, letter.ticket, Source(letter.args["source"]), str(letter.args["to"]))
        from_session = aim.source is Source.CHECKPOINT
        worktree = its_worktree(engine, letter.ticket) if from_session else await _worktree(engine, letter.ticket)
        before = await _keep(engine, letter, worktree)
        if from_session:
            done = await _by_session(engine, letter, worktree, aim, before)
        else:
            done = await _by_snapshot(engine, letter.ticket, worktree, aim, before)
        return await _conclude(engine, letter, aim, before, done)


async def start_over(engine: Engine, letter: Letter) -> str:
    """Begin a ticket again: files, branch and index as at the base, and no session. Effects keep their keys.

    A fork begins again where it was forked: with those files, and another copy of that conversation. The branch's
    commits stay reachable: the snapshot taken before is a child of the last of them. Raises SupervisorError, OSError.
    """
    ticket = letter.ticket
    async with engine.custody.of(ticket):
        _refuse_effects(engine, ticket)
        aim = await find_aim(engine, ticket, Source.BASE, "")
        worktree = await _worktree(engine, ticket)
        before = await _keep(engine, letter, worktree)
        spec, fork = engine.specs.get(ticket), engine.forks.get(ticket)
        session = None if fork is None else await forking.begin_again(engine, fork, letter)
        async with _put_back(engine, ticket, worktree, before):
            restored = await engine.snapshots.seed(worktree, aim.commit)
            await engine.worktrees.begin_anew(ticket, aim.commit if fork is None else fork.start)
            await engine.worktrees.copy(ticket, spec.copy if spec else ())
        await engine.journal.emit(ev.StartedOver(ticket, engine.clock(), before.commit, (letter.id,), session))
    words = f"starts over; what was there is kept in snapshot {before.commit[:12]}"
    return words + _left_words(restored.left)


def _refuse_effects(engine: Engine, ticket: str) -> None:
    under_way = engine.desk.under_way(ticket)
    if under_way:
        raise SupervisorError(f'effect "{under_way[0].effect}" is under way: wait until it has ended, then try again')


async def _worktree(engine: Engine, ticket: str) -> Path:
    """Return the ticket's worktree; one whose directory is gone is made again, and set up at the next start.

    It then has the files as they were last kept, so that what is about to be taken back can be undone.
    """
    path = engine.worktrees.path(ticket)
    if path.is_dir():
        return path
    if engine.board[ticket].worktree is not None:
        await engine.journal.emit(ev.WorktreeLost(ticket, engine.clock()))
    tree, _ = await own_worktree.find_or_make(engine, ticket)
    return tree.path


async def _keep(engine: Engine, letter: Letter, worktree: Path) -> Snapshot:
    """Return the snapshot of the files as they were before the letter was first begun on."""
    take, mark = engine.snapshots.take, f"before {letter.verb} {letter.id}"
    earlier = next((s for s in await engine.snapshots.list(letter.ticket) if s.message == mark), None)
    if earlier is None:
        return await take(letter.ticket, worktree, mark)
    await take(letter.ticket, worktree, f"in the middle of {letter.verb} {letter.id}")  # somebody may have edited since
    return earlier


@asynccontextmanager
async def _put_back(engine: Engine, ticket: str, worktree: Path, before: Snapshot) -> AsyncIterator[None]:
    """Take what cannot be done to its end back as a whole."""
    try:
        yield
    except (SupervisorError, OSError):
        if (await engine.snapshots.current(worktree)).tree != before.tree:
            await engine.snapshots.restore(ticket, worktree, before.commit)
        raise


async def _by_snapshot(engine: Engine, ticket: str, worktree: Path, aim: Aim, before: Snapshot) -> _Done:
    """Set everything back that git holds, and look whether it is."""
    restored = await engine.snapshots.restore(ticket, worktree, aim.commit)
    left = await engine.snapshots.take(ticket, worktree, f"taken back to {aim.commit}")
    missed = await changes.between(worktree, left.commit, aim.commit)
    reasons = dict.fromkeys((f.path for f in missed.files), _COULD_NOT)
    reasons |= {one.path: one.reason for one in restored.left}
    return _Done(
        await changes.between(worktree, before.commit, left.commit),
        left.commit if missed.files else aim.commit,
        tuple(LeftOut(path, reasons[path]) for path in sorted(reasons)),
    )


async def _by_session(engine: Engine, letter: Letter, worktree: Path, aim: Aim, before: Snapshot) -> _Done:
    """Let the session take its own edits back, and look whether it did: its answer does not say."""
    ticket, prompt = letter.ticket, aim.prompt or ""
    place = engine.state_dir / "kept" / slug(ticket) / letter.id
    async with _put_back(engine, ticket, worktree, before), connected(engine, ticket) as session:
        told = inside(worktree, checked(await session.rewind_files(prompt, dry_run=True)).files)
        unkept = await not_kept(worktree, before.tree, told)
        copies = await copy_away([told[one.path] for one in unkept], place)
        checked(await session.rewind_files(prompt, dry_run=False))
        still = await session.rewind_files(prompt, dry_run=True)
    left = await engine.snapshots.take(ticket, worktree, f"edits taken back to prompt {prompt}")
    others = (await changes.between(worktree, left.commit, aim.commit)).files if aim.commit else ()
    reasons = {f.path: NOT_BY_EDITS for f in others} | dict.fromkeys(inside(worktree, still.files), _COULD_NOT)
    return _Done(
        await changes.between(worktree, before.commit, left.commit),
        left.commit,
        tuple(LeftOut(path, reasons[path]) for path in sorted(reasons)),
        place if copies else None,
    )


async def _conclude(engine: Engine, letter: Letter, aim: Aim, before: Snapshot, done: _Done) -> str:
    """Close the letter by what was done: the agent is told of it only if anything was."""
    files = tuple(safe_line(name, 500) for f in done.changed.files for name in sorted(f.names))
    count = f"{len(files)}{'+' * done.changed.truncated} file{'s' * (len(files) != 1)}"
    at = (letter.ticket, engine.clock())
    to = aim.to + (_EDITS_ONLY if aim.source is Source.CHECKPOINT else "")
    if not files and done.copies is None:
        says = f"the files are {to} already" + _left_words(done.not_back)
        await engine.journal.emit(ev.LettersClosed(*at, (letter.id,), says))
        return says
    more = max(0, len(files) - MAX_NAMED)
    work = await _work(engine, letter.ticket, done.left)
    await engine.journal.emit(
        ev.FilesRewound(*at, to, before.commit, files[:MAX_NAMED], (letter.id,), more, left=done.left, work=work)
    )
    says = rewound_words(count, to) + _left_words(done.not_back)
    return says + (f"; files that git does not keep were copied to {done.copies}" if done.copies else "")


async def _work(engine: Engine, ticket: str, files: str) -> str:
    """Return what is to be said of a ticket's finished work now that its files are those of a commit.

    That it was verified, say, is true of the files that its last agent left, and of no others.
    """
    known = work_done(await engine.journal.store.events(ticket))
    try:
        same = known.files and not (await changes.between(engine.worktrees.path(ticket), known.files, files)).files
    except WorktreeError:  # somebody has removed our refs, and git has cleaned up
        same = False
    return known.detail if same else FILES_TAKEN_BACK


def _left_words(left: tuple[LeftOut, ...]) -> str:
    """Return what was left as it is, and why, in words that follow others."""
    by_reason: dict[str, list[str]] = {}
    for one in left:
        by_reason.setdefault(one.reason, []).append(one.path)
    return "".join(f"; {named(paths)}: {safe_line(reason, 200)}" for reason, paths in by_reason.items())
