"""What screens and shells may look at that is not on the board: read on demand, changing nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from supervisor.core import checks
from supervisor.core.errors import SupervisorError
from supervisor.core.past import ASKING, denied_calls, stretches
from supervisor.core.rewinds import Source
from supervisor.core.transcript import told
from supervisor.core.verbs import MESSAGE
from supervisor.engine import changes, forking, history, rewinding, transcripts
from supervisor.engine.asking import lineage
from supervisor.engine.session_lines import Known

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from supervisor.core.changes import Changes
    from supervisor.core.cuts import Cut
    from supervisor.core.events import Event
    from supervisor.core.letters import Letter
    from supervisor.core.model import AttemptRecord, Entry, PromptKind, PromptRecord
    from supervisor.core.rewinds import Checkpoint, RewindPreview
    from supervisor.core.spec import TicketSpec
    from supervisor.engine.context import Engine

BASE = "base"
"""Names the commit that a ticket's branch began at."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Looks things up for one batch. Every method waits for disk or git, and raises SupervisorError."""

    engine: Engine

    async def attempts(self, ticket: str) -> tuple[AttemptRecord, ...]:
        """Return a ticket's attempts, oldest first; one whose check failed says so in its ``detail``."""
        store = self.engine.journal.store
        runs = checks.check_runs(await store.events_of(ticket, checks.TOLD_BY))
        return checks.with_checks(await store.attempts(ticket), runs)

    async def prompts(self, ticket: str) -> tuple[PromptRecord, ...]:
        """Return what was said to a ticket's agent, oldest first."""
        return await self.engine.journal.store.prompts(ticket)

    async def letters(self, ticket: str) -> tuple[Letter, ...]:
        """Return the operator's verbs for a ticket that wait to be carried out, oldest first."""
        return await self.engine.journal.store.open_letters(ticket)

    async def messages(self, ticket: str) -> tuple[Letter, ...]:
        """Return what the operator wrote to a ticket and its agent has not been given, oldest first."""
        return tuple(letter for letter in await self.letters(ticket) if letter.verb == MESSAGE.name)

    async def events(self, ticket: str | None = None) -> tuple[Event, ...]:
        """Return what lasts of what happened, to one ticket or to all of them, in order."""
        return await self.engine.journal.store.events(ticket)

    async def setting(self, name: str) -> str:
        """Return what was kept for the whole batch under a name; empty where nothing was."""
        return await self.engine.journal.store.setting(name)

    async def spec(self, ticket: str) -> TicketSpec | None:
        """Return what a ticket is: of the file's, or a fork; None where the file does not name it any more."""
        return self.engine.specs.get(ticket)

    async def logs(self, ticket: str) -> tuple[str, ...]:
        """Return the paths of the files that tell more of a ticket: output of its commands, its session's own file."""
        return await anyio.to_thread.run_sync(_logs, self.engine, ticket)

    async def changes(self, ticket: str, since: str = BASE) -> Changes:
        """Return how a ticket's files differ from its base, or from a prompt's snapshot (a commit)."""
        worktree = self._worktree(ticket)
        return await changes.against_now(self.engine.snapshots, worktree, self._state(ticket, since))

    async def diff(self, ticket: str, path: str | None = None, since: str = BASE, old_path: str | None = None) -> str:
        """Return those changes as the text of a unified diff, of one file or of all; untrusted and bounded."""
        worktree = self._worktree(ticket)
        now = await self.engine.snapshots.current(worktree)
        old = self._state(ticket, since)
        text, is_cut = await changes.diff_text(worktree, old, now.tree, path, old_path=old_path)
        text = self.engine.journal.redactor.text(text)
        return f"{text}\n… the rest is not shown" if is_cut else text

    async def history(self, ticket: str, before: float = math.inf) -> tuple[Entry, ...]:
        """Return the end of a ticket's conversation, as far as it was said ``before``, seconds since the epoch.

        It goes over all its sessions. Words come from their own files, results of turns, checks and verbs from the
        store.
        """
        events, config_dir = await self.events(ticket), self.engine.launch.config_dir
        known = await self._known(ticket)

        def load() -> tuple[Entry, ...]:
            said = history.load_history(config_dir, stretches(events), known, before, told(events))
            return tuple(map(self.engine.journal.redactor.entry, said))

        return await anyio.to_thread.run_sync(load)

    async def _known(self, ticket: str) -> Known:
        """Return what the store knows of a conversation; that of a fork begins with those of the ones it comes from."""
        kinds: dict[str, PromptKind] = {}
        denied: frozenset[str] = frozenset()
        for name in lineage(ticket, self.engine.board):
            kinds |= {prompt.uuid: prompt.kind for prompt in await self.prompts(name)}
            denied |= denied_calls(await self.engine.journal.store.events_of(name, ASKING))
        return Known(kinds, denied)

    async def cuts(self, ticket: str) -> tuple[Cut, ...]:
        """Return where a fork may cut a ticket's conversation, oldest first."""
        clear = self.engine.journal.redactor.text
        return tuple(replace(cut, words=clear(cut.words)) for cut in await forking.cut_points(self.engine, ticket))

    async def checkpoints(self, ticket: str) -> tuple[Checkpoint, ...]:
        """Return the prompts that a ticket's files can be taken back to, newest first."""
        return await rewinding.checkpoints(self.engine, ticket)

    async def changed_since(self, ticket: str, points: Sequence[Checkpoint]) -> dict[str, Changes]:
        """Return what has changed since each of those prompts, by uuid; those without a snapshot are left out."""
        return await rewinding.changed_since(self.engine, ticket, points)

    async def preview(self, ticket: str, to: str, source: Source = Source.SNAPSHOT) -> RewindPreview:
        """Return what taking a ticket's files back would do; a session's checkpoint takes a second to ask."""
        return await rewinding.preview(self.engine, ticket, to, source)

    def _worktree(self, ticket: str) -> Path:
        path = self.engine.worktrees.path(ticket)
        if self.engine.board[ticket].worktree is None or not path.is_dir():
            raise SupervisorError(f"{ticket} has no working tree yet")
        return path

    def _state(self, ticket: str, since: str) -> str:
        base = self.engine.board[ticket].base_commit
        if since != BASE:
            return since
        if base is None:
            raise SupervisorError(f"{ticket} has no base yet")
        return base


def _logs(engine: Engine, ticket: str) -> tuple[str, ...]:
    place = engine.state_dir / "logs" / engine.worktrees.path(ticket).name
    session = transcripts.find(engine.launch.config_dir, engine.board[ticket].session_id or "")
    files = [*sorted(place.glob("*.log")), *([session] if session is not None else [])]
    return tuple(map(str, files))
