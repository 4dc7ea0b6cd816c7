"""The turns of one attempt: a prompt and everything until its result, one after the other.

A prompt is on disk before it is sent. Every event is booked before the next is looked at. All that may cut a turn short
is noticed here: a wish, a message that shall not wait, a limit, a stuck effect, an API without patience, silence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.errors import SupervisorError
from supervisor.core.model import Outcome, PromptKind
from supervisor.core.resume import is_success
from supervisor.engine.ending import Meaning
from supervisor.engine.governor import LONG_WAIT_S, cause
from supervisor.engine.watchdog import Watchdog

if TYPE_CHECKING:
    from pathlib import Path

    from anyio.abc import TaskGroup

    from supervisor.core.spec import TicketSpec
    from supervisor.engine.account import Account
    from supervisor.engine.agent import AgentSession
    from supervisor.engine.approvals import Approvals
    from supervisor.engine.asking import AttemptAsker
    from supervisor.engine.context import Engine
    from supervisor.engine.effect_caller import EffectCaller

RESULT_GRACE_S = 10.0
"""How long an interrupted agent may take to report its ending; it usually takes 50 ms."""


class Turns:
    """Asks one agent and listens to it. ``stop`` and ``hurry`` may be called at any time from another task."""

    def __init__(
        self,
        ticket: TicketSpec,
        engine: Engine,
        number: int,
        worktree: Path,
        approvals: Approvals,
        asker: AttemptAsker,
        caller: EffectCaller | None,
        hurried: set[str],
    ) -> None:
        """Make the turns of an attempt; ``begin`` has to follow before the first.

        Args:
            ticket: what is worked on.
            engine: the batch.
            number: the attempt's.
            worktree: whose files are kept before every prompt.
            approvals: the agent's tool requests; while one waits, silence is no fault of the agent's.
            asker: knows whether an effect is stuck or was lost, which ends the turn.
            caller: the agent's effect calls, likewise; None where it has none.
            hurried: the letters that a turn is interrupted for; those delivered are taken out of it.
        """
        self._ticket = ticket
        self._engine = engine
        self._number = number
        self._worktree = worktree
        self._approvals = approvals
        self._asker = asker
        self._caller = caller
        self._session: AgentSession
        self._account: Account
        self._group: TaskGroup
        self._turn: anyio.CancelScope | None = None
        """Around the turn under way."""
        self._begun = False
        """The agent has taken the prompt in and answers it; one that it has not begun would be dropped."""
        self._sending = anyio.Lock()
        """An interrupt is answered before the next prompt is sent, or it would meet that one."""
        self._watchdog = Watchdog(ticket.stall_minutes * 60, engine.running)
        self.hurried = hurried
        self.stopped = False
        """No further prompt is sent."""
        self.stalled = False
        """The agent has fallen silent in the last turn, and was interrupted for it."""
        self.halt: Meaning | None = None
        """Why we stopped the agent by ourselves."""
        self.last: ev.TurnEnded | None = None
        """The last result that answered a prompt."""
        self.files = ""
        """Commit that holds the files as they were before the last prompt; empty where none could be taken."""

    def begin(self, group: TaskGroup, session: AgentSession, account: Account) -> None:
        """Say who is asked and what that may cost; interrupts run in the group."""
        self._group, self._session, self._account = group, session, account

    def stop(self) -> bool:
        """Interrupt the turn under way, which then reports its result, and begin no other; return whether one was."""
        self.stopped = True
        return self._interrupt_soon()

    def hurry(self) -> None:
        """Say that ``hurried`` has grown: the turn is interrupted once it has begun."""
        if self._begun:
            self._interrupt_soon()

    async def ask(
        self, ident: str, kind: PromptKind, text: str, instructions: str, letters: tuple[str, ...] = ()
    ) -> ev.TurnEnded | None:
        """Store a prompt, send it, and fold what the agent says into the board until its result arrives.

        Args:
            ident: the prompt's uuid.
            kind: why it is sent.
            text: of the prompt.
            instructions: fingerprint of those that the session knows once it has read the prompt.
            letters: the operator's messages that it delivers.

        Returns:
            the result; None when the agent went away without one, and when the turn was given up or not begun.

        Raises:
            SessionFailed: it could not be sent.
            StoreError: the disk refused.
        """
        self.files = await self.keep_files("before a prompt")
        prompt = ev.PromptStored(*self._at(), self._number, ident, kind, text, instructions, self.files, letters)
        await self._engine.journal.emit(prompt)
        self.hurried.difference_update(letters)
        self._begun = self.stalled = False
        try:
            with anyio.CancelScope() as turn:
                self._turn = turn
                if not self.stopped:
                    async with self._sending:
                        await self._session.send(ident, text)
                    self._watchdog.heard()
                    return await self._listen(ident)
        finally:
            self._turn = None
        if anyio.current_time() >= turn.deadline:
            await self._session.kill()  # it was interrupted and does not hear: nothing is gained by asking it to leave
        return None

    def is_over(self) -> bool:
        """Return whether a limit or a lost effect stops the ticket here: nothing more is asked of the agent then."""
        if self._asker.lost:
            return True
        words = self._account.limit(self._session.usage)
        if words and self.halt is None:
            self.halt = Meaning(Outcome.LIMIT, words)
        return bool(words)

    async def take(self, event: ev.Event) -> ev.Event:
        """Book an event off the stream, and return it as it was booked.

        It will not come again, so a turn that is given up must not lose it. A second result of an answered prompt costs
        what it costs, and does not change how the prompt ended. A success without an effect that was asked for is none:
        the ticket would be taken for done, if not now then after a restart.
        """
        if isinstance(event, ev.TurnEnded) and self.last is not None and event.prompt_uuid == self.last.prompt_uuid:
            event = replace(event, prompt_uuid=None)
        if isinstance(event, ev.TurnEnded) and self._asker.lost and is_success(event):
            event = replace(event, is_error=True, errors=(*event.errors, self._asker.lost))
        if isinstance(event, ev.SessionReplaced) and self._is_anothers(event.session_id):
            words = f"the agent claims the session of another ticket, {event.session_id}: that is not taken over"
            event = ev.Noted(event.ticket, event.at, words, is_error=True)
        with anyio.CancelScope(shield=True):
            await self._engine.journal.emit(event)
        if isinstance(event, ev.TurnEnded):
            self._account.take(event)
        return event

    async def keep_files(self, when: str) -> str:
        """Keep the files as they are and return the commit; where that fails, say so and go on without."""
        try:
            return (await self._engine.snapshots.take(self._ticket.id, self._worktree, when)).commit
        except (SupervisorError, OSError) as error:
            await self._engine.journal.emit(ev.Noted(*self._at(), f"no snapshot {when}: {error}", is_error=True))
            return ""

    async def _listen(self, ident: str) -> ev.TurnEnded | None:
        """Return the result of the prompt; None when the agent went away without one."""
        while (event := await self._next()) is not None:
            event = await self.take(event)
            if not self._begun and isinstance(event, ev.TurnBegan | ev.AgentSpoke | ev.ToolCalled):
                self._begun = True
                if self.hurried:
                    self._interrupt_soon()
            if isinstance(event, ev.TurnEnded) and event.prompt_uuid == ident:
                self.last = event
                if is_success(event):
                    self.halt = None  # it was faster than we
                return event
            if isinstance(event, ev.AgentSpoke | ev.ToolCalled | ev.ToolReturned):
                self._account.show(self._session.usage)
            if isinstance(event, ev.ToolReturned) and (self._asker.has_to_stop or self.is_over()):
                self._interrupt_soon()  # the model has been told; it is not asked for its opinion
            if isinstance(event, ev.Retrying) and event.delay_s >= LONG_WAIT_S:
                self.halt = Meaning(Outcome.API_ERROR, f"{cause(event.status)}: asks for patience", event.status)
                self._interrupt_soon()
        return None

    async def _next(self) -> ev.Event | None:
        """Return the next event; None when the stream has ended. An agent that falls silent is interrupted, once."""
        while True:
            with anyio.move_on_after(self._watchdog.look_s):
                event = await self._session.next_event()
                self._watchdog.heard()
                return event
            self._account.show(self._session.usage)
            if self._approvals.active or (self._caller is not None and self._caller.active):
                self._watchdog.heard()
            elif self._watchdog.is_overdue() and not self.stalled:
                self.stalled = True
                self._interrupt_soon()

    def _interrupt_soon(self) -> bool:
        """Interrupt the turn under way, which then has so long to end; return whether there is one."""
        if self._turn is None:
            return False
        self._turn.deadline = min(self._turn.deadline, anyio.current_time() + RESULT_GRACE_S)
        self._group.start_soon(self._interrupt)
        return True

    async def _interrupt(self) -> None:
        """Interrupt the turn. A prompt that the agent had not begun is dropped by it, and no result will follow."""
        async with self._sending:
            await self._approvals.let_go()
            if await self._session.interrupt() and self._turn is not None:
                self._turn.cancel()

    def _is_anothers(self, session_id: str) -> bool:
        board = self._engine.board
        return any(t.session_id == session_id and t.id != self._ticket.id for t in board.rows())

    def _at(self) -> tuple[str, float]:
        return self._ticket.id, self._engine.clock()
