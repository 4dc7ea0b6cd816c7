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
from supervisor.core.model import ACTIVE, AttemptRecord, Outcome, State, TicketSnapshot
from supervisor.engine import transcripts
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

    def __str__(self) -> str:
        """Return one line for the operator, empty where nothing was found."""
        parts = []
        if self.lost:
            parts.append(f"{self.lost} cut-off attempt{'s' * (self.lost > 1)} closed")
        if self.survivors:
            parts.append(f"{self.survivors} left-over agent{'s' * (self.survivors > 1)} stopped")
        return "recovered: " + ", ".join(parts) if parts else ""


async def recover(engine: Engine) -> Recovered:
    """Stop survivors, close open attempts as lost, and put their tickets back into the queue. Raises StoreError."""
    rows = [(t, await engine.journal.store.attempts(t.id)) for t in engine.board.rows()]
    attempts = [(t, a) for t, all_ in rows for a in all_ if a.ended is None]
    survivors = await _stop_survivors(engine, [a for _, a in attempts])
    for ticket, attempt in attempts:
        await _close(engine, ticket, attempt)
    for ticket in engine.board.rows():
        if ticket.state in ACTIVE:
            await engine.journal.emit(
                ev.StateChanged(ticket.id, engine.clock(), State.QUEUED, detail="goes on where it was cut off")
            )
    return Recovered(survivors, len(attempts))


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


async def _close(engine: Engine, ticket: TicketSnapshot, attempt: AttemptRecord) -> None:
    """Complete an attempt's row; its spend since the last result is estimated from the session's own file."""
    estimate = 0.0
    path = await anyio.to_thread.run_sync(transcripts.find, engine.launch.config_dir, attempt.session_id)
    if path is not None:
        since = await _last_result(engine, ticket.id, attempt)
        facts = await anyio.to_thread.run_sync(transcripts.read, path, None, since)
        estimate = facts.usage.estimate(engine.prices) or 0.0
    await engine.journal.emit(
        ev.AttemptEnded(
            ticket.id,
            engine.clock(),
            attempt.number,
            Outcome.LOST,
            "the supervisor was stopped",
            estimated_usd=estimate,
        )
    )


async def _last_result(engine: Engine, ticket: str, attempt: AttemptRecord) -> float:
    """Return the time from which the attempt's spend has not been reported."""
    events = await engine.journal.store.events(ticket)
    reported = [e.at for e in events if isinstance(e, ev.TurnEnded) and e.number == attempt.number]
    return max([attempt.started, *reported])
