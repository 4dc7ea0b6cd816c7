"""The operator's verbs, from the key press to what came of them.

Each is a letter on disk before anything happens, closed by the change that carries it out; an open one is carried out
by the next supervisor. Verbs that stop a turn reach the ticket's runner at once, and all tickets together; the others
are carried out one at a time for each ticket.
"""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import anyio

from supervisor.core import events as ev
from supervisor.core.budget import exact_usd, used_up
from supervisor.core.errors import StoreError, SupervisorError
from supervisor.core.letters import Letter
from supervisor.core.model import State, Why
from supervisor.core.starts import starts_when
from supervisor.core.verb_args import BadArgs, checked, limits
from supervisor.core.verbs import (
    BUDGET,
    BY_NAME,
    CANCEL,
    FORK,
    INTERRUPT,
    MESSAGE,
    PRIORITY,
    RESUME,
    REWIND,
    START_OVER,
)
from supervisor.engine import forking, rewinding
from supervisor.engine.wishes import RESTS, Wanted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from supervisor.core.model import TicketSnapshot
    from supervisor.core.verbs import Verb
    from supervisor.engine.context import Engine
    from supervisor.engine.journal import Journal
    from supervisor.engine.runner import Runner

    Handler = Callable[[Engine, Letter], Awaitable[str]]

log = logging.getLogger("supervisor.mailroom")
STOPS = {INTERRUPT: Wanted.PAUSE, CANCEL: Wanted.CANCEL}
"""What a verb asks of a ticket's runner."""


