"""The asks of a batch: opened, let rest and withdrawn for agents, answered by the operator, each first on the disk."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core import events as ev
from supervisor.core.asks import (
    ALLOWS,
    ASK_WHYS,
    AnswerKind,
    Ask,
    AskAnswer,
    AskKind,
    AskState,
    completed,
    refusal,
)
from supervisor.core.errors import AskRefused
from supervisor.core.model import State
from supervisor.core.payloads import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import anyio

    from supervisor.engine.journal import Journal


_AFTER_PLAN = {AnswerKind.ALLOW: "default", AnswerKind.ALLOW_SESSION: "acceptEdits"}


@dataclass(frozen=True, slots=True)
class Standing:
    """What the operator allowed a ticket until its session ends: the agent's process forgets it, and is told again."""

    rules: tuple[str, ...] = ()
    after_plan: str | None = None
    """The permission mode that an approved plan is carried out in; None where none was."""


class AskDesk:
    """Where asks are kept while a batch runs."""

    def __init__(self, journal: Journal, clock: Callable[[], float], secrets: Mapping[str, str]) -> None:
        self._journal = journal
        self._clock = clock
        self.secrets = secrets
        """By name, the values that are never written down."""
        self._answered: dict[str, anyio.Event] = {}
        """By ask, what an agent that waits for the answer waits for."""
        self.on_answered: Callable[[str], None] = lambda _: None
        """Called with the ticket of an ask that was answered while nobody waited."""
        self.on_stop: Callable[[str, str], None] = lambda _, __: None
        """Called with the ticket that an answer stops, and the letter that says so."""

    async def restore(self) -> None:
        """Take in what is on the disk. Raises StoreError."""
        self._journal.board.restore_asks(await self._journal.store.pending_asks())

    def waiting(self, ticket: str) -> tuple[Ask, ...]:
        """Return a ticket's asks that wait for the operator, the longest waiting first."""
        return tuple(a for a in self._journal.board.asks() if a.waits and a.ticket == ticket)

    async def open(self, event: ev.AskOpened, answered: anyio.Event | None) -> None:
        """Open an ask. Raises StoreError.

        Args:
            event: what is asked.
            answered: set once an answer is on the disk; None where nobody would hear it.
        """
        if answered is not None:
            self._answered[event.id] = answered
        await self._journal.emit(event)

    def close(self, ident: str) -> None:
        """Nobody would hear an answer to an ask any more."""
        self._answered.pop(ident, None)

    async def rest(self, ask: Ask) -> None:
        """Keep an ask whose agent is let rest, or is gone. Raises StoreError."""
        if ask.state is AskState.OPEN:
            await self._emit(ask, ev.AskRested(ask.ticket, self._clock(), ask.id))

    async def withdraw(self, ask: Ask) -> None:
        """Drop an ask that the agent does not want any more, and show what else of it waits. Raises StoreError."""
        await self._emit(ask, ev.AskWithdrawn(ask.ticket, self._clock(), ask.id))
        await self.show(ask.ticket)

    async def _emit(self, ask: Ask, event: ev.Event) -> bool:
        """Write an event of an ask, unless the ask is another by now; return whether that was done."""
        board = self._journal.board
        return await self._journal.emit(event, unless=lambda _: board.ask(ask.id) is not ask)

    async def answer(self, answer: AskAnswer) -> Ask:
        """Answer an ask: an agent that waits hears of it at once, a resting ticket goes on.

        Raises AskRefused, whose text is for the operator, and StoreError.
        """
        while True:
            ask = self._journal.board.ask(answer.ask_id)
            words = "there is no such ask" if ask is None else refusal(ask, answer)
            if ask is None or words is not None:
                raise AskRefused(answer.ask_id, words or "")
            hears = self._answered.get(ask.id)
            event = self._event(ask, completed(ask, answer), rested=hears is None)
            if await self._emit(ask, event):
                break
        if event.letter:
            self.on_stop(ask.ticket, event.letter)
        if hears is not None:
            hears.set()
        await self.show(ask.ticket)
        if event.rested:
            self.on_answered(ask.ticket)
        return self._journal.board.ask(ask.id) or ask

    def _event(self, ask: Ask, answer: AskAnswer, *, rested: bool) -> ev.AskAnswered:
        stops = answer.kind is AnswerKind.DENY_STOP and self._journal.board[ask.ticket].live
        return ev.AskAnswered(
            ask.ticket,
            self._clock(),
            ask.id,
            answer.kind,
            ask.detail,
            redact(answer.message, self.secrets),
            {name: _redacted(said, self.secrets) for name, said in answer.answers.items()},
            answer.actor,
            rested,
            str(uuid.uuid4()) if stops else "",
        )

    async def show(self, ticket: str) -> None:
        """Let a ticket that waits for asks say what the oldest of them is. Raises StoreError."""
        now, waiting = self._journal.board[ticket], self.waiting(ticket)
        if not waiting or now.state is not State.NEEDS_YOU or now.why not in ASK_WHYS:
            return
        first = waiting[0]
        if now.detail != first.detail:
            about = (State.NEEDS_YOU, first.why, first.detail)
            event = ev.StateChanged(ticket, self._clock(), *about, live=now.live)
            moved = (now.why, now.live, now.asks)
            await self._journal.emit(event, State.NEEDS_YOU, lambda t: (t.why, t.live, t.asks) != moved)

    async def use_grant(self, ticket: str, fingerprint: str, tool_use_id: str) -> Ask | None:
        """Return what the operator has allowed for this very call, and use it up; None where nothing was.

        Raises StoreError.
        """
        for ask in self._journal.board.asks():
            if ask.granted and ask.ticket == ticket and ask.fingerprint == fingerprint:
                event = ev.GrantUsed(ticket, self._clock(), ask.id, ask.detail, tool_use_id)
                if await self._emit(ask, event):
                    return ask
        return None

    async def standing(self, ticket: str) -> Standing:
        """Return what was allowed for longer than one call. Raises StoreError."""
        asks = [a for a in await self._journal.store.asks(ticket) if a.answer in ALLOWS]
        rules = [rule for a in asks if a.answer is AnswerKind.ALLOW_SESSION for rule in a.rules]
        plan = next((a.answer for a in reversed(asks) if a.kind is AskKind.PLAN), None)
        return Standing(tuple(dict.fromkeys(rules)), _AFTER_PLAN.get(plan) if plan is not None else None)


def _redacted(said: str | list[str], secrets: Mapping[str, str]) -> str | list[str]:
    return redact(said, secrets) if isinstance(said, str) else [redact(entry, secrets) for entry in said]
