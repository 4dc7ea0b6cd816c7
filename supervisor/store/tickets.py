"""Tickets, attempts, prompts and lasting events. One event is one transaction: its row, the ticket's new snapshot and
the attempt or prompt it concerns are written together or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.core import events as ev
from supervisor.core.letters import Letter
from supervisor.core.model import AttemptRecord, PromptRecord, TicketSnapshot
from supervisor.core.verbs import INTERRUPT
from supervisor.store import asks, forks, mailbox, reading, settings, turn_sums
from supervisor.store.codec import event_row, to_column, to_row
from supervisor.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sqlite_utils import Database as Connection

    from supervisor.core.asks import Ask
    from supervisor.core.forks import Fork


class TicketStore:
    """What the engine keeps of its tickets. All methods wait for the disk, none blocks the loop."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path)

    async def open(self) -> None:
        """Open the database. Raises StoreError."""
        await self.database.open()

    async def close(self) -> None:
        """Close the database."""
        await self.database.close()

    async def append(self, event: ev.Event, snapshot: TicketSnapshot) -> None:
        """Write a lasting event together with the snapshot it leads to. Raises StoreError."""
        await self.database.transact(append, event, snapshot)

    async def append_all(self, moves: Sequence[tuple[ev.Event, TicketSnapshot]]) -> None:
        """Write several events, each with the snapshot it leads to, together or not at all. Raises StoreError."""
        await self.database.transact(append_all, moves)

    async def snapshots(self) -> tuple[TicketSnapshot, ...]:
        """Return all tickets as they were last written."""
        return await self.database.run(reading.snapshots)

    async def attempts(self, ticket: str) -> tuple[AttemptRecord, ...]:
        """Return a ticket's attempts, oldest first."""
        return await self.database.run(reading.attempts, ticket)

    async def last_attempt(self, ticket: str) -> AttemptRecord | None:
        """Return a ticket's latest attempt; None where it has had none."""
        return await self.database.run(reading.last_attempt, ticket)

    async def last_on_session(self, ticket: str, session_id: str) -> int | None:
        """Return the number of a ticket's latest ended attempt that knew what its session had cost; None without."""
        return await self.database.run(reading.last_on_session, ticket, session_id)

    async def open_attempts(self) -> tuple[AttemptRecord, ...]:
        """Return the attempts of all tickets that have no ending, oldest first."""
        return await self.database.run(reading.open_attempts)

    async def last_prompt(self, ticket: str) -> PromptRecord | None:
        """Return the latest prompt stored for a ticket."""
        return await self.database.run(reading.last_prompt, ticket)

    async def prompts(self, ticket: str) -> tuple[PromptRecord, ...]:
        """Return all prompts stored for a ticket, oldest first."""
        return await self.database.run(reading.prompts, ticket)

    async def open_letters(self, ticket: str | None = None) -> tuple[Letter, ...]:
        """Return the operator's verbs that wait to be carried out, oldest first."""
        return await self.database.run(mailbox.open_letters, ticket)

    async def letter(self, ident: str) -> Letter | None:
        """Return one letter."""
        return await self.database.run(mailbox.letter, ident)

    async def pending_asks(self) -> tuple[Ask, ...]:
        """Return the asks of all tickets that wait or whose grant was not used yet, oldest first."""
        return await self.database.run(asks.pending)

    async def asks(self, ticket: str) -> tuple[Ask, ...]:
        """Return all asks of a ticket since it was last begun anew, oldest first."""
        return await self.database.run(asks.of_ticket, ticket)

    async def forks(self) -> tuple[Fork, ...]:
        """Return all forks, oldest first: parents stand before their own forks."""
        return await self.database.run(forks.select)

    async def setting(self, name: str) -> str:
        """Return what the operator set for the whole batch under a name; empty where that was never set."""
        return await self.database.run(settings.value, name)

    async def keep_setting(self, name: str, value: str) -> None:
        """Keep a setting of the whole batch. Raises StoreError."""
        await self.database.transact(settings.put, name, value)

    async def prices(self) -> Mapping[str, Mapping[str, float]]:
        """Return the latest ``model_usage`` of each model that told its price."""
        return await self.database.run(turn_sums.prices)

    async def largest_calls(self) -> dict[str, float]:
        """Return USD of the largest single API call reported, by the model that its ticket names (empty for none)."""
        return await self.database.run(turn_sums.largest_calls)

    async def work_times(self, now: float | None = None) -> dict[str, float]:
        """Return for how many seconds agents have worked on each ticket; see ``reading.work_times``."""
        return await self.database.run(reading.work_times, now)

    async def events(self, ticket: str | None = None) -> tuple[ev.Event, ...]:
        """Return the lasting events in the order they were written."""
        return await self.database.run(reading.events, ticket)

    async def events_of(self, ticket: str, kinds: Sequence[type[ev.Event]]) -> tuple[ev.Event, ...]:
        """Return a ticket's lasting events of some kinds, in the order they were written."""
        return await self.database.run(reading.events_of, ticket, kinds)

    async def events_since(self, ticket: str, begins: Callable[[ev.Event], object]) -> tuple[ev.Event, ...]:
        """Return the newest event that begins something, and all after it, oldest first; all where none does.

        A ticket that is talked to for weeks has a long history, and what an attempt asks of it lies at its end: no more
        than that is read. ``begins`` runs on the writer's thread.
        """
        return await self.database.run(reading.events_since, ticket, begins)


