"""What can be done to a batch while no supervisor runs: verbs that only change a state, decisions about effects, and
answers to what resting tickets ask.

Takes the batch lock for as long as one request needs, so that there is one writer at any time.
"""

from __future__ import annotations

import os
import time
import uuid
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from supervisor.core.asks import AskState
from supervisor.core.board import Board
from supervisor.core.errors import StoreError
from supervisor.core.letters import Letter
from supervisor.core.model import ACTIVE
from supervisor.core.payloads import secrets_of
from supervisor.core.verb_args import BadArgs, checked
from supervisor.core.verbs import BUDGET, CANCEL, INTERRUPT, MESSAGE, PRIORITY, RESUME, Verb
from supervisor.engine import ask_requests, looking, mailroom
from supervisor.engine.ask_desk import AskDesk
from supervisor.engine.desk import OPERATOR, EffectDesk
from supervisor.engine.journal import Journal
from supervisor.engine.lock import BatchLock
from supervisor.engine.looking import HOW_TO_START, NOT_RUNNING
from supervisor.engine.request_fields import BadRequest
from supervisor.engine.requests import (
    Target,
    Told,
    dispatch,
    effects,
    read_told,
    read_verb,
    rule,
    targets,
)
from supervisor.engine.settling import place, wake_settled
from supervisor.store.ledger import Ledger
from supervisor.store.tickets import TicketStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from pathlib import Path

    Request = Mapping[str, Any]
    Reply = dict[str, Any]


async def answer(state_dir: Path, request: Request, sources: looking.Sources | None = None) -> Reply:
    """Answer a request as a running supervisor would, as far as that goes without one.

    Args:
        state_dir: the batch's.
        request: as a running supervisor takes it.
        sources: where to look a ticket's past up; without it such questions are refused.

    Raises LockedError when somebody holds the lock by now, and StoreError when there is no batch or no disk.
    """
    if not (state_dir / "state.db").exists():
        raise StoreError(f"{state_dir} holds no batch", "start one with `supervise run`, or name it with --state-dir")
    async with _journal(state_dir) as journal:
        does: dict[str, Callable[[], Awaitable[Reply]]] = {
            "verb": lambda: _verb(journal, request),
            "ruling": lambda: _ruling(journal, request),
            **dict.fromkeys(looking.QUESTIONS, lambda: _look(journal, state_dir, request, sources)),
            **dict.fromkeys(("probe", "pool"), _not_alone),
            "asks": lambda: ask_requests.listed(journal.board, request),
            "answer": lambda: _answer(journal, request),
            "status": lambda: _status(journal),
        }
        return await dispatch(does, request)


@asynccontextmanager
async def _journal(state_dir: Path) -> AsyncIterator[Journal]:
    """Open what is written down. Nobody runs, so no ticket is live, whatever a dead supervisor left on the disk."""
    with BatchLock(state_dir / "lock"):
        store = TicketStore(state_dir / "state.db")
        await store.open()
        try:
            board = Board()
            board.restore(replace(t, live=False) for t in await store.snapshots())
            board.restore_asks(replace(a, state=_at_rest(a.state)) for a in await store.pending_asks())
            yield Journal(board, store, secrets_of(os.environ))
        finally:
            await store.close()


async def _verb(journal: Journal, request: Request) -> Reply:
    verb, told = read_verb(request), read_told(request)
    if verb is RESUME:
        await _desk(journal)  # a ticket does not go on while its effect waits
    chosen = targets(journal.board, verb, request)
    return {"verb": verb.name, "tickets": [await _give(journal, verb, target, told) for target in chosen]}


async def _give(journal: Journal, verb: Verb, target: Target, told: Told) -> Reply:
    """Post a letter. What only changes a state is carried out at once, the rest by the next supervisor."""
    if target.ticket is None:
        return target.reply(False, target.fault)
    ticket = target.ticket
    refusal = verb.refusal(ticket)
    if refusal is None and verb is INTERRUPT and ticket.state in ACTIVE:
        refusal = f"{NOT_RUNNING}: {ticket.id} was cut off and goes on at the next start"
    if refusal is not None:
        return target.reply(False, refusal)
    try:
        args = checked(verb, ticket, told.args)
    except BadArgs as error:
        return target.reply(False, str(error))
    ident = told.letter(ticket.id) or str(uuid.uuid4())
    if await journal.store.letter(ident) is None:
        # what was told before, and is carried out at the next start, comes first: starting over would undo this
        waits = any(letter.verb != MESSAGE.name for letter in await journal.store.open_letters(ticket.id))
        letter = Letter(ident, ticket.id, verb.name, time.time(), args, told.actor or OPERATOR)
        await mailroom.post(journal, letter)
        if verb in (BUDGET, PRIORITY):
            return target.reply(True, await mailroom.apply_setting(journal, letter, time.time()))
        if verb in (INTERRUPT, RESUME, CANCEL) and not waits:
            await mailroom.apply_verb(journal, verb, ticket.id, time.time(), (ident,))
            return target.reply(True, "goes on at the next start" if verb is RESUME else mailroom.will(verb))
    return target.reply(True, "carried out at the next start")


async def _ruling(journal: Journal, request: Request) -> Reply:
    desk = await _desk(journal)
    reply = await rule(desk, journal.board, request)
    if "error" in reply:
        return reply
    record = await desk.ledger.by_key(reply["key"])
    for ticket in journal.board.rows():
        if ticket.id == record.ticket or _root(journal.board, ticket.id) == record.scope:
            await wake_settled(journal, desk, ticket.id, time.time)
    return reply


def _at_rest(state: AskState) -> AskState:
    return AskState.RESTING if state is AskState.OPEN else state


async def _answer(journal: Journal, request: Request) -> Reply:
    desk = await _desk(journal)
    asks = AskDesk(journal, time.time, secrets_of(os.environ))
    reply = await ask_requests.answer(asks, journal.board, request)
    await place(journal, desk, reply["ticket"], time.time)
    return reply


def _root(board: Board, ticket: str) -> str:
    while (parent := board[ticket].parent) is not None and parent in board:
        ticket = parent
    return ticket


async def _desk(journal: Journal) -> EffectDesk:
    """Open the ledger: claims whose owner is proved dead become unresolved, so that they can be decided."""
    desk = EffectDesk(Ledger(journal.store.database, secrets=secrets_of(os.environ)), journal.board, {})
    await desk.open()
    return desk


async def _status(journal: Journal) -> Reply:
    await _desk(journal)
    tickets = [{"id": t.id, "state": t.state.value, "pending": t.pending} for t in journal.board.rows()]
    return {"pid": None, "stopping": False, "tickets": tickets, "effects": effects(journal.board)}


async def _not_alone() -> Reply:
    raise BadRequest(f"{NOT_RUNNING}: {HOW_TO_START}, then try again")


async def _look(journal: Journal, state_dir: Path, request: Request, sources: looking.Sources | None) -> Reply:
    if sources is None:
        return await _not_alone()
    return await looking.answer(journal, await _desk(journal), state_dir, request, sources)
