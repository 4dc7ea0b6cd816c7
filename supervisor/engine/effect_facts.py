"""What a ticket's agent is told for certain about effects: its own, and those it shares with its lineage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.effects import EffectState
from supervisor.engine.asking import lineage
from supervisor.engine.effect_caller import tell

if TYPE_CHECKING:
    from supervisor.core.effects import EffectRecord
    from supervisor.engine.context import Engine

_NEWS = frozenset({EffectState.NOT_DONE, EffectState.GRANTED})
"""Decisions that the agent has to hear of before the ticket can be done."""


def certain(engine: Engine, ticket: str) -> tuple[str, ...]:
    """Return what the ledger knows of the ticket's effects, one line for each: the conversation may claim otherwise."""
    records = [record for record, shared in _of_lineage(engine, ticket) if shared or record.scope == ticket]
    told = [(record, tell(record, ticket, engine.desk.decision(record))) for record in records]
    return tuple(f"{record.op}: {answer.text}" for record, answer in told)


def not_shared(engine: Engine, ticket: str) -> tuple[str, ...]:
    """Return the effects that a fork's conversation may tell of and that were another ticket's own."""
    records = [record for record, shared in _of_lineage(engine, ticket) if not shared and record.scope != ticket]
    return tuple(f"{r.op} of {r.scope}: was that ticket's own; a call of yours is another one" for r in records)


def has_news(engine: Engine, ticket: str) -> bool:
    """Return whether the operator has decided something that the agent has to hear of."""
    return any(
        view.record.state in _NEWS and ticket in view.askers and view.record.granted_to in (None, ticket)
        for view in engine.board.effects()
    )


def _of_lineage(engine: Engine, ticket: str) -> list[tuple[EffectRecord, bool]]:
    """Return the effects of a ticket and of those it comes from, by key, and whether the lineage shares them."""
    family = lineage(ticket, engine.board)
    records = sorted((view.record for view in engine.board.effects()), key=lambda record: record.key)
    return [(r, r.scope == family[-1] and _is_shared(engine, r)) for r in records if r.scope in family]


def _is_shared(engine: Engine, record: EffectRecord) -> bool:
    spec = engine.spec.effects.get(record.effect)
    return spec is None or spec.scope == "lineage"
