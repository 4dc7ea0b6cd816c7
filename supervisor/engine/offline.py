"""What can be done to a batch while no supervisor runs: verbs that only change a state, and decisions about effects.

Takes the batch lock for as long as one request needs, so that there is one writer at any time.
"""

from __future__ import annotations

import os
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from supervisor.core.board import Board
from supervisor.core.errors import StoreError
from supervisor.core.model import ACTIVE
from supervisor.core.payloads import secrets_of
from supervisor.core.verbs import INTERRUPT, Verb
from supervisor.engine.desk import EffectDesk
from supervisor.engine.journal import Journal
from supervisor.engine.lock import BatchLock
from supervisor.engine.pool import apply_verb
from supervisor.engine.requests import BadRequest, Target, dispatch, effects, read_verb, rule, targets, will
from supervisor.engine.settling import wake_settled
from supervisor.store.ledger import Ledger
from supervisor.store.tickets import TicketStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from pathlib import Path

    Request = Mapping[str, Any]
    Reply = dict[str, Any]

NOT_RUNNING = "no supervisor is running"


async def answer(state_dir: Path, request: Request) -> Reply:
    """Answer a request as a running supervisor would, as far as that goes without one.

    Raises LockedError when somebody holds the lock by now, and StoreError when there is no batch or no disk.
    """
    if not (state_dir / "state.db").exists():
        raise StoreError(f"{state_dir} holds no batch", "start one with `supervise run`, or name it with --state-dir")
    async with _journal(state_dir) as journal:
        does: dict[str, Callable[[], Awaitable[Reply]]] = {
            "verb": lambda: _verb(journal, request),
            "ruling": lambda: _ruling(journal, request),
            "probe": _probe,
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
            yield Journal(board, store)
        finally:
            await store.close()


async def _verb(journal: Journal, request: Request) -> Reply:
    verb = read_verb(request)
    chosen = targets(journal.board, verb, request)
    return {"verb": verb.name, "tickets": [await _give(journal, verb, target) for target in chosen]}


async def _give(journal: Journal, verb: Verb, target: Target) -> Reply:
    if target.ticket is None:
        return target.reply(False, target.fault)
    refusal = verb.refusal(target.ticket)
    if refusal is None and verb is INTERRUPT and target.ticket.state in ACTIVE:
        refusal = f"{NOT_RUNNING}: {target.ticket.id} was cut off and goes on at the next start"
    if refusal is not None:
        return target.reply(False, refusal)
    await apply_verb(journal, verb, target.ticket.id, time.time())
    return target.reply(True, will(verb, journal.board[target.ticket.id]))


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


async def _probe() -> Reply:
    raise BadRequest(f"{NOT_RUNNING}: start it, then probe")
