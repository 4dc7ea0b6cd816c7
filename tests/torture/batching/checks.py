"""What must hold once a tortured batch has ended: its tickets, its effects, its books, its places."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from supervisor.core.effects import EffectState
from supervisor.engine import logbook
from supervisor.engine.worktree import Worktrees
from supervisor.rehearsal.steps import tool_use_id
from supervisor.rehearsal.witness import read_log
from supervisor.store import effect_rows
from supervisor.store.checkup import check_up
from supervisor.store.database import connect_readonly
from supervisor.store.turn_sums import prices
from supervisor.store.watermark import Watermark
from tests.torture.batching.operating import world

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sqlite_utils import Database as Connection

    from supervisor.core.effects import EffectRecord
    from tests.torture.batching.scenario import Scenario

_OUTPUT = 5.0
"""What a token of output costs, in tokens of input, of every model there is."""
_CUT = ("lost", "crashed", "interrupted", "api_error", "failed_resume")
"""Endings of an attempt that was cut off: what was served to it last may have been paid without being told."""
_RESTS = frozenset(
    {
        EffectState.DONE,
        EffectState.REFUSED,
        EffectState.NOT_DONE,
        EffectState.GRANTED,
        EffectState.DENIED,
        EffectState.ABANDONED,
    }
)
"""Where an effect may stand in the end: nobody waits for anything."""


@dataclass(slots=True)
class Books:
    """Figures of one batch, or of several."""

    tickets: int = 0
    attempts: int = 0
    cut: int = 0
    """Attempts that were cut off."""
    fallbacks: int = 0
    effects: int = 0
    applied: int = 0
    """Lines of the world."""
    served: int = 0
    """Answers of the scripted API that came to their end."""
    again: int = 0
    """Of those, how many were steps that had been served before."""
    served_usd: float = 0.0
    recorded_usd: float = 0.0
    estimated_usd: float = 0.0
    """Part of what is recorded that is marked as an estimate."""

    def add(self, other: Books) -> None:
        """Count another batch in."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def check(home: Path, played: Scenario) -> tuple[Books, list[str]]:
    """Compare what a batch has left with what was to come of it; return its figures and the violations."""
    books, db = Books(), connect_readonly(home / "state" / "state.db")
    try:
        found = [
            *_tickets(db, played, books),
            *_attempts(db, books),
            *_effects(db, world(home), books),
            *_money(db, home, books),
        ]
    finally:
        db.close()
    found += [*_files(home, played), *_places(home, played), *_database(home), *_complaints(home)]
    return books, found


def _rows(db: Connection, sql: str) -> list[dict[str, Any]]:
    return list(db.query(sql))


def _tickets(db: Connection, played: Scenario, books: Books) -> Iterator[str]:
    rows = {row["id"]: row for row in _rows(db, "SELECT * FROM tickets")}
    books.tickets = len(rows)
    for ticket, state in played.ends.items():
        row = rows.get(ticket)
        if row is None:
            yield f"{ticket} is lost"
        elif (row["state"], row["live"], row["pending"]) != (state.value, 0, None):
            words = f"{row['state']} {row['why'] or ''} {row['detail']!r} live {row['live']} pending {row['pending']}"
            yield f"{ticket} is {words} instead of {state}"


def _attempts(db: Connection, books: Books) -> Iterator[str]:
    by_ticket: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in _rows(db, "SELECT * FROM attempts ORDER BY ticket, number"):
        by_ticket[row["ticket"]].append(row)
    for ticket, rows in by_ticket.items():
        books.attempts += len(rows)
        books.cut += sum(row["outcome"] in _CUT for row in rows)
        books.fallbacks += sum(row["mode"] == "fallback" for row in rows)
        for before, row in zip([None, *rows], rows, strict=False):
            where = f"attempt {ticket}/{row['number']}"
            if row["outcome"] is None:
                yield f"{where} has no ending"
            if row["mode"] == "fallback" and (before is None or before["outcome"] != "failed_resume"):
                yield f"{where} is a fallback, and nothing had failed to resume"
            if before is not None and row["mode"] != "fallback" and row["session_id"] != before["session_id"]:
                yield f"{where} is in another session than the one before"
            if row["outcome"] == "failed_resume":
                yield f"{where}: a resume failed: {row['detail']}"


def _effects(db: Connection, applied: Mapping[str, int], books: Books) -> Iterator[str]:
    records = {record.key: record for record in effect_rows.select(db)}
    books.effects, books.applied = len(records), sum(applied.values())
    for key in applied.keys() - records.keys():
        yield f"{key} was applied, and nobody knows of it"
    for key, record in records.items():
        yield from _effect(key, record, applied.get(key, 0))


def _effect(key: str, record: EffectRecord, times: int) -> Iterator[str]:
    if record.state not in _RESTS:
        yield f"{key} is {record.state}"
    if record.kind != "idempotent" and times > 1:
        yield f"{key} ({record.kind}) was applied {times} times"
    if record.state is EffectState.DONE and not times:
        yield f"{key} is done, and was never applied"
    if record.state is not EffectState.DONE and times:
        yield f"{key} is {record.state}, and was applied"


