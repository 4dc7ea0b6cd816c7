"""What the last supervisor left behind: agents that still run, and attempts without an ending.

Survivors are stopped before anything is resumed: the CLI does not refuse a second process in one session, and one of
the two conversations would be lost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.budget import lost_spend
from supervisor.core.model import ACTIVE, AttemptRecord, Outcome, State, TicketSnapshot, Why
from supervisor.core.verbs import BY_NAME, RESUME
from supervisor.engine import transcripts
from supervisor.engine.pool import fulfil
from supervisor.engine.process import ProcessId, identify, is_alive, stop

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.engine.context import Engine


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a start found and put right."""

    survivors: int = 0
    """Agents of an earlier run that were still at work."""
    lost: int = 0
    """Attempts that had no ending."""
    orphans: int = 0
    """Effects whose owner died while they were under way."""

    def __str__(self) -> str:
        """Return one line for the operator, empty where nothing was found."""
        parts = []
        if self.lost:
            parts.append(f"{self.lost} cut-off attempt{'s' * (self.lost > 1)} closed")
        if self.survivors:
            parts.append(f"{self.survivors} left-over agent{'s' * (self.survivors > 1)} stopped")
        if self.orphans:
            parts.append(f"{self.orphans} effect{'s' * (self.orphans > 1)} unresolved")
        return "recovered: " + ", ".join(parts) if parts else ""


async def recover(engine: Engine) -> Recovered:
    """Stop survivors, close open attempts as lost, and put every ticket where it belongs. Raises StoreError."""
    rows = [(t.id, await engine.journal.store.attempts(t.id)) for t in engine.board.rows() if t.attempts]
    open_ = [(ticket, a) for ticket, attempts in rows for a in attempts if a.ended is None]
    survivors = await _stop_survivors(engine, [a for _, a in open_])
    for ticket, attempt in open_:
        await _close(engine, ticket, attempt)
    last = {ticket: attempts[-1] for ticket, attempts in rows if attempts}
    for snapshot in engine.board.rows():
        await _place(engine, snapshot, last.get(snapshot.id))
    return Recovered(survivors, len(open_))


async def _place(engine: Engine, ticket: TicketSnapshot, last: AttemptRecord | None) -> None:
    """Carry out what the operator had asked for, else put a ticket that was at work where its last ending puts it."""
    if ticket.pending is not None:
        verb = BY_NAME.get(ticket.pending)
        at_work = ticket.state in ACTIVE and verb is RESUME
        if verb is None or at_work or not await fulfil(engine, verb, ticket.id):
            await engine.journal.emit(ev.Wished(ticket.id, engine.clock(), None))
    now = engine.board[ticket.id]
    if now.state not in ACTIVE:
        return
    to, why, detail = _ENDINGS.get(last.outcome if last else None, (State.QUEUED, None, "goes on where it was cut off"))
    if last is not None and to is State.FAILED:
        detail = last.detail or detail
    await engine.journal.emit(ev.StateChanged(now.id, engine.clock(), to, why, detail))


_ENDINGS: dict[Outcome | None, tuple[State, Why | None, str]] = {
    Outcome.LIMIT: (State.NEEDS_YOU, Why.LIMIT, "a limit was reached"),
    Outcome.FAILED_RUN: (State.FAILED, None, "the run failed"),
}
"""Endings that were recorded just before the supervisor went, and are not gone on from without the operator."""


async def _stop_survivors(engine: Engine, attempts: list[AttemptRecord]) -> int:
    ours = {a.session_id for a in attempts}
    found = [ProcessId(a.pid, a.pid_start, a.boot_id) for a in attempts if a.pid is not None]
    found += await anyio.to_thread.run_sync(_registered, engine.launch.config_dir, ours)
    alive = {p.pid: p for p in found if is_alive(p)}
    async with anyio.create_task_group() as group:
        for process in alive.values():
            group.start_soon(stop, process)
    return len(alive)


def _registered(config_dir: Path, sessions: set[str]) -> list[ProcessId]:
    """Return agents that the CLI's own registry still names for our sessions.

    ``sessions/<pid>.json`` is undocumented, and stale after a kill: only a process whose start time fits is believed.
    """
    found = []
    for path in (config_dir / "sessions").glob("*.json"):
        try:
            data = json.loads(path.read_text())
            if data["sessionId"] not in sessions:
                continue
            process = identify(int(data["pid"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if str(data.get("procStart")) == str(process.start):
            found.append(process)
    return found


async def _close(engine: Engine, ticket: str, attempt: AttemptRecord) -> None:
    """Complete an attempt's row; its spend since the last result is estimated from the session's own file."""
    estimate = 0.0
    path = await anyio.to_thread.run_sync(transcripts.find, engine.launch.config_dir, attempt.session_id)
    if path is not None:
        since = await _last_result(engine, ticket, attempt)
        facts = await anyio.to_thread.run_sync(transcripts.read, path, None, since)
        estimate = lost_spend(facts.usage, engine.prices, attempt.cap_usd)
    ids, words = (ticket, engine.clock(), attempt.number), "the supervisor was stopped"
    await engine.journal.emit(ev.AttemptEnded(*ids, Outcome.LOST, words, estimated_usd=estimate))


async def _last_result(engine: Engine, ticket: str, attempt: AttemptRecord) -> float:
    """Return the time from which the attempt's spend has not been reported."""
    events = await engine.journal.store.events(ticket)
    reported = [e.at for e in events if isinstance(e, ev.TurnEnded) and e.number == attempt.number]
    return max([attempt.started, *reported])
