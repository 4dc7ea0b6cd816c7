"""When agents may start, by what the API says: one governor for the batch, so that no ticket retries against another.

It hears every event of every ticket. What follows from it is decided in ``core.limits``; here it becomes words for the
operator and answers for those who start agents. A key that is refused holds all tickets back, and one of them says so.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.limits import Gate, Steady, backoff, family
from supervisor.core.model import State, TicketSnapshot, Why

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.engine.context import Engine

API, KEY = "api", "key"
"""The reasons that the governor puts up."""
REFUSED = (401, 403)
"""What the API answers when it does not take our key or login."""
LONG_WAIT_S = 15.0
"""A retry that is further away is ours and not the CLI's: the ticket gives its slot back and is parked."""
_PROBE_S, _PROBE_MOST_S = 60.0, 600.0
"""How often a refused key is tried again by itself: first, and at last."""
_MOST_RETRY_S, _MOST_WINDOW_S = 3_600.0, 8 * 86_400.0
"""Longest waits that are believed; what the API's side sends may be anything."""
_WORTH_SAYING_S = 1.0
_WINDOW, NOTIONAL = "limit resets at", "costs are notional"
"""Names of what outlives a restart."""
_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
"""With these there is no key either, and yet it is paid for."""
_ANSWERS = (ev.AgentSpoke, ev.ToolCalled)


