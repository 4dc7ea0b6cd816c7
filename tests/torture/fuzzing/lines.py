"""Spoiled lines of the SDK's stream, through the product's own reader to the board and the store."""

from __future__ import annotations

import json
import random
from dataclasses import fields, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import claude_agent_sdk
from anyio.from_thread import start_blocking_portal
from claude_agent_sdk._internal.message_parser import parse_message
from claude_agent_sdk._internal.transport.subprocess_cli import _parse_stdout_line

from supervisor.core import events as ev
from supervisor.core.board import Board
from supervisor.core.model import Mode, State, TicketSnapshot
from supervisor.core.transcript import TRANSCRIPT_CHARS
from supervisor.core.usage import Prices, lost_spend
from supervisor.engine.agent import SessionStart
from supervisor.engine.session import ClaudeSession
from supervisor.engine.translate import Translator
from supervisor.store.codec import event_from_row, event_row, from_row, to_row
from supervisor.store.tickets import TicketStore
from tests.torture.fuzzing import shapes
from tests.torture.fuzzing.checks import (
    BrokenPromiseError,
    MemoryWatch,
    Tally,
    conforms,
    shrink,
    smaller_bytes,
    smaller_json,
)
from tests.torture.fuzzing.scramble import Scrambler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

SECONDS_EACH = 1.0
STORED_EVERY = 10
TICKETS = {"001": shapes.SESSION, "002": "2f6cc0f4-7c2e-4d0c-9a53-7d2c3d2a1b02"}
"""Running tickets and their sessions. Lines with an even number are the first one's."""
MARGIN_BYTES = len(TICKETS) * TRANSCRIPT_CHARS * 4
"""Full transcripts hold as many characters whatever they are, and a character takes one to four bytes."""
_OFTEN = (("assistant", None), ("user", None), ("result", "success"), ("result", "error_during_execution"))
"""Kinds that most of the reader's work hangs on."""


class OneLine:
    """Stands for the SDK's client over a CLI that writes one line, and leaves with exit code 1 after an error result.

    What the SDK does between the pipe and its caller is done by the SDK's own functions.
    """

    def __init__(self, line: str) -> None:
        self._line: str | None = line
        self.parsed = False
        """The line was JSON, so the stream could go on after it."""
        self.failed = False
        """The SDK raised what it raises when the CLI leaves after an error result."""

    async def receive_messages(self) -> AsyncIterator[Any]:
        """Yield the line's message, if it has one. May be called again after an exception, as the SDK's."""
        line, self._line = self._line, None
        data = _parse_stdout_line(line) if line is not None else None
        self.parsed = True
        message = parse_message(data) if data is not None else None
        if message is not None:
            yield message
        if data is not None and data.get("type") == "result" and data.get("is_error"):
            self.failed = True
            raise claude_agent_sdk.ResultError("Claude Code returned an error result", data, exit_code=1)


class Streams:
    """Two running tickets of a batch, each with one agent whose stream never ends."""

    def __init__(self, keep: Callable[[ev.Event, TicketSnapshot], None]) -> None:
        self._keep = keep
        self._ticks = count()
        self.board = Board()
        self._prices = Prices()
        self._translators = {t: Translator(t, 1, session, self._now) for t, session in TICKETS.items()}
        for ticket in TICKETS:
            for event in _beginning(ticket):
                keep(event, self.board.apply(event))

    def _now(self) -> float:
        return 1e9 + next(self._ticks)

    def feed(self, number: int, line: str, *, store: bool) -> str:
        """Read a line and fold what it means; return what came of it. Raises what must not happen."""
        ticket = list(TICKETS)[number % len(TICKETS)]
        start = SessionStart(ticket, 1, Path(), Path(), TICKETS[ticket])
        session, client, translator = ClaudeSession(start, self._now), OneLine(line), self._translators[ticket]
        session._translator, session._client = translator, client  # type: ignore[assignment]
        if translator.answered or translator.prompt_uuid is None:
            translator.expect(shapes.PROMPT)
        _drive(session.read())
        events = session.drain()
        for event in events:
            self._take(event, store=store)
        snapshot = self.board[ticket]
        conforms(snapshot)
        lasting: dict[str, Any] = {f.name: f.default for f in fields(snapshot) if "live" in f.metadata}
        if from_row(TicketSnapshot, to_row(snapshot)) != replace(snapshot, **lasting):
            raise BrokenPromiseError("the snapshot comes back from its row as another")
        spend = lost_spend(translator.usage, self._prices, None)
        if not 0 <= spend < float("inf"):
            raise BrokenPromiseError(f"spend of a lost turn is {spend}")
        if session.failure is None:
            return f"{len(events)} events" if len(events) < 3 else "3 and more events"
        conforms(session.failure)
        if client.parsed and not client.failed and _is_result(line):
            return "a result that cannot be read ends the stream"
        if client.parsed and not client.failed:
            raise BrokenPromiseError(f"one message ended the stream: {session.failure.message}")
        return "exit after an error result" if client.failed else "not JSON, the stream ended"

    def _take(self, event: ev.Event, *, store: bool) -> None:
        conforms(event)
        if event.lasts:
            row = event_row(event)
            json.loads(row["body"], parse_constant=_no_json)
            if event_from_row(row) != event:
                raise BrokenPromiseError(f"{type(event).__name__} comes back from its row as another")
        snapshot = self.board.apply(event)
        for entry in self.board.transcript(event.ticket).since(self.board.transcript(event.ticket).next_seq - 1):
            conforms(entry)
        if isinstance(event, ev.TurnEnded):
            self._prices.learn(event.prices)
        if store and event.lasts:
            self._keep(event, snapshot)