def append(db: Connection, event: ev.Event, snapshot: TicketSnapshot) -> None:
    """Write one event and all that follows from it. The caller holds the transaction."""
    _put(db, "tickets", to_row(snapshot), ("id",))
    db.execute("INSERT INTO events (ticket, at, type, body) VALUES (:ticket, :at, :type, :body)", event_row(event))
    _EFFECTS.get(type(event), _nothing)(db, event)
    letters = getattr(event, "letters", ())
    asks.follow(db, event, snapshot)
    if letters:
        mailbox.close(db, letters, event.at, _says(event), refused=getattr(event, "refused", False))


def append_all(db: Connection, moves: Sequence[tuple[ev.Event, TicketSnapshot]]) -> None:
    """Write several events and all that follows from them. The caller holds the transaction."""
    for event, snapshot in moves:
        append(db, event, snapshot)


def _says(event: ev.Event) -> str:
    """Return in words what an event did that carries letters out."""
    match event:
        case ev.StateChanged():
            return event.detail or event.to.value
        case ev.LettersClosed():
            return event.says
        case ev.PromptStored():
            return "given to the agent"
        case ev.FilesRewound():
            return f"the files were taken back to {event.to}"
        case _:
            return "done"


def _put(db: Connection, table: str, row: dict[str, Any], key: Sequence[str]) -> None:
    """Write a row by its key. Only a conflict of that key updates: any other one is a fault and is refused."""
    names = ", ".join(f'"{name}"' for name in row)
    values = ", ".join(f":{name}" for name in row)
    changes = ", ".join(f'"{name}" = excluded."{name}"' for name in row if name not in key)
    target = ", ".join(key)
    db.execute(f"INSERT INTO {table} ({names}) VALUES ({values}) ON CONFLICT ({target}) DO UPDATE SET {changes}", row)


def _nothing(_: Connection, __: ev.Event) -> None:
    return None


def _attempt_started(db: Connection, e: ev.AttemptStarted) -> None:
    record = AttemptRecord(e.ticket, e.number, e.mode, e.session_id, e.at, e.resumed_from, e.model, cap_usd=e.cap_usd)
    _put(db, "attempts", to_row(record), ("ticket", "number"))


