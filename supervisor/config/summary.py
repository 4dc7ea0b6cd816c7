"""What `supervise check` prints for a good file: what will run, in which order, and what is worth a second look."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from supervisor.config.effects import key_fields
from supervisor.config.order import starting_order
from supervisor.core.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.core.spec import BatchSpec, EffectSpec, TicketSpec


def summary(spec: BatchSpec) -> str:
    """Return a description of a batch in plain text, safe to print."""
    return "\n".join(safe_line(line) for line in _lines(spec))


def notes(spec: BatchSpec) -> tuple[str, ...]:
    """Return what is right in the file but may not be meant, one sentence each, safe to print."""
    return tuple(safe_line(note) for note in _notes(spec))


def _lines(spec: BatchSpec) -> Iterator[str]:
    limit = "no limit" if spec.budget_usd is None else f"{spec.budget_usd:.2f} USD"
    yield f"batch    {spec.name}"
    yield f"file     {spec.path}"
    yield f"repo     {spec.repo}, from {spec.base}"
    yield f"slots    {spec.slots}"
    yield f"budget   {limit}"
    yield f"login    {spec.claude_home}"
    yield ""
    yield f"tickets  {len(spec.tickets)}, in the order they start"
    for place, ticket in enumerate(starting_order(spec.tickets), 1):
        yield f"{place:>3}. {ticket.id}" + (f"  {ticket.title}" if ticket.title != ticket.id else "")
        yield "     " + "; ".join(_ticket(ticket))
    if spec.effects:
        yield ""
        yield f"effects  {len(spec.effects)}"
    for effect in spec.effects.values():
        yield f"     {effect.name}: " + "; ".join(_effect(effect))
    for note in _notes(spec):
        yield f"note: {note}"


def _ticket(ticket: TicketSpec) -> Iterator[str]:
    if ticket.after:
        yield "after " + ", ".join(ticket.after)
    yield "no limit" if ticket.budget_usd is None else f"{ticket.budget_usd:.2f} USD"
    if ticket.max_turns is not None:
        yield f"{ticket.max_turns} turns"
    if ticket.priority:
        yield f"priority {ticket.priority}"
    if ticket.model:
        yield ticket.model
    if ticket.permission_mode != "default":
        yield ticket.permission_mode
    if ticket.base:
        yield f"from {ticket.base}"
    if ticket.setup:
        yield f"setup {shlex.join(ticket.setup)}"
    if ticket.verify:
        yield f"verify {shlex.join(ticket.verify)}"
    if ticket.effects:
        yield "effects " + ", ".join(ticket.effects)


def _effect(effect: EffectSpec) -> Iterator[str]:
    yield effect.kind
    if effect.approval == "always":
        yield "asks first"
    yield f"runs {shlex.join(effect.command)}" if effect.command else f"calls {effect.handler}"
    if effect.probe or effect.probe_handler:
        yield "has a probe"


def _notes(spec: BatchSpec) -> Iterator[str]:
    for ticket in spec.tickets:
        yield from _ticket_notes(ticket, spec.budget_usd)
    used = {name for ticket in spec.tickets for name in ticket.effects}
    for effect in spec.effects.values():
        if effect.name not in used:
            yield f"effect {effect.name} is used by no ticket"
        optional = [name for name in key_fields(effect.key or "") if name not in effect.input.get("required", [])]
        if optional:
            yield f"effect {effect.name} takes its key from {', '.join(optional)}, which its input does not require"


def _ticket_notes(ticket: TicketSpec, batch_budget_usd: float | None) -> Iterator[str]:
    if ticket.budget_usd is None and batch_budget_usd is None:
        yield f"{ticket.id} may spend without limit: neither it nor the batch has a budget_usd"
    if ticket.budget_usd is not None and batch_budget_usd is not None and ticket.budget_usd > batch_budget_usd:
        yield f"{ticket.id} may spend more than the whole batch; the batch's budget_usd holds"
    if ticket.permission_mode == "bypassPermissions":
        yield f"{ticket.id} uses every tool without asking"
    if ticket.project_instructions:
        yield f"{ticket.id} loads the repository's CLAUDE.md, its settings and the hooks in them"
