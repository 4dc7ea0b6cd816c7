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
from supervisor.core.model import ACTIVE, AttemptRecord, Outcome, State, TicketSnapshot, Why
from supervisor.core.usage import UsageMeter
from supervisor.core.verbs import BY_NAME, INTERRUPT, MESSAGE, RESUME
from supervisor.engine import mailroom
from supervisor.engine.account import Unreported, after, settle
from supervisor.engine.process import ProcessId, command_line, end_all, identify, is_alive, marked, stop
from supervisor.engine.wishes import RESTS, Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from supervisor.core.letters import Letter
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
    open_ = await engine.journal.store.open_attempts()
    survivors = await _stop_survivors(engine, open_)
    for attempt in open_:
        await _close(engine, attempt.ticket, attempt)
    for ask in engine.board.asks():
        await engine.asks.rest(ask)  # nobody waits for the answer any more, and the ticket still does
    for snapshot in engine.board.rows():
        if snapshot.state in ACTIVE:
            attempts = await engine.journal.store.attempts(snapshot.id)
            await _place(engine, snapshot, attempts[-1] if attempts else None)
    for letter in await engine.journal.store.open_letters():
        await _deliver(engine, letter)
    await _clear_marks(engine)
    return Recovered(survivors, len(open_))


async def _place(engine: Engine, ticket: TicketSnapshot, last: AttemptRecord | None) -> None:
    """Put a ticket that was at work where its last ending puts it."""
    now = engine.board[ticket.id]
    if now.state not in ACTIVE:
        return
    to, why, detail = _ENDINGS.get(last.outcome if last else None, (State.QUEUED, None, "goes on where it was cut off"))
    if last is not None and to is State.FAILED:
        detail = last.detail or detail
    spec = engine.specs.get(now.id)
    if why is Why.LIMIT and spec is not None and spec.on_limit == "raise":
        to, why, detail = State.QUEUED, None, "a limit was reached; it may raise it by itself"
    await engine.journal.emit(ev.StateChanged(now.id, engine.clock(), to, why, detail))


async def _deliver(engine: Engine, letter: Letter) -> None:
    """Carry out what the operator had asked for. A message stays for the ticket's next prompt."""
    verb = BY_NAME.get(letter.verb)
    if verb is MESSAGE:
        return
    if verb is INTERRUPT and engine.board[letter.ticket].state is State.NEEDS_YOU:
        to, detail = RESTS[Wanted.PAUSE]  # it rests, but it would go on by itself once the operator has answered
        event = ev.StateChanged(letter.ticket, engine.clock(), to, detail=detail, letters=(letter.id,))
        await engine.journal.emit(event)
        return
    done, says = False, "no such verb"
    if verb is RESUME and engine.board[letter.ticket].state is State.QUEUED:
        says = f"{letter.ticket} goes on anyway"
    elif verb is not None:
        done, says = await mailroom.carry_out(engine, letter)
    if not done:
        await mailroom.close(engine, letter, says)


async def _clear_marks(engine: Engine) -> None:
    """Take down marks that were written with something else before their letters were: those verbs are lost."""
    for ticket in engine.board.rows():
        if ticket.pending is not None:
            says = f"{ticket.pending}: the supervisor was stopped before it was written down"
            await engine.journal.emit(ev.LettersClosed(ticket.id, engine.clock(), (), says, refused=True))


_ENDINGS: dict[Outcome | None, tuple[State, Why | None, str]] = {
    Outcome.LIMIT: (State.NEEDS_YOU, Why.LIMIT, "a limit was reached"),
    Outcome.FAILED_RUN: (State.FAILED, None, "the run failed"),
}
"""Endings that were recorded just before the supervisor went, and are not gone on from without the operator."""


async def _stop_survivors(engine: Engine, attempts: Sequence[AttemptRecord]) -> int:
    """Stop agents first, so that none goes on when its command is ended; then what agents that are dead have left."""
    alive = await anyio.to_thread.run_sync(survivors, engine.launch.config_dir, attempts)
    async with anyio.create_task_group() as group:
        for process in alive:
            group.start_soon(stop, process)
    await end_all(await anyio.to_thread.run_sync(marked, {a.session_id for a in attempts}))
    return len(alive)


def survivors(config_dir: Path, attempts: Sequence[AttemptRecord]) -> list[ProcessId]:
    """Return the agents of attempts without an ending that are still at work. Blocks: call it in a thread.

    A pid may have been given to somebody else since. What proves that it is ours is the time at which it was started,
    or where the system tells none (macOS) that its command line names the session.

    Args:
        config_dir: where Claude Code keeps its sessions, and a register of its processes.
        attempts: the attempts.
    """
    found = [(ProcessId(a.pid, a.pid_start, a.boot_id), a.session_id) for a in attempts if a.pid is not None]
    found += _registered(config_dir, {a.session_id for a in attempts})
    alive = ((process, session) for process, session in found if is_alive(process))
    return list({p.pid: p for p, session in alive if p.start is not None or session in command_line(p.pid)}.values())


def _registered(config_dir: Path, sessions: set[str]) -> list[tuple[ProcessId, str]]:
    """Return agents that the CLI's own registry still names for our sessions, each with its session.

    ``sessions/<pid>.json`` is undocumented, and stale after a kill: where there are start times, only a process whose
    own one fits is believed.
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
        if process.start is None or str(data.get("procStart")) == str(process.start):
            found.append((process, data["sessionId"]))
    return found


async def _close(engine: Engine, ticket: str, attempt: AttemptRecord) -> None:
    """Complete an attempt's row; what it spent since its last result is in the session's own file.

    One that had not connected yet was not sent anything either.
    """
    lost = Unreported()
    if attempt.baseline_usd is not None:
        since, known = await _last_result(engine, ticket, attempt)
        lost = await settle(engine, attempt.session_id, UsageMeter(), since, known, attempt.cap_usd)
    ended = ev.AttemptEnded(
        ticket,
        engine.clock(),
        attempt.number,
        Outcome.LOST,
        "the supervisor was stopped",
        estimated_usd=lost.estimated_usd,
        settled_usd=lost.settled_usd,
        tokens=lost.tokens,
    )
    await engine.journal.emit(ended)


async def _last_result(engine: Engine, ticket: str, attempt: AttemptRecord) -> tuple[float, float]:
    """Return from when on the attempt's spend has not been reported, and the session's total as of then."""
    events = await engine.journal.store.events_since(
        ticket, lambda e: isinstance(e, ev.AttemptStarted) and e.number == attempt.number
    )
    reported = [e for e in events if isinstance(e, ev.TurnEnded) and e.number == attempt.number]
    totals = [e.total_cost_usd for e in reported if e.total_cost_usd is not None]
    return max([attempt.started, *map(after, reported)]), totals[-1] if totals else attempt.baseline_usd or 0.0