def _set_attempt(db: Connection, event: Any, **values: object) -> None:
    changes = ", ".join(f"{name} = :{name}" for name in values)
    row = {name: to_column(value) for name, value in values.items()}
    sql = f"UPDATE attempts SET {changes} WHERE ticket = :_ticket AND number = :_number"
    db.execute(sql, {**row, "_ticket": event.ticket, "_number": event.number})


def _attempt_connected(db: Connection, e: ev.AttemptConnected) -> None:
    _set_attempt(db, e, pid=e.pid, pid_start=e.pid_start, boot_id=e.boot_id, baseline_usd=e.baseline_usd)


def _session_replaced(db: Connection, e: ev.SessionReplaced) -> None:
    _set_attempt(db, e, session_id=e.session_id)


def _turn_ended(db: Connection, e: ev.TurnEnded) -> None:
    turn_sums.follow(db, e)
    db.execute(
        "UPDATE attempts SET cost_usd = cost_usd + ? WHERE ticket = ? AND number = ?",
        [max(0.0, e.cost_usd), e.ticket, e.number],
    )
    if e.prompt_uuid is None:
        return
    _set_attempt(
        db,
        e,
        subtype=e.subtype,
        terminal_reason=e.terminal_reason,
        is_error=e.is_error,
        api_error_status=e.api_error_status,
        errors=e.errors,
    )
    db.execute(
        "UPDATE attempts SET num_turns = num_turns + ? WHERE ticket = ? AND number = ?",
        [max(0, e.num_turns), e.ticket, e.number],
    )
    db.execute("UPDATE prompts SET answered = 1 WHERE uuid = ?", [e.prompt_uuid])


def _attempt_ended(db: Connection, e: ev.AttemptEnded) -> None:
    _set_attempt(
        db,
        e,
        ended=e.at,
        outcome=e.outcome,
        detail=e.detail,
        exit_code=e.exit_code,
        stderr_tail=e.stderr_tail,
        estimated=e.estimated_usd > 0,
    )
    db.execute(
        "UPDATE attempts SET cost_usd = cost_usd + ? WHERE ticket = ? AND number = ?",
        [max(0.0, e.estimated_usd) + max(0.0, e.settled_usd), e.ticket, e.number],
    )


def _cost_corrected(db: Connection, e: ev.CostCorrected) -> None:
    db.execute(
        "UPDATE attempts SET cost_usd = max(0.0, cost_usd + ?), estimated = 0 WHERE ticket = ? AND number = ?",
        [e.by_usd, e.ticket, e.number],
    )


def _prompt_stored(db: Connection, e: ev.PromptStored) -> None:
    record = PromptRecord(e.uuid, e.ticket, e.number, e.kind, e.text, e.at, snapshot=e.snapshot)
    _put(db, "prompts", to_row(record), ("uuid",))


def _ask_answered(db: Connection, e: ev.AskAnswered) -> None:
    """An answer that stops the ticket leaves the letter that stops it, so that the next supervisor would do it."""
    if e.letter:
        mailbox.post(db, Letter(e.letter, e.ticket, INTERRUPT.name, e.at, {}, e.actor))


def _forked(db: Connection, e: ev.Forked) -> None:
    forks.insert(db, e.fork)


def _letter_posted(db: Connection, e: ev.LetterPosted) -> None:
    mailbox.post(db, Letter(e.id, e.ticket, e.verb, e.at, e.args, e.actor))


_EFFECTS: dict[type[ev.Event], Callable[[Connection, Any], None]] = {
    ev.AttemptStarted: _attempt_started,
    ev.AttemptConnected: _attempt_connected,
    ev.SessionReplaced: _session_replaced,
    ev.TurnEnded: _turn_ended,
    ev.AttemptEnded: _attempt_ended,
    ev.CostCorrected: _cost_corrected,
    ev.PromptStored: _prompt_stored,
    ev.LetterPosted: _letter_posted,
    ev.Forked: _forked,
    ev.AskAnswered: _ask_answered,
}
