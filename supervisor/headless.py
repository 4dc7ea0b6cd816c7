"""One line for each change, for pipes and machines. The same engine as the screen's, with a printer."""

from __future__ import annotations

import json
import sys
import threading
from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

import anyio

from supervisor.core import events as ev
from supervisor.core.model import State, TicketSnapshot
from supervisor.core.text import safe_line
from supervisor.report import iso, rounded_usd

if TYPE_CHECKING:
    from supervisor.core.board import Board

_SAME_STATE_WORTH_A_LINE = {State.QUEUED, State.STARTING, State.NEEDS_YOU, State.PARKED}


class Printer:
    """Listens to the board and writes lines in a task of its own, so that a slow reader stops no agent."""

    def __init__(self, board: Board, *, as_json: bool, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._as_json = as_json
        self._lines: deque[str] = deque()
        self._more = anyio.Event()
        self._writing = threading.Lock()
        self.has_told = False
        """Something became of a ticket, and was told."""
        board.listen(self._on_event)

    def say(self, words: str) -> None:
        """Print a line about the whole batch."""
        if words and self._as_json:
            self._put(json.dumps({"notice": words}))
        elif words:
            self._put(f"{datetime.now():%H:%M:%S}  {safe_line(words)}")

    async def run(self) -> None:
        """Write what has come in, for ever."""
        while True:
            await self._more.wait()
            self._more = anyio.Event()
            await self.flush()

    async def flush(self) -> None:
        """Write what has come in so far. A reader that went away is no reason to stop the batch."""
        if self._lines:
            await anyio.to_thread.run_sync(self._write, abandon_on_cancel=True)

    def _write(self) -> None:
        """Take the lines and write them. Taken here, so that a writer that is cancelled before it began loses none."""
        with self._writing:
            text = ""
            while self._lines:
                text += f"{self._lines.popleft()}\n"
            try:
                self._out.write(text)
                self._out.flush()
            except (BrokenPipeError, ValueError, OSError):
                return

    def _put(self, line: str) -> None:
        self._lines.append(line)
        self._more.set()

    def _on_event(self, event: ev.Event, before: TicketSnapshot, after: TicketSnapshot) -> None:
        if not self._worth_a_line(event, before, after):
            return
        self.has_told = True
        self._put(self._json(after, event.at) if self._as_json else self._text(after, event.at))

    def _worth_a_line(self, event: ev.Event, before: TicketSnapshot, after: TicketSnapshot) -> bool:
        if isinstance(event, ev.Retrying) or before.state is not after.state:
            return True
        if not isinstance(event, ev.StateChanged):
            return False
        return after.state in _SAME_STATE_WORTH_A_LINE and before.detail != after.detail

    def _text(self, t: TicketSnapshot, at: float) -> str:
        clock = datetime.fromtimestamp(at).strftime("%H:%M:%S")
        return f"{clock}  {safe_line(t.id)}  {t.state.value}  {safe_line(describe(t))}".rstrip()

    def _json(self, t: TicketSnapshot, at: float) -> str:
        line: dict[str, Any] = {
            "at": iso(at),
            "ticket": t.id,
            "state": t.state.value,
            "why": t.why.value if t.why else None,
            "detail": t.detail,
            "attempt": t.attempts,
            "mode": t.mode.value if t.mode else None,
            "subtype": t.subtype,
            "terminal_reason": t.terminal_reason,
            "turns": t.turns,
            "cost_usd": round(t.spent_usd, 6),
            "headroom_usd": None if t.headroom_usd is None else round(t.headroom_usd, 6),
        }
        return json.dumps(line, ensure_ascii=True)


def describe(t: TicketSnapshot) -> str:
    """Return what a line says after the state."""
    if t.state is State.RUNNING:
        start = f"attempt {t.attempts} ({t.mode})" if t.mode else f"attempt {t.attempts}"
        return f"{start}: {t.detail}" if t.detail else start
    parts = [t.why.value if t.why else "", t.detail]
    if t.state in (State.DONE, State.FAILED, State.NEEDS_YOU, State.PAUSED):
        ending = " ".join(x for x in (t.subtype, t.terminal_reason) if x)
        parts += [ending, f"{t.turns} turns", rounded_usd(t.spent_usd, t.estimated_usd)]
    return " · ".join(p for p in parts if p)
