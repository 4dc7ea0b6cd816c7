"""How a ticket's next attempt begins: which session, in which mode, with which words.

The rule: a session that reached the disk is resumed; one that never did is begun under the same id; a fresh session
replaces it only when the resume itself failed. Whether our last prompt is repeated or gone on from depends on whether
the session's file has it: the CLI only echoes a prompt whose uuid it has seen.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from supervisor.core import ask_news, prompts
from supervisor.core import events as ev
from supervisor.core.errors import WorktreeError
from supervisor.core.model import AttemptRecord, Mode, Outcome, PromptKind, PromptRecord, TicketSnapshot
from supervisor.core.resume import is_success
from supervisor.core.rewinds import started_over_at, untold
from supervisor.engine import effect_facts, transcripts
from supervisor.engine.git import git
from supervisor.engine.messages import next_message
from supervisor.engine.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from supervisor.core.forks import Fork
    from supervisor.core.spec import TicketSpec
    from supervisor.engine.context import Engine

_WORDS = 1_500
"""Most characters of an agent's last words that are carried into another session."""
_CUT_OFF = {
    Outcome.CRASHED: "the agent's process ended unexpectedly",
    Outcome.LOST: "the supervisor was stopped",
    Outcome.INTERRUPTED: "it was interrupted",
    Outcome.API_ERROR: "the API failed",
    Outcome.LIMIT: "a limit was reached; it has been raised",
    Outcome.FAILED_RUN: "it failed",
}
_NEITHER = frozenset({Outcome.LOST, Outcome.INTERRUPTED})
"""Outcomes that say nothing about the agent: they neither count in a row of failures nor end one."""


def _begins_anew(event: ev.Event) -> bool:
    """Return whether an agent finished a prompt here, or the operator took the ticket up again."""
    finished = isinstance(event, ev.TurnEnded) and is_success(event)
    return finished or isinstance(event, ev.StartedOver) or (isinstance(event, ev.StateChanged) and event.by_operator)


def _is_finish(event: ev.Event) -> bool:
    """Return whether an agent finished a prompt of ours here, or the ticket was started over."""
    ended = isinstance(event, ev.TurnEnded) and event.prompt_uuid is not None and is_success(event)
    return ended or isinstance(event, ev.StartedOver)


def _lost_effects(events: Sequence[ev.Event]) -> tuple[str, ...]:
    """Return what the agent is told of an effect since the last prompt that could not be written down."""
    lost = ""
    for event in events:
        match event:
            case ev.AttemptEnded():
                lost = event.lost or lost
            case ev.PromptStored() | ev.StartedOver():
                lost = ""
    return (prompts.lost_effect(lost),) if lost else ()


