"""What became of a batch: every ticket with all its attempts, how they ended, and what no agent was told yet.

Reads what is written down, also beside a supervisor that runs, and changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.core.checks import of_attempt, with_checks
from supervisor.core.model import Outcome
from supervisor.core.text import safe_line
from supervisor.core.verbs import MESSAGE
from supervisor.cost_report import find_ticket
from supervisor.engine.belonging import BATCH, refuse_to_read
from supervisor.report import CUT_OFF, cut_off_words, is_cut_off, is_running, iso, rounded_usd, usd
from supervisor.store.glance import glance

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from supervisor.core.checks import CheckRun
    from supervisor.core.letters import Letter
    from supervisor.core.model import AttemptRecord, TicketSnapshot
    from supervisor.core.spec import BatchSpec
    from supervisor.store.glance import Glance

Data = dict[str, Any]
MESSAGE_CHARS = 200
"""Most characters shown of a message; the JSON has all of it."""


def attempt_report(spec: BatchSpec, state_dir: Path, name: str | None = None) -> Data:
    """Return all attempts as plain data.

    Args:
        spec: the batch.
        state_dir: where its database is.
        name: only this ticket, by its id or how that begins; None for all.

    Raises:
        StoreError: the database cannot be read, or is another batch's.
        NoSuchTicket: there is no such ticket.
    """
    running = is_running(state_dir)
    with glance(state_dir) as seen:
        tickets = seen.tickets()
        refuse_to_read(seen.setting(BATCH), tickets, spec, state_dir)
        chosen = tickets if name is None else [t for t in tickets if t.id == find_ticket(name, tickets)]
        listed = [_ticket(t, seen, running) for t in chosen]
    return {"batch": spec.name, "state_dir": str(state_dir), "running": running, "tickets": listed}


def _ticket(t: TicketSnapshot, seen: Glance, running: bool) -> Data:
    runs = seen.checks(t.id)
    attempts = with_checks(seen.attempts(t.id), runs)
    return {
        "id": t.id,
        "title": t.title,
        "state": t.state.value,
        "cut_off": is_cut_off(t, running),
        "why": t.why.value if t.why else None,
        "detail": t.detail,
        "branch": t.branch,
        "turns": t.turns,
        "tokens": t.tokens,
        "cost_usd": usd(t.spent_usd),
        "estimated_usd": usd(t.estimated_usd),
        "pending": t.pending,
        "attempts": [_attempt(a, of_attempt(runs, a.number), running) for a in attempts],
        "messages": [_message(letter) for letter in seen.letters(t.id) if letter.verb == MESSAGE.name],
    }


def _message(letter: Letter) -> Data:
    """What the operator wrote and the agent has not been given."""
    args = letter.args
    return {"written": iso(letter.at), "by": letter.actor, "now": bool(args.get("now")), "text": args.get("text", "")}


def _attempt(a: AttemptRecord, runs: tuple[CheckRun, ...], running: bool) -> Data:
    return {
        "number": a.number,
        "mode": a.mode.value,
        "session_id": a.session_id,
        "started": iso(a.started),
        "ended": iso(a.ended),
        "seconds": None if a.ended is None else round(a.ended - a.started, 3),
        "cut_off": a.ended is None and not running,
        "outcome": a.outcome.value if a.outcome else None,
        "check": None if not runs else "passed" if runs[-1].passed else "failed",
        "checks": [{"round": r.round, "exit_code": r.exit_code, "ended": iso(r.at), "says": r.ending} for r in runs],
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
    state, detail = ticket["state"].replace("_", " "), ticket["detail"]
    state += f": {ticket['why'].replace('_', ' ')}" if ticket["why"] else ""
    if ticket["cut_off"]:
        state, detail = CUT_OFF, cut_off_words(ticket["state"], ticket["pending"])
    about = f"{ticket['turns']} turns, {rounded_usd(ticket['cost_usd'], ticket['estimated_usd'])}"
    yield f"{safe_line(ticket['id'])}  {safe_line(ticket['title'])}"
    yield f"  {state}, {about}" + (f"  {safe_line(detail)}" if detail else "")
    for a in ticket["attempts"]:
        yield from _attempt_lines(a)
    for message in ticket["messages"]:
        yield f"    message, not given yet: {safe_line(message['text'], MESSAGE_CHARS)}"


def _attempt_lines(a: Data) -> Iterator[str]:
    ending = "/".join(filter(None, (a["subtype"], a["terminal_reason"]))) or "no result"
    took = _time(a["seconds"]) if a["seconds"] is not None else "" if a["cut_off"] else "under way"
    cost = f"{'≈ ' if a['is_estimate'] else ''}${a['cost_usd']:.2f}"
    words = f"attempt {a['number']}  {a['mode']:<8}  {_outcome(a):<13}  {safe_line(ending):<32}"
    yield f"    {words}  {a['turns']:>3} turns  {cost:>8}  {took:>9}  {safe_line(a['detail'])}".rstrip()
    for run in a["checks"]:
        yield f"      check, round {run['round']}: {run['says']}"


def _outcome(a: Data) -> str:
    """What an attempt came to: what its agent thought done is not, where the check failed."""
    if a["outcome"] is None:
        return CUT_OFF if a["cut_off"] else "open"
    failed = a["outcome"] == Outcome.DONE and a["check"] == "failed"
    return "check failed" if failed else str(a["outcome"])


def _time(seconds: float) -> str:
    """Return how long something took, to about two figures."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {whole % 60} s"
