"""What another shell may ask of a running batch, and what it is answered. Plain data in, plain data out.

What comes in is checked here, field by field; a request that makes no sense is answered, never raised. Verbs go through
the pool, which writes them to the disk first; decisions about effects and answers to asks go to their desks.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from supervisor.core.errors import StoreError, SupervisorError
from supervisor.core.model import State
from supervisor.core.rulings import DecisionVerb
from supervisor.core.verbs import BY_NAME, NOT_BY_ALL, Verb
from supervisor.engine import ask_requests, place_requests
from supervisor.engine.desk import OPERATOR, Ruling
from supervisor.engine.request_fields import BadRequest, find_name, text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from supervisor.core.board import Board
    from supervisor.core.effects import EffectRecord
    from supervisor.core.model import TicketSnapshot
    from supervisor.engine.batch import Batch
    from supervisor.engine.desk import EffectDesk

    Request = Mapping[str, Any]
    Reply = dict[str, Any]

ONCE_MORE = "once_more"
"""Decides that it may run once more, as ``grant`` does."""
_RULINGS = {v.value: v for v in DecisionVerb if v is not DecisionVerb.FENCE} | {ONCE_MORE: DecisionVerb.GRANT}
MAX_SLOTS = 1_000
_FINISHED = (State.DONE, State.CANCELLED)


async def answer(batch: Batch, request: Request) -> Reply:
    """Answer a request of another shell; what is wrong with it is the answer's ``error``."""
    does: dict[str, Callable[[], Awaitable[Reply]]] = {
        "verb": lambda: _verb(batch, request),
        "ruling": lambda: rule(batch.engine.desk, batch.board, request),
        "probe": lambda: _probe(batch, request),
        "asks": lambda: ask_requests.listed(batch.board, request),
        "answer": lambda: ask_requests.answer(batch.engine.asks, batch.board, request),
        "cuts": lambda: place_requests.cuts(batch.engine, request),
        "checkpoints": lambda: place_requests.checkpoints(batch.engine, request),
        "preview": lambda: place_requests.preview(batch.engine, request),
        "pool": lambda: _pool(batch, request),
        "status": lambda: _status(batch),
    }
    return await dispatch(does, request)


async def dispatch(does: Mapping[str, Callable[[], Awaitable[Reply]]], request: Request) -> Reply:
    """Do what a request names; every refusal becomes ``{"error": words, "kind": class}``."""
    try:
        name = text(request, "do")
        if name not in does:
            raise BadRequest(f'"do" is one of {", ".join(does)}')
        return await does[name]()
    except (BadRequest, SupervisorError) as refusal:
        return {"error": str(refusal), "kind": type(refusal).__name__}


@dataclass(frozen=True, slots=True)
class Target:
    """A ticket as a request names it."""

    name: str
    ticket: TicketSnapshot | None = None
    fault: str = ""
    """Why there is no such ticket."""

    def reply(self, accepted: bool, says: str) -> Reply:
        """Return what is answered for it."""
        return {"ticket": self.ticket.id if self.ticket else self.name, "accepted": accepted, "says": says}


def read_verb(request: Request) -> Verb:
    """Return the verb that a request names. Raises BadRequest."""
    verb = BY_NAME.get(text(request, "verb"))
    if verb is None:
        raise BadRequest(f'"verb" is one of {", ".join(BY_NAME)}')
    return verb


@dataclass(frozen=True, slots=True)
class Told:
    """What a request says beside its verb and tickets."""

    args: Mapping[str, Any]
    actor: str
    ident: str = ""
    """A UUID that the sender minted: a request that is sent again does nothing again."""

    def letter(self, ticket: str) -> str | None:
        """Return the id of one ticket's letter."""
        return str(uuid.uuid5(uuid.UUID(self.ident), ticket)) if self.ident else None


def read_told(request: Request) -> Told:
    """Return what a request says beside its verb and tickets. Raises BadRequest."""
    args = request.get("args", {})
    if not isinstance(args, dict):
        raise BadRequest('"args" must be an object')
    ident = text(request, "id", "")
    try:
        uuid.UUID(ident or str(uuid.uuid4()))
    except ValueError:
        raise BadRequest('"id" must be a UUID') from None
    return Told(args, text(request, "actor", "")[:200], ident)


def targets(board: Board, verb: Verb, request: Request) -> list[Target]:
    """Return the tickets that a request names, each once; all are those of the verb ``for``. Raises BadRequest."""
    if request.get("all") is True:
        verb = BY_NAME.get(text(request, "for", ""), verb)
        spared = _FINISHED if verb in NOT_BY_ALL else ()
        return [Target(t.id, t) for t in board.rows() if verb.applies(t) and t.state not in spared]
    names = request.get("tickets")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadRequest('"tickets" must be a list of ids')
    found = [_target(board, name) for name in dict.fromkeys(names)]
    return list({t.ticket.id if t.ticket else t.name: t for t in found}.values())