class Governor:
    """Answers when another agent may start. For the tasks of one loop; only ``admit`` and ``begin`` wait."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._gate = Gate()
        """Its times are those of ``_now``."""
        self._steady = Steady()
        self._shown = (0.0, 0.0)
        """The time at which the gate opens, and the same by the wall clock."""
        self._cause = ""
        self._told: dict[str, float] = {}
        """By ticket, when the window begins again that stopped it."""
        self._changed = anyio.Event()
        self.on_change: Callable[[], object] = lambda: None
        """Called whenever ``wait`` may have another answer."""
        self.keep: Callable[[str, str], object] = lambda name, value: None
        """Keeps a setting for the next start; never waits."""
        self.is_refused = False
        """The API does not accept our key or login."""
        self._asker: str | None = None
        """The one ticket that asks the operator for another key."""
        self._may_probe = False
        self._probe: str | None = None
        """The ticket that tries whether the key is accepted by now."""
        self._probe_at, self._probes = 0.0, 0
        engine.board.listen(self._on_event)

    def _now(self) -> float:
        return self._steady.now(self._engine.clock(), self._engine.running())

    async def begin(self) -> None:
        """Remember what an earlier start has learned. Raises StoreError."""
        store = self._engine.journal.store
        resets = await store.setting(_WINDOW)
        if resets and float(resets) > self._engine.clock():
            self._cause = "a limit is used up"
            self._reject(float(resets), "")
        if await store.setting(NOTIONAL):
            self._engine.board.announce(notional=True)
        waiting = [t for t in self._engine.board if is_keyless(t)]
        if waiting:
            self._refuse("the key or login was refused when it was last tried")
            self._asker = next((t.id for t in waiting if t.state is State.NEEDS_YOU), None)
            self._may_probe = True
        self.look()

    def wait(self, model: str | None = None) -> float | None:
        """Return in how many seconds another agent may start, 0 for now, None: once something has changed.

        Args:
            model: the model it is started with, as its ticket names it.
        """
        now = self._now()
        if self._probe is not None:
            return None
        if self.is_refused and not self._may_probe and now < self._probe_at:
            return self._probe_at - now
        return self._gate.wait(now, model)

    @property
    def is_pacing(self) -> bool:
        """Whether agents are started one by one."""
        return self.is_refused or self._gate.is_pacing

    async def admit(self, ticket: str, model: str | None) -> None:
        """Wait until another agent of a ticket may start, and count it as started."""
        self.ended(ticket)
        while (wait := self.wait(model)) != 0:
            await self._engine.wait_for(self._changed, wait)
        self.starting(ticket)

    def starting(self, ticket: str) -> None:
        """An agent of the ticket starts."""
        now = self._now()
        if self.is_refused:
            self._probe, self._may_probe = ticket, False
            self._probe_at = now + min(_PROBE_MOST_S, _PROBE_S * 2.0**self._probes)
            self._probes += 1
        self._gate.start(now, ticket, self._engine.chance())
        self._change()

    def ended(self, ticket: str) -> None:
        """The ticket's agent has ended, whatever came of it."""
        self._gate.ended(ticket)
        if self._probe == ticket:
            self._probe = None
        self._change()

    def refused(self, ticket: str, status: int) -> bool:
        """A ticket's key or login was refused; return whether this ticket is the one that asks for another."""
        self._refuse(f"API {status}: the key or login was refused")
        self._asker = self._asker or ticket
        return self._asker == ticket

    def rest_until(self, ticket: str, status: int | None, failures: int) -> float:
        """Return when a ticket goes on that the API has failed.

        Args:
            ticket: the ticket.
            status: what the API answered; None if it did not.
            failures: how many attempts of the ticket the API has failed in a row, this one included.
        """
        now, first_s, chance = self._now(), self._engine.backoff_s, self._engine.chance()
        before = self._gate.closed_until
        self._gate.failed(now, first_s, chance)
        if now >= self._told.get(ticket, 0.0):
            self._blame(cause(status), before)
        self._change()
        own = now + backoff(failures, first_s, chance)
        return self._engine.clock() + max(own, self._gate.closed_until, self._told.pop(ticket, 0.0)) - now

    def look(self) -> None:
        """Say why nothing starts, or that it does again."""
        now, closed, holds = self._now(), self._gate.closed_until, self._engine.holds
        until = None
        if closed - now > _WORTH_SAYING_S:
            until = self._by_the_wall(closed, now)
            holds.set(API, f"{self._cause}: new tickets wait until {datetime.fromtimestamp(until):%H:%M:%S}")
        elif now >= closed and not self._gate.is_proved:
            holds.set(API, f"{self._cause}: {self._gate.trying or 'the next ticket'} tries again, the others wait")
        elif now >= closed:
            holds.clear(API)
        if self._engine.board.announced.waits_until != until:
            self._engine.board.announce(waits_until=until)

    def _by_the_wall(self, closed: float, now: float) -> float:
        """Return when the gate opens by the wall clock; the same as long as the gate says the same."""
        if self._shown[0] != closed:
            self._shown = (closed, self._engine.clock() + closed - now)
        return self._shown[1]

    def _refuse(self, words: str) -> None:
        if not self.is_refused:
            self.is_refused, self._probes = True, 0
            self._probe_at = self._now() + _PROBE_S
        self._engine.holds.set(KEY, f"{words}; set it right, then resume the ticket that asks for it")
        self._change()

    def _accept(self) -> None:
        self.is_refused, self._may_probe, self._probe, self._asker = False, False, None, None
        self._engine.holds.clear(KEY)

    def _change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        self.look()
        self.on_change()

    def _on_event(self, event: ev.Event, _: TicketSnapshot, after: TicketSnapshot) -> None:
        if isinstance(event, _ANSWERS):
            self._answered(event.ticket)
        elif isinstance(event, ev.Retrying):
            self._retrying(event)
        elif isinstance(event, ev.LimitsSeen):
            self._limits(event)
        elif isinstance(event, ev.LoginSeen):
            self._set_notional(event.source == "none" and not any(os.environ.get(name) for name in _CLOUDS))
        elif isinstance(event, ev.StateChanged):
            self._moved(event, after)

    def _answered(self, ticket: str) -> None:
        """An agent has had an answer: the API is back, and if that agent tried the key, it is good."""
        tried = self._probe == ticket
        if not tried and not self._gate.is_pacing:
            return
        if tried:
            self._accept()
        before = replace(self._gate)
        self._gate.answered(self._now())
        if tried or self._gate != before:
            self._change()

    def _retrying(self, event: ev.Retrying) -> None:
        """The CLI asks again by itself; nobody else shall come in between."""
        now, first_s, before = self._now(), self._engine.backoff_s, self._gate.closed_until
        if event.status in (429, *REFUSED):
            self._gate.told(now, now + min(_MOST_RETRY_S, max(0.0, event.delay_s)), first_s)
        elif event.status in (529, None):
            self._gate.slow(now, first_s)
        else:
            return
        self._blame(cause(event.status), before)
        self._change()

    def _blame(self, words: str, before: float) -> None:
        """Take another cause for the notice, unless the gate stays closed until ``before`` for the last one."""
        if self._gate.closed_until != before or self._now() >= before:
            self._cause = words

    def _limits(self, event: ev.LimitsSeen) -> None:
        self._set_notional(True)
        if event.windows and self._engine.board.announced.windows != event.windows:
            self._engine.board.announce(windows=event.windows)
        if event.status != "rejected" or event.overage or event.resets_at is None:
            return
        self._cause = f"the {window_words(event.kind)} limit is used up"
        self._told[event.ticket] = self._reject(event.resets_at, event.kind)
        if not family(event.kind):
            self.keep(_WINDOW, str(event.resets_at))
        self._change()

    def _reject(self, resets_at: float, window: str) -> float:
        now = self._now()
        left = min(_MOST_WINDOW_S, max(0.0, resets_at - self._engine.clock()))
        at, first_s = now + left, self._engine.backoff_s
        return self._gate.rejected(now, at, window, first_s, self._engine.chance())

    def _set_notional(self, notional: bool) -> None:
        if self._engine.board.announced.notional != notional:
            self._engine.board.announce(notional=notional)
            self.keep(NOTIONAL, "yes" if notional else "")

    def _moved(self, event: ev.StateChanged, after: TicketSnapshot) -> None:
        """The operator takes up a ticket, or the one that asked for a key goes: the key is tried again."""
        asked = event.ticket == self._asker and event.to is not State.NEEDS_YOU
        if asked:
            self._asker = None
        if self.is_refused and (asked or (event.by_operator and after.state is State.QUEUED)):
            self._may_probe = True
            self._change()


def is_keyless(ticket: TicketSnapshot) -> bool:
    """Return whether a ticket rests because the API did not accept our key: it asks for another, or waits for that."""
    if ticket.state is State.PARKED:
        return ticket.until is None
    return ticket.state is State.NEEDS_YOU and ticket.why is Why.AUTH and not ticket.live


def cause(status: int | None) -> str:
    """Return in words what is wrong with the API."""
    return f"API {status}" if status else "API unreachable"


def fault(status: int | None, words: str) -> str:
    """Return the cause and what was said of it: the CLI's ``API Error: 400`` before the words would say it twice."""
    said = re.sub(rf"^API Error:?( {status}\b)?:? *", "", words)
    return f"{cause(status)}: {said}" if said else cause(status)


def window_words(name: str) -> str:
    """Return what people call a window of a subscription."""
    words = {"five_hour": "5-hour", "seven_day": "weekly"}
    return words.get(name) or name.replace("seven_day_", "weekly ").replace("_", " ") or "usage"
