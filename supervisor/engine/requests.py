"""What another shell may ask of a running batch, and what it is answered. Plain data in, plain data out.

What comes in is checked here, field by field; a request that makes no sense is answered, never raised. Verbs go through
the pool, which writes them to the disk first; decisions about effects go to the desk.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

import anyio

from supervisor.core.errors import StoreError, SupervisorError
from supervisor.core.model import ACTIVE, State
from supervisor.core.rulings import DecisionVerb
from supervisor.core.verbs import BY_NAME, CANCEL, INTERRUPT, RESUME, Verb
from supervisor.engine.desk import OPERATOR, Ruling

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from supervisor.core.board import Board
    from supervisor.core.effects import EffectRecord
    from supervisor.core.model import TicketSnapshot
    from supervisor.engine.batch import Batch
    from supervisor.engine.desk import EffectDesk

    Request = Mapping[str, Any]
    Reply = dict[str, Any]

ONCE_MORE = "once_more"
"""Decides two things at once: it did not happen, and it may run once more."""
_RULINGS = {v.value: v for v in DecisionVerb if v is not DecisionVerb.FENCE} | {ONCE_MORE: DecisionVerb.GRANT}
_NOT_BY_ALL = {RESUME: frozenset({State.DONE, State.CANCELLED})}
"""Tickets that a verb applies to and "all" does not mean: nobody wants finished work begun again by the dozen."""

_MOST_COMPARED = 200
"""Looking for the nearest name is slow, and the screen waits meanwhile: most names, and letters of one, to look at."""


class BadRequest(Exception):  # noqa: N818
    """A request makes no sense. The text is for whoever sent it."""


async def answer(batch: Batch, request: Request) -> Reply:
    """Answer a request of another shell; what is wrong with it is the answer's ``error``."""
    does: dict[str, Callable[[], Awaitable[Reply]]] = {
        "verb": lambda: _verb(batch, request),
        "ruling": lambda: rule(batch.engine.desk, batch.board, request),
        "probe": lambda: _probe(batch, request),
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


def text(request: Request, name: str, default: str | None = None) -> str:
    """Return a field that must be text. Raises BadRequest."""
    value = request.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise BadRequest(f'"{name}" must be text')
    return value


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


def targets(board: Board, verb: Verb, request: Request) -> list[Target]:
    """Return the tickets that a request names, each once. Raises BadRequest."""
    if request.get("all") is True:
        return [Target(t.id, t) for t in board.rows() if verb.applies(t) and t.state not in _NOT_BY_ALL.get(verb, ())]
    names = request.get("tickets")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadRequest('"tickets" must be a list of ids')
    found = [_target(board, name) for name in dict.fromkeys(names)]
    return list({t.ticket.id if t.ticket else t.name: t for t in found}.values())


def _target(board: Board, name: str) -> Target:
    ident, fault = find_name(name, [t.id for t in board.rows()], "ticket")
    return Target(name, board[ident] if ident is not None else None, fault)


def find_name(name: str, known: Collection[str], what: str) -> tuple[str | None, str]:
    """Return what a name or the only one that begins with it stands for, else None and what is wrong with it."""
    if name in known:
        return name, ""
    begin = [k for k in known if name and k.startswith(name)]
    if len(begin) == 1:
        return begin[0], ""
    if begin:
        return None, f'"{name}" could be {", ".join(begin[:5])}{", …" if len(begin) > 5 else ""}'
    near = get_close_matches(name[:_MOST_COMPARED], islice(known, _MOST_COMPARED), n=1)
    return None, f'there is no {what} "{name}"' + (f': did you mean "{near[0]}"?' if near else "")


def will(verb: Verb, ticket: TicketSnapshot) -> str:
    """Return what an accepted verb is going to do, in words."""
    if verb is RESUME:
        return "goes on as soon as a slot is free"
    end = {INTERRUPT: "is paused", CANCEL: "is cancelled"}[verb]
    return f"its turn stops, then it {end}" if ticket.state in ACTIVE or ticket.live else end


async def _verb(batch: Batch, request: Request) -> Reply:
    """Give a verb to some tickets: all of them together, not one after another."""
    verb = read_verb(request)
    chosen = targets(batch.board, verb, request)
    replies: list[Reply] = [{}] * len(chosen)

    async def give(place: int, target: Target) -> None:
        replies[place] = await _give(batch, verb, target)

    async with anyio.create_task_group() as group:
        for place, target in enumerate(chosen):
            group.start_soon(give, place, target)
    return {"verb": verb.name, "tickets": replies}


async def _give(batch: Batch, verb: Verb, target: Target) -> Reply:
    if target.ticket is None:
        return target.reply(False, target.fault)
    says = will(verb, target.ticket)
    try:
        refusal = await batch.pool.request(verb.name, target.ticket.id)
    except StoreError as error:
        refusal = str(error)
    return target.reply(refusal is None, says if refusal is None else refusal)


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


async def _status(batch: Batch) -> Reply:
    tickets = [{"id": t.id, "state": t.state.value, "pending": t.pending} for t in batch.board.rows()]
    totals = batch.board.announced
    who = {"pid": os.getpid(), "batch": totals.name, "stopping": totals.stopping}
    return {**who, "tickets": tickets, "effects": effects(batch.board)}


def effects(board: Board) -> list[Reply]:
    """Return all effects, those that wait for the operator first."""
    return [{**_effect(v.record), "owner_dead": v.owner_dead, "busy": v.busy} for v in board.effects()]
