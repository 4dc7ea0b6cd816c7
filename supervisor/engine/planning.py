"""How a ticket's next attempt begins: which session, in which mode, with which words, and how much it may spend.

The rule: a session that reached the disk is resumed; one that never did is begun under the same id; a fresh session
replaces it only when the resume itself failed. Whether our last prompt is repeated or gone on from depends on whether
the session's file has it: the CLI only echoes a prompt whose uuid it has seen.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import anyio

from supervisor.core import budget, prompts
from supervisor.core.model import AttemptRecord, Mode, Outcome, PromptKind, PromptRecord, TicketSnapshot
from supervisor.engine import transcripts
from supervisor.engine.attempt import Plan
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


class Planner:
    """Plans the attempts of one ticket."""

    def __init__(self, ticket: TicketSpec, engine: Engine) -> None:
        self._ticket = ticket
        self._engine = engine

    @property
    def _snapshot(self) -> TicketSnapshot:
        return self._engine.board[self._ticket.id]

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
        told = prompts.fingerprint(self._ticket)
        return Plan(Mode.FRESH, session, str(uuid.uuid4()), PromptKind.TASK, self._ticket.prompt, None, told)

    async def _again_under(self, session: str, prompt: PromptRecord | None) -> Plan:
        """The session never reached the disk: begin it under the same id.

        If the ticket ran before (its transcript is gone), the prompt carries the facts, as in a fallback.
        """
        facts = await self._facts(session=None)
        if facts.empty and prompt is not None and prompt.kind is PromptKind.TASK and prompt.text == self._ticket.prompt:
            told = prompts.fingerprint(self._ticket)
            return Plan(Mode.FRESH, session, prompt.uuid, PromptKind.TASK, prompt.text, None, told)
        text = prompts.fallback(self._ticket, facts)
        told = prompts.fingerprint(self._ticket)
        return Plan(Mode.FRESH, session, str(uuid.uuid4()), PromptKind.TASK, text, None, told)

    async def _resume(self, session: str, prompt: PromptRecord | None, taken_in: bool) -> Plan:
        """Go on in the session: repeat a prompt it never saw, else continue."""
        told = prompts.fingerprint(self._ticket)
        changed = self._snapshot.stale_instructions
        if prompt is not None and not taken_in and not changed:
            known = self._snapshot.session_instructions or told
            return Plan(Mode.RESUME, session, prompt.uuid, prompt.kind, prompt.text, session, known)
        last = (await self.attempts() or (None,))[-1]
        reason = _CUT_OFF.get(last.outcome, "it ended") if last and last.outcome else "it ended"
        text = prompts.continue_after(reason, self._ticket, changed=changed)
        return Plan(Mode.RESUME, session, str(uuid.uuid4()), PromptKind.CONTINUE, text, session, told)

    async def fallback(self) -> Plan:
        """Return the one fresh attempt that follows a failed resume. Raises StoreError."""
        old = self._snapshot.session_id
        text = prompts.fallback(self._ticket, await self._facts(session=old))
        told = prompts.fingerprint(self._ticket)
        return Plan(Mode.FALLBACK, str(uuid.uuid4()), str(uuid.uuid4()), PromptKind.TASK, text, old, told)

    async def attempts(self) -> tuple[AttemptRecord, ...]:
        """Return the ticket's attempts so far, oldest first."""
        return await self._engine.journal.store.attempts(self._ticket.id)

    async def streak(self, outcome: Outcome) -> int:
        """Return how many attempts ended that way in a row, newest first, without one that got a prompt answered.

        Attempts that were lost with the supervisor or stopped by the operator neither count nor break the row.
        """
        count = 0
        for attempt in reversed(await self.attempts()):
            if attempt.outcome in (Outcome.LOST, Outcome.INTERRUPTED):
                continue
            if attempt.outcome is not outcome or (outcome is Outcome.CRASHED and attempt.subtype == "success"):
                break
            count += 1
        return count

    async def _facts(self, session: str | None) -> prompts.Facts:
        earlier = [a for a in await self.attempts() if a.num_turns or a.outcome is Outcome.DONE]
        lines = tuple(f"attempt {a.number} ({a.mode}): {a.outcome or 'open'}, {a.num_turns} turns" for a in earlier)
        return prompts.Facts(lines, await self._changes(), await self._last_words(session))

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

    def reserve(self) -> float:
        """Return the money kept free below the ticket's cap, USD."""
        return budget.reserve(self._ticket.reserve_usd, 0.0)

    def cap(self) -> float | None:
        """Return what the next attempt may spend, USD; None without a limit, zero or less for nothing."""
        totals = self._engine.board.totals()
        unreserved = self._engine.purse.unreserved(totals.spent_usd)
        return budget.attempt_cap(self._snapshot.headroom_usd, self.reserve(), unreserved, self._engine.free_slots())