def _target(board: Board, name: str) -> Target:
    ident, fault = find_name(name, [t.id for t in board.rows()], "ticket")
    return Target(name, board[ident] if ident is not None else None, fault)


async def _verb(batch: Batch, request: Request) -> Reply:
    """Give a verb to some tickets: all of them together, not one after another."""
    verb, told = read_verb(request), read_told(request)
    chosen = targets(batch.board, verb, request)
    replies: list[Reply] = [{}] * len(chosen)

    async def give(place: int, target: Target) -> None:
        replies[place] = await _give(batch, verb, target, told)

    async with anyio.create_task_group() as group:
        for place, target in enumerate(chosen):
            group.start_soon(give, place, target)
    return {"verb": verb.name, "tickets": replies}


async def _give(batch: Batch, verb: Verb, target: Target, told: Told) -> Reply:
    if target.ticket is None:
        return target.reply(False, target.fault)
    try:
        accepted, says = await batch.pool.mailroom.request(
            verb, target.ticket.id, told.args, ident=told.letter(target.ticket.id), actor=told.actor
        )
    except StoreError as error:
        accepted, says = False, str(error)
    return target.reply(accepted, says)


async def rule(desk: EffectDesk, board: Board, request: Request) -> Reply:
    """Carry out a decision about an effect. Raises BadRequest and what ``EffectDesk.rule`` raises."""
    name = text(request, "verb")
    if name not in _RULINGS:
        raise BadRequest(f'"verb" is one of {", ".join(_RULINGS)}')
    ruling = _ruling(_RULINGS[name], request)
    held = await desk.ledger.by_key(ruling.key)
    if ruling.verb is DecisionVerb.GRANT and not await _may_grant(desk, board, held, request):
        words = f"{held.key}: the process that ran it is not proved dead, so it may still be at work"
        return {"error": f"{words}; only who names the effect may grant it", "kind": "NameNeeded", "name": held.effect}
    record = await (desk.once_more(ruling) if name == ONCE_MORE else desk.rule(ruling))
    return _effect(record)


def _ruling(verb: DecisionVerb, request: Request) -> Ruling:
    version = request.get("version")
    if version is None and verb is DecisionVerb.NOTE:
        version = 0  # a note is never stale
    if not isinstance(version, int) or isinstance(version, bool):
        raise BadRequest('"version" must be the number that was shown with the effect')
    ticket = text(request, "ticket", "") or None
    outcome = text(request, "outcome", "") or None
    why, evidence = text(request, "why", ""), text(request, "evidence", "")
    actor = text(request, "actor", "")[:200] or OPERATOR
    return Ruling(text(request, "key"), verb, version, why, evidence, outcome, ticket, actor)


async def _may_grant(desk: EffectDesk, board: Board, held: EffectRecord, request: Request) -> bool:
    """Whether nothing of the last run can be at work, or the operator says to know what they do."""
    if text(request, "i_know", "") == held.effect:
        return True
    view = board.effect(held.key)
    await desk.refresh(held, busy=view is not None and view.busy)
    view = board.effect(held.key)
    return view is not None and view.owner_dead


async def _probe(batch: Batch, request: Request) -> Reply:
    key = text(request, "key")
    await batch.engine.desk.ledger.by_key(key)  # an unknown one is a refusal, not an answer of the other system
    says = await batch.probe_effect(key)
    record = await batch.engine.desk.ledger.by_key(key)
    return {**_effect(record), "settled": says is None, "says": says or ""}


def _effect(record: EffectRecord) -> Reply:
    return {
        "key": record.key,
        "ticket": record.ticket,
        "state": record.state.value,
        "version": record.version,
        "outcome": record.outcome,
    }


async def _pool(batch: Batch, request: Request) -> Reply:
    """Set how many tickets run together, and whether new ones start. Raises BadRequest."""
    slots, paused = request.get("slots"), request.get("paused")
    if slots is not None:
        if not isinstance(slots, int) or isinstance(slots, bool) or not 1 <= slots <= MAX_SLOTS:
            raise BadRequest(f'"slots" must be a whole number from 1 to {MAX_SLOTS}')
        batch.set_slots(slots)
    if paused is not None:
        if not isinstance(paused, bool):
            raise BadRequest('"paused" must be true or false')
        batch.pause_starting(paused)
    return {"slots": batch.board.announced.slots, "paused": batch.board.announced.starting_paused}


async def _status(batch: Batch) -> Reply:
    tickets = [{"id": t.id, "state": t.state.value, "pending": t.pending} for t in batch.board.rows()]
    totals = batch.board.announced
    who = {"pid": os.getpid(), "batch": totals.name, "stopping": totals.stopping}
    return {**who, "tickets": tickets, "effects": effects(batch.board)}


def effects(board: Board) -> list[Reply]:
    """Return all effects, those that wait for the operator first."""
    return [{**_effect(v.record), "owner_dead": v.owner_dead, "busy": v.busy} for v in board.effects()]
