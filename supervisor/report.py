"""What a state directory says: the contract of ``supervise status --json``, and the words of ``supervise status``."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from supervisor.core import forecast
from supervisor.core.model import ACTIVE, State, TicketSnapshot
from supervisor.core.text import safe_line
from supervisor.engine.belonging import BATCH, refuse_to_read
from supervisor.engine.governor import NOTIONAL
from supervisor.engine.lock import holder
from supervisor.store.glance import glance

CUT_OFF = "cut off"
"""Said of what a supervisor's death ended, instead of a state that claims that it is at work."""
_OVER = (State.DONE.value, State.FAILED.value, State.CANCELLED.value)

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.core.effects import EffectRecord
    from supervisor.core.spec import BatchSpec


def status(spec: BatchSpec, state_dir: Path) -> dict[str, Any]:
    """Return the state of a batch as plain data.

    Raises StoreError when the database cannot be read, or is another batch's.
    """
    running, now = is_running(state_dir), time.time()
    with glance(state_dir) as seen:
        tickets, effects = seen.tickets(), seen.effects()
        refuse_to_read(seen.setting(BATCH), tickets, spec, state_dir)
        work, notional = seen.work_times(now if running else None), bool(seen.setting(NOTIONAL))
    found = forecast.forecast(tickets, work, spec.slots, now)
    return {
        "batch": spec.name,
        "state_dir": str(state_dir),
        "running": running,
        "spent_usd": usd(sum(t.spent_usd for t in tickets)),
        "estimated_usd": usd(sum(t.estimated_usd for t in tickets)),
        "budget_usd": spec.budget_usd,
        "tokens": sum(t.tokens for t in tickets),
        "costs_are_notional": notional,
        "forecast": None if found is None else _forecast(found, now, notional=notional),
        "tickets": [_ticket(t, running) for t in tickets],
        "effects": [effect_entry(e) for e in effects],
    }


def _forecast(found: forecast.Forecast, now: float, *, notional: bool) -> dict[str, Any]:
    cost, end = found.cost_usd, found.seconds
    return {
        "finished": found.finished,
        "left": found.left,
        "cost_usd": usd(cost.expected),
        "cost_usd_range": [usd(cost.low), usd(cost.high)],
        "ends": iso(now + end.expected),
        "ends_range": [iso(now + end.low), iso(now + end.high)],
        "words": forecast.words(found, now, notional=notional),
    }


def is_running(state_dir: Path) -> bool:
    """Return whether a supervisor works on a state directory."""
    return holder(state_dir / "lock") is not None


def is_cut_off(t: TicketSnapshot, running: bool) -> bool:
    """Return whether a ticket was at work when its supervisor died: it is at work no more, whatever its state says."""
    return not running and t.state in ACTIVE


def cut_off_words(state: str, pending: str | None = None) -> str:
    """Return what becomes of a ticket that was cut off in a state; ``pending`` is a verb that waits for its start."""
    then = f"{pending} is carried out" if pending else "goes on"
    return f"was {state} when the supervisor ended; {then} at the next start"


def _ticket(t: TicketSnapshot, running: bool) -> dict[str, Any]:
    return {
        "id": t.id,
        "title": t.title,
        "state": t.state.value,
        "cut_off": is_cut_off(t, running),
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
        "cost_usd": usd(t.spent_usd),
        "estimated_usd": usd(t.estimated_usd),
        "budget_usd": t.budget_usd,
        "headroom_usd": None if t.headroom_usd is None else usd(t.headroom_usd),
        "is_short": t.is_short,
        "tokens": t.tokens,
        "budget_turns": t.budget_turns,
        "budget_tokens": t.budget_tokens,
        "old_instructions": t.stale_instructions,
        "pending_messages": t.messages,
        "pending": t.pending,
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


def usd(amount: float) -> float:
    """Return a sum as reports give it: to a ten-thousandth of a cent."""
    return round(amount, 6)


def rounded_usd(amount: float, estimated: float) -> str:
    """Return a sum to the cent; ``≈`` before it where a part of it, ``estimated``, is an estimate of ours."""
    return f"{'≈ ' if estimated > 0 else ''}${amount:.2f}"


def iso(at: float | None) -> str | None:
    """Return a time as ISO 8601 in UTC, to the second."""
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_text(data: dict[str, Any]) -> str:
    """Return the status in words, a line for each ticket."""
    running = "running" if data["running"] else "not running"
    lines = [f"{safe_line(data['batch'])}: {running}, {_spent(data)}"]
    if data["forecast"] is not None:
        lines.append(f"forecast: {data['forecast']['words']}, by {data['forecast']['finished']} finished tickets")
    width = max((len(t["id"]) for t in data["tickets"]), default=0)
    for t in data["tickets"]:
        ending = "/".join(x for x in (t["subtype"], t["terminal_reason"]) if x)
        old = " (runs on old instructions)" if t["old_instructions"] else ""
        count = t["pending_messages"]
        written = f" ({count} message{'s' if count > 1 else ''} not given yet)" if count else ""
        short = " (headroom below the reserve)" if t["is_short"] and t["state"] not in _OVER else ""
        cut = t["cut_off"]
        state = CUT_OFF if cut else t["state"]
        words = f"{t['why'] + ': ' if t['why'] else ''}{t['detail']}"
        words = cut_off_words(t["state"], t["pending"]) if cut else words
        paid = rounded_usd(t["cost_usd"], t["estimated_usd"])
        cost = f"{t['turns']} turns" if data["costs_are_notional"] else paid
        lines.append(
            f"  {safe_line(t['id']):<{width}}  {state:<9}  {t['attempts']} tries  {cost}  "
            f"{ending:<24}  {safe_line(words)}{written}{short}{old}".rstrip()
        )
    return "\n".join(lines)


def _spent(data: dict[str, Any]) -> str:
    """Return what was spent: money, or on a subscription turns and tokens."""
    if data["costs_are_notional"]:
        turns = sum(t["turns"] for t in data["tickets"])
        return f"{turns} turns and {data['tokens']:,} tokens on a subscription (as if ${data['spent_usd']:.2f})"
    of = f" of ${data['budget_usd']:.2f}" if data["budget_usd"] is not None else ""
    return f"{rounded_usd(data['spent_usd'], data['estimated_usd'])}{of} spent (an estimate of the SDK)"
