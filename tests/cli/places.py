"""State directories as a supervisor leaves them behind, made without running one."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from supervisor.core import events as ev
from supervisor.core.model import State, TicketSnapshot, Why
from supervisor.store.database import connect
from supervisor.store.glance import glance
from supervisor.store.mailbox import open_letters
from supervisor.store.owner import this_process
from supervisor.store.tickets import append
from tests.store import ledgers

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.core.effects import EffectRecord
    from supervisor.core.letters import Letter

DEAD = replace(this_process(), start=1)
"""Our pid, at a time when it was another process: proved dead."""
ALIVE = this_process()


def leave(state_dir: Path, *snapshots: TicketSnapshot) -> Path:
    """Write tickets into a state directory and return it."""
    state_dir.mkdir(exist_ok=True)
    with closing(connect(state_dir / "state.db")) as db:
        for order, snapshot in enumerate(snapshots):
            event = ev.TicketAdded(snapshot.id, 1.0, title=snapshot.id, order=order)
            ledgers.tx(db, append, event, replace(snapshot, order=order))
    return state_dir


def ticket(ident: str, state: State = State.QUEUED, why: Why | None = None, **more: Any) -> TicketSnapshot:
    """A ticket in some state."""
    return TicketSnapshot(ident, ident, state=state, why=why, **more)


def leave_unresolved(state_dir: Path, owner: Any = DEAD, **changes: Any) -> EffectRecord:
    """Leave an effect of which nobody knows whether it happened."""
    with closing(connect(state_dir / "state.db")) as db:
        return ledgers.unresolved(db, ledgers.epoch(db, owner), **changes)


def leave_claimed(state_dir: Path, owner: Any = DEAD, **changes: Any) -> EffectRecord:
    """Leave an effect that was claimed, or that waits for approval."""
    with closing(connect(state_dir / "state.db")) as db:
        return ledgers.claim(db, ledgers.epoch(db, owner), **changes).record


def states(state_dir: Path) -> dict[str, State]:
    """Return what the tickets are on the disk."""
    with glance(state_dir) as seen:
        return {t.id: t.state for t in seen.tickets()}


def by_id(state_dir: Path) -> dict[str, TicketSnapshot]:
    """Return the tickets as they are on the disk."""
    with glance(state_dir) as seen:
        return {t.id: t for t in seen.tickets()}


def letters(state_dir: Path) -> tuple[Letter, ...]:
    """Return the verbs that wait for the next supervisor."""
    with closing(connect(state_dir / "state.db")) as db:
        return open_letters(db)


def effect(state_dir: Path, op: str = "deploy") -> EffectRecord:
    """Return an effect as it is on the disk."""
    with glance(state_dir) as seen:
        return next(e for e in seen.effects() if e.op == op)


def log(state_dir: Path, op: str = "deploy") -> list[tuple[str, str, str]]:
    """Return verb, kind of actor and reason of each row of an effect's log."""
    with glance(state_dir) as seen:
        record = next(e for e in seen.effects() if e.op == op)
        return [(row.verb, row.actor_kind, row.reason) for row in seen.log(record)]