class Mailroom:
    """Takes letters in, carries them out, and closes them."""

    def __init__(
        self,
        engine: Engine,
        runner_of: Callable[[str], Runner | None],
        spawn: Callable[..., bool],
        closed: Callable[[], str | None],
        wake: Callable[[], object],
    ) -> None:
        """Make a mailroom.

        Args:
            engine: the batch.
            runner_of: who runs a ticket right now, if anybody.
            spawn: starts a task that outlives the caller; returns False when the pool takes no more.
            closed: why the pool takes no more; None while it does.
            wake: lets the pool look again.
        """
        self._engine = engine
        self._runner_of = runner_of
        self._spawn = spawn
        self._closed = closed
        self._wake = wake
        self._one_at_a_time: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        self._taking_in: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        """By ticket: a request that is sent twice at once is known when it comes for the second time."""

    def submit(self, verb: str, tickets: Sequence[str], told: Mapping[str, Any] | None = None) -> None:
        """Take a verb from the screen. Never blocks; the pending mark is on the board when it returns.

        A ticket that the verb does not apply to is left alone; what goes wrong later closes the letter as refused.
        """
        board, now = self._engine.board, self._engine.clock()
        for ticket in tickets:
            if ticket in board and BY_NAME[verb].applies(board[ticket]):
                try:
                    letter = self._letter(BY_NAME[verb], ticket, told or {})
                except BadArgs as error:
                    board.apply(ev.Noted(ticket, now, f"{verb}: {error}", is_error=True))
                    continue
                if self._spawn(self._post_and_do, letter):
                    board.apply(ev.VerbPending(ticket, now, verb))
                else:
                    board.apply(ev.Noted(ticket, now, f"{verb}: {self._closed()}", is_error=True))

    def interrupt(self, ticket: str, letter: str) -> None:
        """Carry out a letter that an answer has left on the disk; where no more are taken, the next start will."""
        self._spawn(self._do, Letter(letter, ticket, INTERRUPT.name, self._engine.clock()))

    async def request(
        self, verb: Verb, ticket: str, told: Mapping[str, Any], *, ident: str | None = None, actor: str = ""
    ) -> tuple[bool, str]:
        """Take a verb from another shell: whether it was accepted, and what came of it or why not.

        Whoever asks may go away once the letter is on disk: it is carried out here. Verbs that stop a turn or wait for
        a slot are answered before that has happened. Raises StoreError.
        """
        refusal = verb.refusal(self._engine.board[ticket]) or self._closed()
        if refusal is not None:
            return False, refusal
        try:
            letter = self._letter(verb, ticket, told, ident, actor)
        except BadArgs as error:
            return False, str(error)
        async with self._taking_in[ticket]:
            earlier = await self._engine.journal.store.letter(letter.id)
            if earlier is not None:
                return not earlier.refused, earlier.says or "it was accepted before"
            self._engine.board.apply(ev.VerbPending(ticket, self._engine.clock(), verb.name))
            try:
                await self._post(letter)
            except StoreError:
                self._engine.board.apply(ev.VerbPending(ticket, self._engine.clock(), None))
                raise
        done = anyio.Event()
        outcome: list[tuple[bool, str]] = []

        async def carry_out() -> None:
            outcome.append(await self._do(letter))
            done.set()

        if not self._spawn(carry_out):
            return True, "it is carried out at the next start"
        if verb.name not in HANDLERS:
            return True, self._will(verb, ticket)
        await done.wait()
        return outcome[0]

    def _will(self, verb: Verb, ticket: str) -> str:
        now = self._engine.board[ticket]
        at_work = now.live or self._runner_of(ticket) is not None
        return will(verb, at_work=at_work, held_by=now.held_by, starts=starts_when(self._engine.board.announced))

    def _letter(
        self, verb: Verb, ticket: str, told: Mapping[str, Any], ident: str | None = None, actor: str = ""
    ) -> Letter:
        args = checked(verb, self._engine.board[ticket], told)
        return Letter(ident or str(uuid.uuid4()), ticket, verb.name, self._engine.clock(), args, actor or "operator")

    async def _post_and_do(self, letter: Letter) -> None:
        await self._post(letter)
        await self._do(letter)

    async def _post(self, letter: Letter) -> None:
        """Put the letter on the disk, so that a crash does not undo it."""
        await post(self._engine.journal, letter)
        self._wake()

    async def _do(self, letter: Letter) -> tuple[bool, str]:
        """Carry a letter out, or close it as refused where it does not apply any more."""
        answer = await self._done(BY_NAME[letter.verb], letter)
        if not answer[0]:
            await close(self._engine, letter, answer[1])
        self._wake()
        return answer

    async def _done(self, verb: Verb, letter: Letter) -> tuple[bool, str]:
        if verb is MESSAGE:
            runner = self._runner_of(letter.ticket)
            if runner is not None and letter.args.get("now"):
                runner.hurry(letter.id)
            return True, "given to the agent when its turn ends"
        if verb in STOPS:
            return await self._stop(verb, letter)
        async with self._one_at_a_time[letter.ticket]:
            return await carry_out(self._engine, letter, idle=self._runner_of(letter.ticket) is None)

    async def _stop(self, verb: Verb, letter: Letter) -> tuple[bool, str]:
        """Stop the ticket's turn, or move it where it would rest. One that moved meanwhile is looked at again.

        Where no turn has to be stopped, what was told before comes first: starting over would undo this.
        """
        while True:
            if self._stop_runner(verb, letter):
                return True, ""
            async with self._one_at_a_time[letter.ticket]:
                if self._stop_runner(verb, letter):
                    return True, ""
                refusal = verb.refusal(self._engine.board[letter.ticket])
                if refusal is not None:
                    return False, refusal
                if await apply_verb(self._engine.journal, verb, letter.ticket, self._engine.clock(), (letter.id,)):
                    return True, ""

    def _stop_runner(self, verb: Verb, letter: Letter) -> bool:
        runner = self._runner_of(letter.ticket)
        if runner is not None:
            runner.stop(STOPS[verb], letter.id)
        return runner is not None


async def post(journal: Journal, letter: Letter) -> None:
    """Put a letter on the disk. A message takes a resting ticket up again in the same step. Raises StoreError."""
    wakes = letter.verb == MESSAGE.name
    event = ev.LetterPosted(letter.ticket, letter.at, letter.id, letter.verb, letter.args, letter.actor, wakes)
    await journal.emit(event)


async def close(engine: Engine, letter: Letter, says: str) -> None:
    """Close a letter that was not carried out. Raises StoreError."""
    event = ev.LettersClosed(letter.ticket, engine.clock(), (letter.id,), f"{letter.verb}: {says}", refused=True)
    await engine.journal.emit(event)


