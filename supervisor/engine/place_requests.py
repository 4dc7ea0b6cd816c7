"""What another shell may ask of a ticket's past: where it can be forked, and where its files can be taken back to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.core.rewinds import Source
from supervisor.engine import forking, rewinding
from supervisor.engine.request_fields import BadRequest, find_name, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.core.changes import FileChange, LeftOut
    from supervisor.engine.context import Engine

    Request = Mapping[str, Any]
    Reply = dict[str, Any]


async def cuts(engine: Engine, request: Request) -> Reply:
    """Return the sound points of a ticket's conversation, oldest first. Raises BadRequest and SupervisorError."""
    ticket = _ticket(engine, request)
    found = await forking.cut_points(engine, ticket)
    return {
        "ticket": ticket,
        "cuts": [
            {"number": n, "uuid": c.uuid, "at": c.at, "kind": c.kind.value, "words": c.words, "prompt": c.prompt_number}
            for n, c in enumerate(found, 1)
        ],
    }


async def checkpoints(engine: Engine, request: Request) -> Reply:
    """Return the prompts that a ticket's files can be taken back to, newest first. Raises as ``cuts``."""
    ticket = _ticket(engine, request)
    points = await rewinding.checkpoints(engine, ticket)
    since = await rewinding.changed_since(engine, ticket, points)
    return {
        "ticket": ticket,
        "checkpoints": [
            {
                "number": p.number,
                "uuid": p.uuid,
                "at": p.at,
                "kind": p.kind.value,
                "words": p.words,
                "snapshot": bool(p.snapshot),
                "checkpoint": p.in_session,
                "files_since": len(since[p.uuid].files) if p.uuid in since else None,
            }
            for p in points
        ],
    }


async def preview(engine: Engine, request: Request) -> Reply:
    """Return what taking files back would do; nothing is changed. Raises as ``cuts``."""
    ticket, source = _ticket(engine, request), text(request, "source", Source.SNAPSHOT.value)
    if source not in set(Source):
        raise BadRequest(f'"source" is one of {", ".join(Source)}')
    seen = await rewinding.preview(engine, ticket, text(request, "to", ""), Source(source))
    return {
        "ticket": ticket,
        "to": seen.to,
        "source": seen.source.value,
        "files": [_change(f) for f in seen.changes.files],
        "more_files": seen.changes.truncated,
        "not_restored": [_left(one) for one in seen.not_restored],
        "not_kept": [_left(one) for one in seen.not_kept],
        "outside": [f.path for f in seen.outside],
        "stays_done": [record.key for record in seen.stays_done],
        "notes": list(seen.notes),
        "refusal": seen.refusal,
    }


def _ticket(engine: Engine, request: Request) -> str:
    ident, fault = find_name(text(request, "ticket"), [t.id for t in engine.board.rows()], "ticket")
    if ident is None:
        raise BadRequest(fault)
    return ident


def _change(change: FileChange) -> Reply:
    return {
        "path": change.path,
        "kind": change.kind.value,
        "insertions": change.insertions,
        "deletions": change.deletions,
        "old_path": change.old_path,
    }


def _left(left: LeftOut) -> Reply:
    return {"path": left.path, "reason": left.reason}