def _money(db: Connection, home: Path, books: Books) -> Iterator[str]:
    """What is recorded for a ticket is what was served to it, but for what was cut off.

    Of that a part is estimated, and marked so; where no price is known yet it is guessed high. What was served in the
    moment of a kill may be on no disk.
    """
    finished: defaultdict[str, float] = defaultdict(float)
    begun: defaultdict[str, float] = defaultdict(float)
    steps: Counter[tuple[str, int]] = Counter()
    price = _price(db)
    for line in read_log(home / "api" / "served.jsonl"):
        if line.usage is None or line.step is None:
            continue
        usd = (line.usage["input_tokens"] + _OUTPUT * line.usage["output_tokens"]) * price
        if line.event == "served":
            begun[line.ticket] += usd
        elif line.event == "finished":
            finished[line.ticket] += usd
            steps[line.ticket, line.step] += 1
            books.served += 1
    books.again = sum(times - 1 for times in steps.values())
    cuts = Counter(row["ticket"] for row in _rows(db, "SELECT ticket, outcome FROM attempts") if row["outcome"] in _CUT)
    for row in _rows(db, "SELECT id, spent_usd, estimated_usd FROM tickets"):
        ticket, spent, estimated = row["id"], row["spent_usd"], row["estimated_usd"]
        books.served_usd += finished[ticket]
        books.recorded_usd += spent
        books.estimated_usd += estimated
        unseen = cuts[ticket] * _largest(finished[ticket], steps, ticket)  # served just before it was cut off
        least, most = finished[ticket] - unseen, begun[ticket]
        if spent < least - 1e-6 or spent - estimated > most + 1e-6:
            words = f"{spent:.4f} recorded, {estimated:.4f} of it estimated, after {cuts[ticket]} cuts"
            yield f"{ticket}: {words}; {finished[ticket]:.4f} served, {begun[ticket]:.4f} begun"
        again = sum(times - 1 for (name, _), times in steps.items() if name == ticket)
        if again > cuts[ticket]:
            yield f"{ticket}: {again} steps were served again after {cuts[ticket]} cuts"


def _price(db: Connection) -> float:
    """Return what the CLI takes one token of input to cost: all agents use one model."""
    for used in prices(db).values():
        return used["costUSD"] / (used["inputTokens"] + _OUTPUT * used["outputTokens"])
    return 0.0


def _largest(usd: float, steps: Mapping[tuple[str, int], int], ticket: str) -> float:
    """Return what one step costs: all cost the same."""
    times = sum(n for (name, _), n in steps.items() if name == ticket)
    return usd / times if times else 0.0


def _files(home: Path, played: Scenario) -> Iterator[str]:
    trees = Worktrees(played.spec.repo, home / "state" / "worktrees", played.spec.name)
    for ticket, files in played.files.items():
        succeeded = _succeeded(home, trees.path(ticket).name)
        for name, (text, step) in files.items():
            path = trees.path(ticket) / name
            must_be = step is None or tool_use_id(ticket, step, 0) in succeeded
            if must_be and not path.exists():
                yield f"{ticket}: {name} is gone"
            elif path.exists() and path.read_text() != text:
                yield f"{ticket}: {name} holds something else"


def _succeeded(home: Path, worktree: str) -> set[str]:
    """Return the tool calls that a ticket's agent has seen succeed: one that was cut off may not have been made."""
    found: set[str] = set()
    for path in (home / "claude" / "projects").glob(f"*-worktrees-{worktree}/*.jsonl"):
        for line in path.read_text(errors="replace").splitlines():
            with suppress(ValueError):  # a line that was cut off
                content = json.loads(line).get("message", {}).get("content") if '"tool_result"' in line else ()
                parts = [part for part in content if isinstance(part, dict) and part.get("type") == "tool_result"]
                found |= {part["tool_use_id"] for part in parts if not part.get("is_error")}
    return found


def _places(home: Path, played: Scenario) -> Iterator[str]:
    """No worktree without a ticket, no draft, no lock, no record of a worktree that is not there."""
    trees = Worktrees(played.spec.repo, home / "state" / "worktrees", played.spec.name)
    expected = {trees.path(ticket).name for ticket in played.ends}
    there = {path.name for path in (home / "state" / "worktrees").iterdir()}
    yield from (f"left behind in worktrees: {name}" for name in sorted(there - expected))
    listed = subprocess.run(
        ["git", "worktree", "list", "--porcelain"], cwd=played.spec.repo, capture_output=True, text=True, check=True
    )
    yield from (f"git says: {line}" for line in listed.stdout.splitlines() if line.startswith(("prunable", "locked")))
    yield from (f"left behind: {path}" for path in (played.spec.repo / ".git").rglob("*.lock"))
    yield from (f"left behind: {path}" for path in (home / "state").glob(".*") if path.name != ".gitignore")
    if (home / "state" / "control.sock").exists():
        yield "the socket of the last supervisor is still there"


def _complaints(home: Path) -> Iterator[str]:
    """Whatever was written to the log, but for the SDK's own: it answers agents that have just been killed."""
    for path in (home / "state").glob(f"{logbook.FILE}*"):
        for record in re.split(r"^(?=\d{4}-\d\d-\d\d )", path.read_text(), flags=re.MULTILINE):
            if record and not ("Task exception was never retrieved" in record and "CLIConnectionError" in record):
                yield f"log: {record.rstrip()}"


def _database(home: Path) -> Iterator[str]:
    seen = check_up(home / "state" / "state.db", Watermark(home / "state", home / "xdg" / "supervise"))
    yield from (f"database: {words}" for words in (*seen.damage, *seen.misfits))
    if seen.held:
        yield f"effects are held: {seen.held}"
    yield from (f"an attempt is open: {a.ticket}/{a.number}" for a in seen.open_attempts)
