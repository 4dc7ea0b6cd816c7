"""The dry run: what taking files back would do, what it would not, and what cannot be taken back at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import anyio

from supervisor.core.changes import ChangeKind, Changes, FileChange, LeftOut
from supervisor.core.effects import EffectRecord, EffectState
from supervisor.core.errors import SupervisorError, WorktreeError
from supervisor.core.rewinds import RewindPreview, Source, gaps
from supervisor.core.verbs import REWIND, START_OVER
from supervisor.engine import changes, checkpoints
from supervisor.engine.rewind_aims import Aim, Now, files_now, find_aim

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.engine.context import Engine

NOT_BY_EDITS = "not changed by the agent's edit tools"
_MAY_HAVE_HAPPENED = (EffectState.DONE, EffectState.UNRESOLVED, EffectState.CLAIMED)
_NOTES = {
    Source.SNAPSHOT: "What commands changed is taken back too. Files that git ignores stay as they are.",
    Source.CHECKPOINT: "Only what Write, Edit and NotebookEdit changed is taken back, not what commands did.",
    Source.UNDO: "Files that git ignores stay as they are.",
    Source.BASE: "The conversation begins anew. Commits stay reachable from the snapshot. "
    "Files that git ignores stay as they are.",
}


async def preview(engine: Engine, ticket: str, to: str, source: Source | str = Source.SNAPSHOT) -> RewindPreview:
    """Say what taking files back would do, changing nothing.

    Args:
        engine: the batch.
        ticket: whose files.
        to: as for ``find_aim``.
        source: what they are taken from. A checkpoint is asked of the session's process, which takes a second.

    Raises SupervisorError, whose text is for the operator, when there is no such place to go back to.
    """
    source = Source(source)
    aim = await find_aim(engine, ticket, source, to)
    now = await files_now(engine, ticket)
    whole = await changes.between(now.place, now.state, aim.commit) if aim.commit else Changes()
    if source is Source.CHECKPOINT:
        found, not_restored, not_kept = await _by_checkpoint(engine, ticket, aim, now, whole)
    else:
        found, not_restored, not_kept = whole, await _left_out(engine, ticket, aim, now), ()
    outside, known = await _outside(engine, ticket, aim, now, found)
    notes = [_NOTES[source]]
    if now.is_gone:
        notes.append("The worktree is gone: it is made again first, with what was last kept of it.")
    return RewindPreview(
        ticket,
        source,
        aim.to,
        found,
        not_restored,
        not_kept,
        outside,
        known,
        stays_done(engine, ticket, aim.at),
        tuple(notes),
        refusal(engine, ticket, source) or "",
    )


def refusal(engine: Engine, ticket: str, source: Source) -> str | None:
    """Return why files cannot be taken back right now; None if they can."""
    verb = START_OVER if source is Source.BASE else REWIND
    under_way = engine.desk.under_way(ticket)
    if under_way:
        return f'effect "{under_way[0].effect}" is under way: wait until it has ended'
    return verb.refusal(engine.board[ticket])


def stays_done(engine: Engine, ticket: str, since: float) -> tuple[EffectRecord, ...]:
    """Return the effects of a ticket that may have happened since then."""
    records = [view.record for view in engine.board.effects() if view.record.ticket == ticket]
    return tuple(r for r in records if r.state in _MAY_HAVE_HAPPENED and (r.settled_at or r.claimed_at or 0.0) >= since)


async def _left_out(engine: Engine, ticket: str, aim: Aim, now: Now) -> tuple[LeftOut, ...]:
    """Return what no snapshot holds, neither that of then nor one of now."""
    then = next((s.left_out for s in await engine.snapshots.list(ticket) if s.commit == aim.commit), ())
    return tuple({one.path: one for one in (*then, *now.left_out)}.values())


async def _by_checkpoint(
    engine: Engine, ticket: str, aim: Aim, now: Now, whole: Changes
) -> tuple[Changes, tuple[LeftOut, ...], tuple[LeftOut, ...]]:
    """Return what the session's checkpoint would change, what it would not, and what could not be undone."""
    held = refusal(engine, ticket, Source.CHECKPOINT)
    if held is not None:
        raise SupervisorError(held)
    assert aim.prompt is not None
    async with engine.custody.of(ticket):
        told = await checkpoints.dry_run(engine, ticket, aim.prompt)
    files = checkpoints.inside(now.place, told)
    links = await anyio.to_thread.run_sync(checkpoints.behind_links, now.place, files)
    meant = files.keys() - {one.path for one in links}
    listed = [f for f in whole.files if meant & f.names]
    listed += [FileChange(p, ChangeKind.MODIFIED, None, None) for p in sorted(meant - _all_names(listed))]
    others = [f for f in whole.files if not files.keys() & f.names]
    not_restored = (*links, *(LeftOut(f.path, NOT_BY_EDITS) for f in others))
    return (
        Changes(tuple(sorted(listed, key=lambda f: f.path)), whole.truncated),
        not_restored,
        await checkpoints.not_kept(now.place, now.state, {p: files[p] for p in sorted(meant)}),
    )


async def _outside(
    engine: Engine, ticket: str, aim: Aim, now: Now, found: Changes
) -> tuple[tuple[FileChange, ...], bool]:
    """Return which of the files somebody else than the agent has changed since, and whether that is known."""
    times, known = gaps(await engine.journal.store.events(ticket), aim.prompt)
    if now.is_gone:
        return (), known
    at_stake, touched = _all_names(found.files), dict[str, FileChange]()
    for gap in times:
        try:
            between = await changes.between(now.place, gap.left, gap.found or now.state)
        except WorktreeError:  # somebody has removed our refs, and git has cleaned up
            known = False
            continue
        touched |= {f.path: f for f in between.files if at_stake & f.names}
    return tuple(touched[path] for path in sorted(touched, key=os.fsencode)), known


def _all_names(found: Iterable[FileChange]) -> frozenset[str]:
    return frozenset(name for change in found for name in change.names)
