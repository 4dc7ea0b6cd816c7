"""What a state directory says: the contract of ``supervise status --json``, and the words of ``supervise status``."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from supervisor.core.model import State, TicketSnapshot
from supervisor.core.text import safe_line
from supervisor.engine.lock import holder
from supervisor.store.glance import glance

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from supervisor.core.effects import EffectRecord
    from supervisor.core.spec import BatchSpec


def status(spec: BatchSpec, state_dir: Path) -> dict[str, Any]:
    """Return the state of a batch as plain data. Raises StoreError when the database cannot be read."""
    with glance(state_dir) as seen:
        tickets, effects = seen.tickets(), seen.effects()
    return {
        "batch": spec.name,
        "state_dir": str(state_dir),
        "running": holder(state_dir / "lock") is not None,
        "spent_usd": _money(sum(t.spent_usd for t in tickets)),
        "budget_usd": spec.budget_usd,
        "tickets": [_ticket(t) for t in tickets],
        "effects": [effect_entry(e) for e in effects],
    }


def _ticket(t: TicketSnapshot) -> dict[str, Any]:
    return {
        "id": t.id,
        "title": t.title,
        "state": t.state.value,
        "why": t.why.value if t.why else None,
        "detail": t.detail,
        "attempts": t.attempts,
        "mode": t.mode.value if t.mode else None,
        "turns": t.turns,
        "subtype": t.subtype,
        "terminal_reason": t.terminal_reason,
        "session_id": t.session_id,
        "worktree": t.worktree,
        "branch": t.branch,
        "cost_usd": _money(t.spent_usd),
        "estimated_usd": _money(t.estimated_usd),
        "budget_usd": t.budget_usd,
        "headroom_usd": None if t.headroom_usd is None else _money(t.headroom_usd),
        "old_instructions": t.stale_instructions,
        "parent": t.parent,
        "last_activity": iso(t.last_activity),
    }


def effect_entry(record: EffectRecord) -> dict[str, Any]:
    """Return what the contract says of one effect."""
    return {
        "key": record.key,
        "ticket": record.ticket,
        "effect": record.effect,
        "kind": record.kind,
        "state": record.state.value,
        "version": record.version,
        "attempts": record.attempt,
        "outcome": record.outcome,
        "error": record.error,
        "granted_to": record.granted_to,
        "requested": iso(record.requested_at),
        "claimed": iso(record.claimed_at),
        "settled": iso(record.settled_at),
    }


def _money(usd: float) -> float:
    return round(usd, 6)


def iso(at: float | None) -> str | None:
    """Return a time as ISO 8601 in UTC, to the second."""
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_text(data: dict[str, Any]) -> str:
    """Return the status in words, a line for each ticket."""
    running = "running" if data["running"] else "not running"
    of = f" of ${data['budget_usd']:.2f}" if data["budget_usd"] is not None else ""
    lines = [f"{safe_line(data['batch'])}: {running}, ${data['spent_usd']:.2f}{of} spent (an estimate of the SDK)"]
    width = max((len(t["id"]) for t in data["tickets"]), default=0)
    for t in data["tickets"]:
        ending = "/".join(x for x in (t["subtype"], t["terminal_reason"]) if x)
        old = " (runs on old instructions)" if t["old_instructions"] else ""
        words = f"{t['why'] + ': ' if t['why'] else ''}{t['detail']}"
        lines.append(
            f"  {safe_line(t['id']):<{width}}  {t['state']:<9}  {t['attempts']} tries  ${t['cost_usd']:.2f}  "
            f"{ending:<24}  {safe_line(words)}{old}".rstrip()
        )
    return "\n".join(lines)


def exit_code(tickets: Iterable[TicketSnapshot]) -> int:
    """Return 0 when all is done, 3 when something waits for a person, else 1 when something failed."""
    states = Counter(t.state for t in tickets)
    if any(states[s] for s in (State.NEEDS_YOU, State.PAUSED)):
        return 3
    if states[State.FAILED]:
        return 1
    return 3 if any(states[s] for s in (State.QUEUED, State.PARKED, State.STARTING, State.RUNNING)) else 0