class Planner:
    """Plans the attempts of one ticket."""

    def __init__(self, ticket: TicketSpec, engine: Engine) -> None:
        self._ticket = ticket
        self._engine = engine

    @property
    def _snapshot(self) -> TicketSnapshot:
        return self._engine.board[self._ticket.id]

    async def is_finished(self) -> bool:
        """Return whether the agent has said it is done and nothing was asked of it since: only the check is left."""
        store = self._engine.journal.store
        prompt, last = await store.last_prompt(self._ticket.id), await store.last_attempt(self._ticket.id)
        if prompt is None or last is None or not prompt.answered or self._snapshot.stale_instructions:
            return False
        if self._snapshot.messages or await self._news():
            return False
        since = self._snapshot.operator_at or 0.0
        succeeded = last.subtype == "success" and last.terminal_reason == "completed" and not last.is_error
        told = not effect_facts.has_news(self._engine, self._ticket.id)
        return succeeded and told and prompt.attempt == last.number and prompt.at >= since

    async def plan(self) -> Plan:
        """Return how the next attempt begins. Raises StoreError."""
        session = self._snapshot.session_id
        if session is None:
            return await self._again_under(str(uuid.uuid4()), None)
        path = await anyio.to_thread.run_sync(transcripts.find, self._engine.launch.config_dir, session)
        prompt = await self._engine.journal.store.last_prompt(self._ticket.id)
        if path is None:
            return await self._again_under(session, prompt)
        fork = self._engine.forks.get(self._ticket.id)
        if fork is not None and (prompt is None or prompt.at < (await self._over() or 0.0)):
            return self._forked(fork, session)
        facts = await anyio.to_thread.run_sync(transcripts.read, path, prompt.uuid if prompt else None, 0.0)
        return await self._resume(session, prompt, facts.has_prompt)

    def _first(self, session: str) -> Plan:
        return Plan(
            Mode.FRESH, session, str(uuid.uuid4()), PromptKind.TASK, self._alone.prompt, None, self._fingerprint
        )

    def _forked(self, fork: Fork, session: str) -> Plan:
        """Begin a fork in its copy of its parent's conversation, at first and when it was started over."""
        place = self._engine.worktrees.path
        whence = prompts.Whence(fork.parent, str(place(fork.parent)), str(place(fork.child)), fork.files_as_of)
        effects = (*self._effects(), *effect_facts.not_shared(self._engine, fork.child))
        text = prompts.forked(self._ticket, whence, effects)
        return Plan(
            Mode.FORK, session, str(uuid.uuid4()), PromptKind.TASK, text, fork.parent_session, self._fingerprint
        )

    @property
    def _alone(self) -> TicketSpec:
        """The ticket for a conversation that holds nothing of a parent's: a fork's task means little by itself."""
        fork = self._engine.forks.get(self._ticket.id)
        parent = self._engine.specs.get(fork.parent) if fork is not None else None
        if parent is None:
            return self._ticket
        return replace(self._ticket, prompt=prompts.alone(self._ticket, parent.id, parent.prompt))

    @property
    def _fingerprint(self) -> str:
        return prompts.fingerprint(self._ticket)

    async def _again_under(self, session: str, prompt: PromptRecord | None) -> Plan:
        """The session never reached the disk: begin it under the same id.

        If the ticket ran before (its transcript is gone), the prompt carries the facts, as in a fallback.
        """
        facts = await self._facts(session=None)
        over = await self._over()
        if over is not None and not facts.earlier:
            text = prompts.started_over(self._alone, facts.effects)
            same = prompt is not None and prompt.at >= over and prompt.text == text
            ident = prompt.uuid if prompt is not None and same else str(uuid.uuid4())
            return Plan(Mode.FRESH, session, ident, PromptKind.TASK, text, None, self._fingerprint)
        same = prompt is not None and prompt.kind is PromptKind.TASK and prompt.text == self._alone.prompt
        if facts.empty and prompt is not None and same:
            return Plan(Mode.FRESH, session, prompt.uuid, PromptKind.TASK, prompt.text, None, self._fingerprint)
        if facts.empty and prompt is None:
            return self._first(session)
        text = prompts.fallback(self._alone, facts)
        return Plan(Mode.FRESH, session, str(uuid.uuid4()), PromptKind.TASK, text, None, self._fingerprint)

    async def _resume(self, session: str, prompt: PromptRecord | None, taken_in: bool) -> Plan:
        """Go on in the session: repeat a prompt it never saw, else say what the operator wrote, else continue."""
        changed, news = self._snapshot.stale_instructions, await self._news()
        if prompt is not None and not taken_in:
            if not changed and not news:
                known = self._snapshot.session_instructions or self._fingerprint
                return Plan(Mode.RESUME, session, prompt.uuid, prompt.kind, prompt.text, session, known)
            if prompt.kind is PromptKind.MESSAGE or not changed:
                text = prompts.message(prompt.text, self._ticket, changed=changed, news=news)
                return Plan(Mode.RESUME, session, prompt.uuid, prompt.kind, text, session, self._fingerprint)
        last = await self._engine.journal.store.last_attempt(self._ticket.id)
        cut_off = _CUT_OFF.get(last.outcome) if last and last.outcome else None
        letter = await next_message(self._engine.journal, self._ticket.id)
        if letter is not None:
            text = prompts.message(
                str(letter.args["text"]), self._ticket, cut_off, changed=changed, effects=self._effects(), news=news
            )
            plan = self._continue(session, PromptKind.MESSAGE, text)
            return replace(plan, prompt_uuid=letter.id, letters=(letter.id,))
        text = prompts.continue_after(cut_off, self._ticket, changed=changed, effects=self._effects(), news=news)
        return self._continue(session, PromptKind.CONTINUE, text)

    async def _news(self) -> tuple[str, ...]:
        """Return what happened since the last prompt that the agent does not know of.

        Answers, effects that it may ask for again, and files rewound.
        """
        events = await self._since(lambda e: isinstance(e, ev.PromptStored | ev.StartedOver))
        rewound, news = untold(events), (*await self._answers(events), *_lost_effects(events))
        return news if rewound is None else (*news, prompts.rewound(rewound.to, rewound.files, rewound.more))

    async def _answers(self, events: Sequence[ev.Event]) -> tuple[str, ...]:
        """Return the answers of the operator that the agent has not heard, as it is told of them."""
        unheard: list[str] = []
        for event in events:
            if isinstance(event, ev.PromptStored | ev.StartedOver):
                unheard.clear()
            elif isinstance(event, ev.AskAnswered) and (event.rested or event.letter):
                unheard.append(event.id)
        asks = await self._engine.journal.store.asks(self._ticket.id) if unheard else ()
        return tuple(ask_news.told(ask) for ask in asks if ask.id in unheard)

    def _continue(self, session: str, kind: PromptKind, text: str) -> Plan:
        return Plan(Mode.RESUME, session, str(uuid.uuid4()), kind, text, session, self._fingerprint)

    def say(self, kind: PromptKind, text: str) -> Plan:
        """Return a plan that says something new in the ticket's session, which reached the disk."""
        session = self._snapshot.session_id
        assert session is not None
        return self._continue(session, kind, text)

    async def fallback(self) -> Plan:
        """Return the one fresh attempt that follows a failed resume. Raises StoreError."""
        old = self._snapshot.session_id
        text = prompts.fallback(self._alone, await self._facts(session=old))
        ident, prompt = str(uuid.uuid4()), str(uuid.uuid4())
        return Plan(Mode.FALLBACK, ident, prompt, PromptKind.TASK, text, old, self._fingerprint)

    async def attempts(self) -> tuple[AttemptRecord, ...]:
        """Return the ticket's attempts so far, oldest first."""
        return await self._engine.journal.store.attempts(self._ticket.id)

    async def _recent(self) -> list[AttemptRecord]:
        """Return the attempts since the operator last took the ticket up, newest first, without those that were cut."""
        since = self._snapshot.operator_at or 0.0
        return [a for a in reversed(await self.attempts()) if a.started >= since and a.outcome not in _NEITHER]

    async def api_failures(self) -> int:
        """Return how many attempts in a row the API has failed."""
        count = 0
        for attempt in await self._recent():
            if attempt.outcome is not Outcome.API_ERROR:
                break
            count += 1
        return count

    async def crashes(self) -> int:
        """Return how many attempts in a row ended without any prompt answered, by a crash or a refused resume."""
        return len(await self._without_progress())

    async def may_fall_back(self) -> bool:
        """Return whether no fresh session has replaced another since an agent last finished a prompt.

        The operator's resume forgives that too.
        """
        events = await self._since(_begins_anew)
        return not any(isinstance(e, ev.AttemptStarted) and e.mode is Mode.FALLBACK for e in events)

    async def _without_progress(self) -> list[AttemptRecord]:
        row = []
        for attempt in await self._recent():
            if attempt.outcome is Outcome.API_ERROR:
                continue
            stuck = attempt.outcome in (Outcome.CRASHED, Outcome.FAILED_RESUME)
            if not stuck or attempt.subtype is not None:
                break
            row.append(attempt)
        return row

    async def failed_checks(self) -> int:
        """Return how often the check has failed since the ticket began or the operator took it up again."""
        since = self._snapshot.operator_at or 0.0
        events = await self._since(lambda e: e.at < since)
        return sum(isinstance(e, ev.Verified) and e.exit_code != 0 and e.at >= since for e in events)

    async def _over(self) -> float | None:
        """Return when the operator last started the ticket over: what came before counts no longer."""
        return started_over_at(await self._engine.journal.store.events(self._ticket.id))

    async def _since(self, begins: Callable[[ev.Event], object]) -> tuple[ev.Event, ...]:
        return await self._engine.journal.store.events_since(self._ticket.id, begins)

    async def _facts(self, session: str | None) -> prompts.Facts:
        since = await self._over() or 0.0
        known = [a for a in await self.attempts() if a.started >= since]
        earlier = [a for a in known if a.num_turns or a.outcome is Outcome.DONE]
        lines = tuple(f"attempt {a.number} ({a.mode}): {a.outcome or 'open'}, {a.num_turns} turns" for a in earlier)
        asks = await self._engine.journal.store.asks(self._ticket.id)
        changes = "" if await self._is_untouched() else await self._changes()
        about = (changes, await self._last_words(session), self._effects(), ask_news.known(asks))
        return prompts.Facts(lines, *about, await self._written())

    async def _written(self) -> tuple[str, ...]:
        """Return the messages that agents were given since one last finished a prompt, in the operator's own words."""
        prompts_ = (e for e in await self._since(_is_finish) if isinstance(e, ev.PromptStored))
        given = dict.fromkeys(prompt.uuid for prompt in prompts_ if prompt.kind is PromptKind.MESSAGE)
        letters = [await self._engine.journal.store.letter(ident) for ident in given]
        return tuple(str(letter.args["text"]) for letter in letters if letter is not None)

    def _effects(self) -> tuple[str, ...]:
        return effect_facts.certain(self._engine, self._ticket.id)

    async def _is_untouched(self) -> bool:
        """Return whether the files are as the setup left them: no agent was given a prompt yet, or it did nothing."""
        events = await self._since(lambda e: isinstance(e, ev.StartedOver))
        ready = [event for event in events if isinstance(event, ev.WorktreeReady)]
        first = next((event for event in events if isinstance(event, ev.PromptStored)), None)
        if not ready or any(event.found for event in ready):
            return False
        return first is None or await self._is_as_of(first.snapshot)

    async def _is_as_of(self, commit: str) -> bool:
        worktree = self._engine.worktrees.path(self._ticket.id)
        try:
            then = await git(worktree, "rev-parse", "--verify", "-q", f"{commit}^{{tree}}", check=False)
            return bool(commit) and then == (await self._engine.snapshots.current(worktree)).tree
        except WorktreeError:
            return False

    async def _changes(self) -> str:
        snapshot = self._snapshot
        worktree = self._engine.worktrees.path(self._ticket.id)
        if snapshot.base_commit is None or not worktree.is_dir():
            return ""
        tracked = await git(worktree, "diff", "--stat", snapshot.base_commit, check=False)
        new = await git(worktree, "ls-files", "--others", "--exclude-standard", check=False)
        return "\n".join(part for part in (tracked, *(f" {name} (new)" for name in new.splitlines()[:50])) if part)

    async def _last_words(self, session: str | None) -> str:
        if session is None:
            return ""
        path: Path | None = await anyio.to_thread.run_sync(transcripts.find, self._engine.launch.config_dir, session)
        if path is None:
            return ""
        return (await anyio.to_thread.run_sync(transcripts.read, path, None, 0.0)).last_words[:_WORDS]
