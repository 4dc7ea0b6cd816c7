"""What became of a batch: every ticket with all its attempts and how each of them ended.

Reads what is written down, also beside a supervisor that runs, and changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.core.text import safe_line
from supervisor.cost_report import find_ticket
from supervisor.report import iso, rounded_usd, usd
from supervisor.store.glance import glance

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from supervisor.core.model import AttemptRecord, TicketSnapshot
    from supervisor.core.spec import BatchSpec

Data = dict[str, Any]


def attempt_report(spec: BatchSpec, state_dir: Path, name: str | None = None) -> Data:
    """Return all attempts as plain data.

    Args:
        spec: the batch.
        state_dir: where its database is.
        name: only this ticket, by its id or how that begins; None for all.

    Raises:
        StoreError: the database cannot be read.
        NoSuchTicket: there is no such ticket.
    """
    with glance(state_dir) as seen:
        tickets = seen.tickets()
        chosen = tickets if name is None else [t for t in tickets if t.id == find_ticket(name, tickets)]
        listed = [_ticket(t, seen.attempts(t.id)) for t in chosen]
    return {"batch": spec.name, "state_dir": str(state_dir), "tickets": listed}


def _ticket(t: TicketSnapshot, attempts: tuple[AttemptRecord, ...]) -> Data:
    return {
        "id": t.id,
        "title": t.title,
        "state": t.state.value,
        "why": t.why.value if t.why else None,
        "detail": t.detail,
        "branch": t.branch,
        "turns": t.turns,
        "tokens": t.tokens,
        "cost_usd": usd(t.spent_usd),
        "estimated_usd": usd(t.estimated_usd),
        "attempts": [_attempt(a) for a in attempts],
    }


def _attempt(a: AttemptRecord) -> Data:
    return {
        "number": a.number,
        "mode": a.mode.value,
        "session_id": a.session_id,
        "started": iso(a.started),
        "ended": iso(a.ended),
        "seconds": None if a.ended is None else round(a.ended - a.started, 3),
        "outcome": a.outcome.value if a.outcome else None,
        "subtype": a.subtype,
        "terminal_reason": a.terminal_reason,
        "is_error": a.is_error,
        "api_error_status": a.api_error_status,
        "exit_code": a.exit_code,
        "turns": a.num_turns,
        "cost_usd": usd(a.cost_usd),
        "is_estimate": a.estimated,
        "errors": list(a.errors),
        "detail": a.detail,
    }


def attempt_text(data: Data) -> str:
    """Return the attempts as lines, safe to print."""
    return "\n".join(line for ticket in data["tickets"] for line in _lines(ticket)) or "no tickets"


def _lines(ticket: Data) -> Iterator[str]:
    state = ticket["state"].replace("_", " ") + (f": {ticket['why'].replace('_', ' ')}" if ticket["why"] else "")
    about = f"{ticket['turns']} turns, {rounded_usd(ticket['cost_usd'], ticket['estimated_usd'])}"
    yield f"{safe_line(ticket['id'])}  {safe_line(ticket['title'])}"
    yield f"  {state}, {about}" + (f"  {safe_line(ticket['detail'])}" if ticket["detail"] else "")
    for a in ticket["attempts"]:
        ending = "/".join(filter(None, (a["subtype"], a["terminal_reason"]))) or "no result"
        took = "under way" if a["seconds"] is None else _time(a["seconds"])
        cost = f"{'≈ ' if a['is_estimate'] else ''}${a['cost_usd']:.2f}"
        words = f"attempt {a['number']}  {a['mode']:<8}  {a['outcome'] or 'open':<13}  {safe_line(ending):<32}"
        yield f"    {words}  {a['turns']:>3} turns  {cost:>8}  {took:>9}  {safe_line(a['detail'])}".rstrip()


def _time(seconds: float) -> str:
    """Return how long something took, to about two figures."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {whole % 60} s"
