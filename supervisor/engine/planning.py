"""How a ticket's next attempt begins: which session, in which mode, with which words.

The rule: a session that reached the disk is resumed; one that never did is begun under the same id; a fresh session
replaces it only when the resume itself failed. Whether our last prompt is repeated or gone on from depends on whether
the session's file has it: the CLI only echoes a prompt whose uuid it has seen.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core import prompts
from supervisor.core.effects import EffectState
from supervisor.core.model import AttemptRecord, Mode, Outcome, PromptKind, PromptRecord, TicketSnapshot
from supervisor.engine import transcripts
from supervisor.engine.asking import lineage_root
from supervisor.engine.attempt import Plan, is_success
from supervisor.engine.effect_caller import tell
from supervisor.engine.worktree import git

if TYPE_CHECKING:
    from pathlib import Path

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


_NEWS = frozenset({EffectState.NOT_DONE, EffectState.GRANTED})
"""Decisions that the agent has to hear of before the ticket can be done."""


def _begins_anew(event: ev.Event) -> bool:
    """Return whether an agent finished a prompt here, or the operator took the ticket up again."""
    finished = isinstance(event, ev.TurnEnded) and is_success(event)
    return finished or (isinstance(event, ev.StateChanged) and event.by_operator)


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
        prompt, attempts = await self._engine.journal.store.last_prompt(self._ticket.id), await self.attempts()
        last = attempts[-1] if attempts else None
        if prompt is None or last is None or not prompt.answered or self._snapshot.stale_instructions:
            return False
        since = self._snapshot.operator_at or 0.0
        succeeded = last.subtype == "success" and last.terminal_reason == "completed" and not last.is_error
        told = all(
            v.record.state not in _NEWS for v in self._engine.board.effects() if v.record.ticket == self._ticket.id
        )
        return succeeded and told and prompt.attempt == last.number and prompt.at >= since

    async def plan(self) -> Plan:
        """Return how the next attempt begins. Raises StoreError."""
        session = self._snapshot.session_id
        if session is None:
            return self._first(str(uuid.uuid4()))
        path = await anyio.to_thread.run_sync(transcripts.find, self._engine.launch.config_dir, session)
        prompt = await self._engine.journal.store.last_prompt(self._ticket.id)
        if path is None:
            return await self._again_under(session, prompt)
        facts = await anyio.to_thread.run_sync(transcripts.read, path, prompt.uuid if prompt else None, 0.0)
        return await self._resume(session, prompt, facts.has_prompt)

    def _first(self, session: str) -> Plan:
        return Plan(
            Mode.FRESH, session, str(uuid.uuid4()), PromptKind.TASK, self._ticket.prompt, None, self._fingerprint
        )

    @property
    def _fingerprint(self) -> str:
        return prompts.fingerprint(self._ticket)

    async def _again_under(self, session: str, prompt: PromptRecord | None) -> Plan:
        """The session never reached the disk: begin it under the same id.

        If the ticket ran before (its transcript is gone), the prompt carries the facts, as in a fallback.
        """
        facts = await self._facts(session=None)
        same = prompt is not None and prompt.kind is PromptKind.TASK and prompt.text == self._ticket.prompt
        if facts.empty and prompt is not None and same:
            return Plan(Mode.FRESH, session, prompt.uuid, PromptKind.TASK, prompt.text, None, self._fingerprint)
        text = prompts.fallback(self._ticket, facts)
        return Plan(Mode.FRESH, session, str(uuid.uuid4()), PromptKind.TASK, text, None, self._fingerprint)

    async def _resume(self, session: str, prompt: PromptRecord | None, taken_in: bool) -> Plan:
        """Go on in the session: repeat a prompt it never saw, else continue."""
        changed = self._snapshot.stale_instructions
        if prompt is not None and not taken_in and not changed:
            known = self._snapshot.session_instructions or self._fingerprint
            return Plan(Mode.RESUME, session, prompt.uuid, prompt.kind, prompt.text, session, known)
        last = (await self.attempts() or (None,))[-1]
        reason = _CUT_OFF.get(last.outcome, "it ended") if last and last.outcome else "it ended"
        text = prompts.continue_after(reason, self._ticket, changed=changed, effects=self._effects())
        return self._continue(session, PromptKind.CONTINUE, text)

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
        text = prompts.fallback(self._ticket, await self._facts(session=old))
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
        allowed = True
        for event in await self._engine.journal.store.events(self._ticket.id):
            if isinstance(event, ev.AttemptStarted) and event.mode is Mode.FALLBACK:
                allowed = False
            elif _begins_anew(event):
                allowed = True
        return allowed

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
        events = await self._engine.journal.store.events(self._ticket.id)
        return sum(isinstance(e, ev.Verified) and e.exit_code != 0 and e.at >= since for e in events)

    async def _facts(self, session: str | None) -> prompts.Facts:
        earlier = [a for a in await self.attempts() if a.num_turns or a.outcome is Outcome.DONE]
        lines = tuple(f"attempt {a.number} ({a.mode}): {a.outcome or 'open'}, {a.num_turns} turns" for a in earlier)
        return prompts.Facts(lines, await self._changes(), await self._last_words(session), self._effects())

    def _effects(self) -> tuple[str, ...]:
        """Return what the ledger knows of the ticket's effects: the conversation may claim otherwise."""
        root = lineage_root(self._engine, self._ticket.id)
        views = sorted(self._engine.board.effects(), key=lambda v: v.record.key)
        return tuple(
            f"{v.record.op}: {tell(v.record).text}" for v in views if v.record.scope in (root, self._ticket.id)
        )

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