def _beginning(ticket: str) -> tuple[ev.Event, ...]:
    return (
        ev.TicketAdded(ticket, 1e9, "A title", order=1),
        ev.AttemptStarted(ticket, 1e9, 1, Mode.FRESH, TICKETS[ticket]),
        ev.StateChanged(ticket, 1e9, State.STARTING),
        ev.StateChanged(ticket, 1e9, State.RUNNING),
    )


def _is_result(line: str) -> bool:
    """Whether a line is a result, of which no second one comes: the only message that may end the stream."""
    return isinstance(told := json.loads(line), dict) and told.get("type") == "result"


def _drive(work: Coroutine[Any, Any, None]) -> None:
    """Run to its end what never waits."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise BrokenPromiseError("the reader waits for something")


def _no_json(constant: str) -> None:
    raise BrokenPromiseError(f"{constant} is no JSON, and SQLite refuses to read such a row")


class Lines:
    """Makes the lines, each from the seed and its number alone."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        kinds: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
        for message in shapes.stream():
            kinds.setdefault((message.get("type"), message.get("subtype")), []).append(message)
        self._kinds = [*kinds.values(), *(kinds[kind] for kind in _OFTEN for _ in range(5))]

    def line(self, number: int) -> str:
        """Return the line of that number."""
        rng = random.Random(f"lines {self._seed} {number}")
        scrambler = Scrambler(rng)
        line = shapes.spoiled(scrambler, rng.choice(rng.choice(self._kinds)))
        return scrambler.line(line) if rng.random() < 0.04 else line


def run(folder: Path, seed: int, first: int, total: int) -> Tally:
    """Feed ``total`` lines, from number ``first`` on. The store in ``folder`` gets what lasts of every tenth."""
    tally, lines = Tally("lines", SECONDS_EACH), Lines(seed)
    store = TicketStore(folder / "fuzz.db")
    kept: dict[str, list[int]] = {ticket: [] for ticket in TICKETS}
    with start_blocking_portal() as portal:
        portal.call(store.open)

        def keep(event: ev.Event, snapshot: TicketSnapshot) -> None:
            portal.call(store.append, event, snapshot)
            kept[event.ticket].append(hash(repr(event)))

        streams = Streams(keep)
        watch = MemoryWatch(total, MARGIN_BYTES, least=10_000)
        for number in range(first, first + total):
            line = lines.line(number)
            tally.check(
                number,
                lambda n=number, text=line: streams.feed(n, text, store=n % STORED_EVERY == 0),  # type: ignore[misc]
                lambda still, text=line: _smallest(text, still),  # type: ignore[misc]
            )
            watch.look(number - first + 1)
        watch.stop(tally)
        for ticket in TICKETS:
            found = [hash(repr(event)) for event in portal.call(store.events, ticket)]
            if found != kept[ticket]:
                tally.fault(
                    f"the store holds {len(found)} events of {ticket}, not those {len(kept[ticket])} it was given"
                )
        tally.outcomes["events in the store"] = sum(map(len, kept.values()))
        portal.call(store.prices)
        portal.call(store.close)
    return tally


def _smallest(line: str, still: Callable[[BaseException], bool]) -> str:
    """Return the smallest line that alone causes the same fault."""

    def fails(candidate: str) -> bool:
        try:
            Streams(lambda *_: None).feed(0, candidate, store=False)
        except BaseException as error:
            return still(error)
        return False

    if not fails(line):
        return f"(only after the lines before it, or in the store) {line}"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return shrink(line.encode(), smaller_bytes, lambda data: fails(data.decode(errors="replace"))).decode()
    return shapes.as_line(shrink(value, smaller_json, lambda smaller: fails(shapes.as_line(smaller))))
