"""How the sums of a batch come about: for every attempt its baseline, what each result added, what was booked beside.

Reads what is written down, also beside a supervisor that runs, and changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.core import costs
from supervisor.core.errors import SupervisorError
from supervisor.core.text import safe_line
from supervisor.engine.belonging import BATCH, refuse_to_read
from supervisor.engine.request_fields import find_name
from supervisor.report import CUT_OFF, is_cut_off, is_running, usd
from supervisor.store.glance import glance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from supervisor.core.model import TicketSnapshot
    from supervisor.core.spec import BatchSpec
    from supervisor.store.glance import Glance

Data = dict[str, Any]
_ESTIMATES = "All figures are estimates of the SDK's, not your bill."


class NoSuchTicket(SupervisorError):  # noqa: N818
    """The batch has no ticket of that name."""


def find_ticket(name: str, tickets: Sequence[TicketSnapshot]) -> str:
    """Return the id of the ticket that a name means, or the only one that begins with it. Raises NoSuchTicket."""
    ident, fault = find_name(name, [t.id for t in tickets], "ticket")
    if ident is None:
        raise NoSuchTicket(fault)
    return ident


def cost_report(spec: BatchSpec, state_dir: Path, name: str | None = None) -> Data:
    """Return the costs as plain data.

    Args:
        spec: the batch.
        state_dir: where its database is.
        name: only the lineage of this ticket, by its id or how that begins; None for all.

    Raises:
        StoreError: the database cannot be read, or is another batch's.
        NoSuchTicket: there is no such ticket.
    """
    running = is_running(state_dir)
    with glance(state_dir) as seen:
        tickets = seen.tickets()
        refuse_to_read(seen.setting(BATCH), tickets, spec, state_dir)
        families = costs.lineages(tickets)
        if name is not None:
            ident = find_ticket(name, tickets)
            families = tuple(f for f in families if any(t.id == ident for t in f.members))
        return {
            "batch": spec.name,
            "state_dir": str(state_dir),
            "spent_usd": usd(sum(t.spent_usd for t in tickets)),
            "estimated_usd": usd(sum(t.estimated_usd for t in tickets)),
            "budget_usd": spec.budget_usd,
            "overshoot_usd": _over(sum(t.spent_usd for t in tickets), spec.budget_usd),
            "lineages": [_lineage(family, seen, running) for family in families],
        }


def _lineage(family: costs.Lineage, seen: Glance, running: bool) -> Data:
    return {
        "root": family.root,
        "spent_usd": usd(family.spent_usd),
        "tickets": [_ticket(ticket, costs.sheet(seen.events(ticket.id)), running) for ticket in family.members],
    }


def _ticket(ticket: TicketSnapshot, attempts: Sequence[costs.AttemptCost], running: bool) -> Data:
    return {
        "id": ticket.id,
        "title": ticket.title,
        "state": ticket.state.value,
        "cut_off": is_cut_off(ticket, running),
        "spent_usd": usd(ticket.spent_usd),
        "estimated_usd": usd(ticket.estimated_usd),
        "budget_usd": ticket.budget_usd,
        "overshoot_usd": _over(ticket.spent_usd, ticket.budget_usd),
        "turns": ticket.turns,
        "tokens": ticket.tokens,
        "attempts": [_attempt(attempt, running) for attempt in attempts],
    }


def _attempt(a: costs.AttemptCost, running: bool) -> Data:
    return {
        "number": a.number,
        "mode": a.mode.value,
        "session_id": a.session_id,
        "outcome": a.outcome.value if a.outcome else None,
        "cut_off": a.is_open and not running,
        "cap_usd": None if a.cap_usd is None else usd(a.cap_usd),
        "reserve_usd": None if a.reserve_usd is None else usd(a.reserve_usd),
        "baseline_usd": None if a.baseline_usd is None else usd(a.baseline_usd),
        "turns": [
            {
                "total_usd": None if t.total_usd is None else usd(t.total_usd),
                "cost_usd": usd(t.cost_usd),
                "tokens": t.tokens,
                "ending": t.ending,
                "ours": t.is_ours,
            }
            for t in a.turns
        ],
        "estimated_usd": usd(a.estimated_usd + a.replaced_usd),
        "settled_usd": usd(a.settled_usd),
        "corrected_usd": usd(a.corrected_usd),
        "corrected_by_baseline_usd": None if a.told_by_usd is None else usd(a.told_by_usd),
        "is_estimate": a.estimated_usd > 0,
        "cost_usd": usd(a.cost_usd),
        "overshoot_usd": usd(a.overshoot_usd),
    }


def _over(spent: float, budget: float | None) -> float:
    return 0.0 if budget is None else usd(max(0.0, spent - budget))


def cost_text(data: Data) -> str:
    """Return the costs as a table that can be added up by hand, safe to print."""
    lines = [line for family in data["lineages"] for line in _family_lines(family)]
    of = f" of ${data['budget_usd']:.2f}" if data["budget_usd"] is not None else ""
    total = f"batch {safe_line(data['batch'])}: {_sum(data['spent_usd'], data['estimated_usd'])}{of}"
    return "\n".join([*lines, total + _beyond(data["overshoot_usd"]), _ESTIMATES])


def _family_lines(family: Data) -> Iterator[str]:
    for ticket in family["tickets"]:
        yield from _ticket_lines(ticket)
    if len(family["tickets"]) > 1:
        parts = " + ".join(f"{safe_line(t['id'])} {_usd(t['spent_usd'])}" for t in family["tickets"])
        yield f"lineage of {safe_line(family['root'])}: {parts} = {_usd(family['spent_usd'])}"
        yield ""


def _ticket_lines(ticket: Data) -> Iterator[str]:
    state = CUT_OFF if ticket["cut_off"] else ticket["state"].replace("_", " ")
    yield f"{safe_line(ticket['id'])}  {safe_line(ticket['title'])}  ({state})"
    for attempt in ticket["attempts"]:
        yield from _attempt_lines(attempt)
    count = len(ticket["attempts"])
    of = f" of ${ticket['budget_usd']:.2f}" if ticket["budget_usd"] is not None else ""
    spent = _sum(ticket["spent_usd"], ticket["estimated_usd"])
    more = f"{ticket['turns']} turns, {ticket['tokens']:,} tokens"
    yield f"  = {spent}{of} in {count} attempt{'s' * (count != 1)}, {more}{_beyond(ticket['overshoot_usd'])}"
    yield ""


def _outcome(a: Data) -> str:
    return str(a["outcome"] or (CUT_OFF if a["cut_off"] else "under way"))


def _attempt_lines(a: Data) -> Iterator[str]:
    cap = f"   cap {_usd(a['cap_usd'])}, reserve {_usd(a['reserve_usd'] or 0.0)}" if a["cap_usd"] is not None else ""
    yield f"  attempt {a['number']}  {a['mode']}  {_outcome(a)}{cap}{_beyond(a['overshoot_usd'])}"
    if a["baseline_usd"] is None:
        yield _line("never connected", None, 0.0)
        return
    yield _line("baseline", a["baseline_usd"], None)
    for place, turn in enumerate(a["turns"], 1):
        name = f"turn {place}" if turn["ours"] else f"turn {place}, not ours"
        yield _line(name, turn["total_usd"], turn["cost_usd"], safe_line(turn["ending"]))
    if a["settled_usd"]:
        yield _line("not reported", None, a["settled_usd"], "as the process wrote it down when it left")
    if a["estimated_usd"]:
        yield _line("not reported ≈", None, a["estimated_usd"], "estimated by its messages")
    if a["corrected_by_baseline_usd"] is not None:
        told = f"the session's next baseline, {_usd(a['corrected_by_baseline_usd'])}, tells so"
        yield _line("corrected", None, a["corrected_usd"], told)
    yield _line("", None, a["cost_usd"], "≈ together" if a["is_estimate"] else "together", sign="=")


def _line(name: str, total: float | None, cost: float | None, more: str = "", sign: str = "") -> str:
    told = f"total {_usd(total)}" if total is not None else ""
    part = f"{sign or ('−' if cost < 0 else '+')} {_usd(abs(cost))}" if cost is not None else ""
    return f"    {name:<18}{told:<18}{part:<14}{more}".rstrip()


def _usd(sum_: float) -> str:
    return f"${sum_:.4f}"


def _sum(spent: float, estimated: float) -> str:
    return f"{_usd(spent)} (≈ {_usd(estimated)} of it estimated)" if estimated else _usd(spent)


def _beyond(over: float) -> str:
    return f", {_usd(over)} beyond it" if over else ""
