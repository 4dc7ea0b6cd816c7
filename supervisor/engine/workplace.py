"""Where a ticket is worked on: its worktree and the files in it, the setup it needs once, and the check of the work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from supervisor.core import events as ev
from supervisor.core.errors import SupervisorError
from supervisor.core.model import State
from supervisor.engine import commands, own_worktree
from supervisor.engine.moves import move

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.core.spec import TicketSpec
    from supervisor.engine.context import Engine
    from supervisor.engine.wishes import Wishes

_MADE_AGAIN = {
    True: "the worktree was gone: made again, with the files as they were last kept; what git ignores is lost",
    False: "the worktree was gone: made again from its branch; what was not committed is lost",
}
"""What is noted, by whether the files were kept."""


class Workplace:
    """The worktree of one ticket, and the commands that the file names for it."""

    def __init__(self, ticket: TicketSpec, engine: Engine, wishes: Wishes) -> None:
        self._ticket = ticket
        self._engine = engine
        self._wishes = wishes

    async def prepare(self) -> Path:
        """Make or find the worktree; its setup runs until it has succeeded once.

        Raises SupervisorError when it cannot be made or the setup fails, Stopped when the ticket is to rest.
        """
        known, ident = self._engine.board[self._ticket.id], self._ticket.id
        if known.worktree is not None and not await anyio.Path(known.worktree).exists():
            await self._engine.journal.emit(ev.WorktreeLost(ident, self._engine.clock()))
        tree, laid = await self._wishes.stoppable(lambda: own_worktree.find_or_make(self._engine, ident))
        if tree.created and known.worktree is not None:
            await self._engine.journal.emit(ev.Noted(ident, self._engine.clock(), _MADE_AGAIN[laid]))
        if tree.created or self._engine.board[ident].worktree is None:
            await self._setup(tree.path)
            about = (str(tree.path), tree.branch, tree.base_commit)
            ready = ev.WorktreeReady(ident, self._engine.clock(), *about, found=not tree.branched)
            await self._engine.journal.emit(ready)
        return tree.path

    async def _setup(self, worktree: Path) -> None:
        if not self._ticket.setup or not self._engine.launch.run_commands:
            return
        await move(self._engine, self._ticket.id, State.STARTING, detail="setup")
        argv, log, limit = self._ticket.setup, self._log("setup"), self._ticket.setup_timeout_s
        clear = self._engine.journal.redactor
        done = await self._wishes.stoppable(lambda: commands.run(argv, worktree, log, limit, self._env(), clear))
        if done.exit_code != 0:
            how = "ran out of time" if done.exit_code is None else f"exit {done.exit_code}"
            last = done.output.strip().rsplit("\n", 1)[-1]
            raise SupervisorError(f"setup: {how}: {last} (all of it in {log})")

    async def verify(self, round_: int) -> commands.Finished | None:
        """Run the ticket's check for the n-th time and record how it ended; None where it has none."""
        if not self._ticket.verify or not self._engine.launch.run_commands:
            return None
        ident = self._ticket.id
        await move(self._engine, ident, self._engine.board[ident].state, detail="verifying")
        worktree, limit = self._engine.worktrees.path(ident), self._ticket.verify_timeout_s
        clear = self._engine.journal.redactor
        done = await commands.run(self._ticket.verify, worktree, self._log("verify"), limit, self._env(), clear)
        now = self._engine.clock()
        await self._engine.journal.emit(ev.Verified(ident, now, round_, done.exit_code, done.output))
        return done

    def _log(self, name: str) -> Path:
        return self._engine.state_dir / "logs" / self._engine.worktrees.path(self._ticket.id).name / f"{name}.log"

    def _env(self) -> dict[str, str]:
        return {"SUPERVISOR_TICKET": self._ticket.id}
