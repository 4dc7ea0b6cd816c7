"""Databases of a batch with some of everything in them, and ways to break them."""

from __future__ import annotations

import random
from contextlib import closing
from typing import TYPE_CHECKING, Any

from supervisor.core import events as ev
from supervisor.core.board import Board
from supervisor.core.effects import EffectState as S
from supervisor.core.model import Mode, State
from supervisor.store.database import connect
from supervisor.store.tickets import append
from tests.store.ledgers import claim, decide, epoch, settle, transaction, tx, unresolved

if TYPE_CHECKING:
    from pathlib import Path

    from sqlite_utils import Database as Connection

PAGE = 4096
ROWS = 300
"""How many notes the second ticket has: more than fit on one page."""
STATES = {
    "requested": S.REQUESTED,
    "claimed": S.CLAIMED,
    "granted": S.GRANTED,
    "refused": S.REFUSED,
    "not_done": S.NOT_DONE,
    "done": S.DONE,
    "denied": S.DENIED,
    "abandoned": S.ABANDONED,
    "unresolved": S.UNRESOLVED,
}
"""By name of the effect, the state that it is left in."""


def fill(path: Path) -> Path:
    """Write a batch with three tickets and an effect in every state, and return its database, closed."""
    with closing(connect(path)) as db:
        board = Board()
        for order, ident in enumerate(("001", "002", "003")):
            _emit(db, board, ev.TicketAdded(ident, 1.0, title=f"title of {ident}", order=order))
        _emit(db, board, ev.StateChanged("001", 2.0, State.STARTING))
        _emit(db, board, ev.AttemptStarted("001", 3.0, 1, Mode.FRESH, "session-001", None, None, None))
        with transaction(db):
            for number in range(ROWS):
                event = ev.Noted("002", 4.0, f"note-{number:04} " + "x" * 200)
                append(db, event, board.apply(event))
        number = epoch(db)
        for name in STATES:
            _effect(db, name, number)
    return path


def _emit(db: Connection, board: Board, event: ev.Event) -> None:
    snapshot = board.preview(event)
    tx(db, append, event, snapshot)
    board.apply(event)


def _effect(db: Connection, name: str, number: int) -> None:
    told: dict[str, Any] = {"op": name, "payload": {"what": name, "text": "y" * 300}}
    if name in ("requested", "denied"):
        record = claim(db, number, approval=True, **told).record
        if name == "denied":
            decide(db, record, "deny")
    elif name == "claimed":
        claim(db, number, **told)
    elif name in ("done", "refused"):
        outcome = "build 41" if name == "done" else None
        settle(db, claim(db, number, **told).record, STATES[name], outcome=outcome)
    else:
        record = unresolved(db, number, **told)
        if name != "unresolved":
            record = decide(db, record, "abandon" if name == "abandoned" else "not_done")
        if name == "granted":
            decide(db, record, "grant")


def effects(path: Path) -> dict[str, S]:
    """Return the effects' states by name."""
    with closing(connect(path)) as db:
        return {op: S(state) for op, state in db.execute("SELECT op, state FROM effects").fetchall()}


def root_page(path: Path, table: str) -> int:
    """Return the number of the page that a table is found through, counted from 0."""
    with closing(connect(path)) as db:
        found = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", [table]).fetchone()
        return int(found[0]) - 1


def schema_pages(path: Path) -> set[int]:
    """Return the pages that say what tables there are; without them nothing can be read."""
    data = path.read_bytes()
    return {0} | {page for page in range(len(data) // PAGE) if b"CREATE T" in data[page * PAGE : (page + 1) * PAGE]}


def page_with(path: Path, marker: bytes) -> int:
    """Return the number of the first page that holds some bytes."""
    return path.read_bytes().index(marker) // PAGE


def ruin(path: Path, *pages: int, seed: int = 1) -> None:
    """Overwrite pages with noise."""
    noise = random.Random(seed)
    data = bytearray(path.read_bytes())
    for page in pages:
        data[page * PAGE : (page + 1) * PAGE] = noise.randbytes(PAGE)
    path.write_bytes(data)