async def carry_out(engine: Engine, letter: Letter, *, idle: bool = True) -> tuple[bool, str]:
    """Carry out a letter that needs no runner; return whether that was done, and what came of it. Raises StoreError.

    ``idle`` says that nobody runs the ticket.
    """
    verb = BY_NAME[letter.verb]
    refusal = verb.refusal(engine.board[letter.ticket])
    if refusal is None and not idle and verb in (RESUME, REWIND, START_OVER):
        refusal = f"{letter.ticket} is still at work"
    if refusal is not None:
        return False, refusal
    handler = HANDLERS.get(letter.verb)
    if handler is None:
        done = await apply_verb(engine.journal, verb, letter.ticket, engine.clock(), (letter.id,))
        return done, "" if done else "it has moved meanwhile"
    try:
        return True, await handler(engine, letter)
    except StoreError:
        raise
    except (SupervisorError, BadArgs, OSError) as error:
        return False, str(error)
    except Exception as error:  # a bug of ours in one verb must stop neither the others nor every later start
        log.exception("%s of ticket %s", letter.verb, letter.ticket)
        return False, f"internal error: {type(error).__name__}: {error}"


async def apply_verb(journal: Journal, verb: Verb, ticket: str, at: float, letters: tuple[str, ...] = ()) -> bool:
    """Do what a verb asks of a ticket that no runner has, where that only changes its state; return whether it did."""
    snapshot = journal.board[ticket]
    if not verb.applies(snapshot):
        return False
    to, detail = RESTS[STOPS[verb]] if verb in STOPS else (State.QUEUED, "resumed by you")
    event = ev.StateChanged(ticket, at, to, detail=detail, by_operator=verb is RESUME, letters=letters)
    return await journal.emit(event, expect=snapshot.state)


async def _budget(engine: Engine, letter: Letter) -> str:
    return await apply_setting(engine.journal, letter, engine.clock())


async def _priority(engine: Engine, letter: Letter) -> str:
    return await apply_setting(engine.journal, letter, engine.clock())


async def apply_setting(journal: Journal, letter: Letter, at: float) -> str:
    """Set what a letter about limits or priority says; return what holds now. Raises StoreError, BadArgs."""
    ids = (letter.id,)
    if letter.verb == PRIORITY.name:
        event = ev.PriorityChanged(letter.ticket, at, int(letter.args["priority"]), ids)
        await journal.emit(event)
        return f"priority {event.priority}"

    def change(ticket: TicketSnapshot) -> ev.LimitsChanged:
        to = limits(ticket, letter.args)
        return ev.LimitsChanged(ticket.id, at, to.budget_usd, to.max_turns, ids, to.budget_turns, to.budget_tokens)

    await journal.derive(letter.ticket, change)
    now = journal.board[letter.ticket]
    rests = now.state is State.NEEDS_YOU and now.why is Why.LIMIT and not now.live
    if not rests:
        return _limits_in_words(now)
    left = used_up(now, now.reserve_usd)
    return f"{_limits_in_words(now)}; {f'still too little: {left}' if left else 'resume it to go on'}"


def _limits_in_words(ticket: TicketSnapshot) -> str:
    usd, turns, in_all, tokens = ticket.budget_usd, ticket.max_turns, ticket.budget_turns, ticket.budget_tokens
    words = ["no budget" if usd is None else f"budget {exact_usd(usd)}"]
    words += [f"at most {turns} turns a prompt"] if turns is not None else []
    words += [f"{in_all} turns in all"] if in_all is not None else []
    words += [f"{tokens:,} tokens in all"] if tokens is not None else []
    return ", ".join(words)


HANDLERS: dict[str, Handler] = {
    BUDGET.name: _budget,
    PRIORITY.name: _priority,
    FORK.name: forking.fork,
    REWIND.name: rewinding.rewind,
    START_OVER.name: rewinding.start_over,
}
"""Verbs that do more than change a state. Each returns what came of it, or raises SupervisorError with why not."""


def will(verb: Verb, *, at_work: bool = False, held_by: str = "", starts: str = "at the next start") -> str:
    """Return what an accepted verb is going to do, in words.

    Args:
        verb: the verb.
        at_work: an agent has the ticket.
        held_by: what keeps the ticket from going on, as its snapshot has it.
        starts: when a ticket in the queue starts, as ``core.starts`` says it.
    """
    match verb.name:
        case RESUME.name:
            return f"goes on {starts}"
        case MESSAGE.name if at_work:
            return "the agent gets it when its turn ends"
        case MESSAGE.name if held_by:
            return f"the agent gets it later: it {held_by}"
        case MESSAGE.name:
            return f"goes on with it {starts}"
        case INTERRUPT.name | CANCEL.name:
            end = "is paused" if verb is INTERRUPT else "is cancelled"
            return f"its turn stops, then it {end}" if at_work else end
        case _:
            return "it is carried out"
