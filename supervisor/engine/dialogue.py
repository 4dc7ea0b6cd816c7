"""What is said to the agent in one attempt: the plan's prompt, what the operator writes, the check's output."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import TYPE_CHECKING

from supervisor.core import prompts
from supervisor.core.model import PromptKind
from supervisor.core.resume import is_success
from supervisor.engine.messages import next_message

if TYPE_CHECKING:
    from supervisor.core import events as ev
    from supervisor.core.letters import Letter
    from supervisor.core.spec import TicketSpec
    from supervisor.engine.commands import Finished
    from supervisor.engine.context import Engine
    from supervisor.engine.plan import Plan
    from supervisor.engine.turns import Turns

RunCheck = Callable[[int], Awaitable["Finished | None"]]
"""Runs the ticket's check for the n-th time; None where it has none."""


class Check(Enum):
    """What became of the ticket's check after the agent said it was done."""

    NONE = "none"
    """The ticket has none."""
    PASSED = "passed"
    FAILED = "failed"
    """Still failing after its last round."""
    PENDING = "pending"
    """Not run to its end: the ticket was told to stop before."""


class Dialogue:
    """Holds the conversation of one attempt, turn by turn, until there is nothing more to say."""

    def __init__(
        self, ticket: TicketSpec, engine: Engine, plan: Plan, turns: Turns, check: RunCheck, failed_checks: int
    ) -> None:
        self._ticket = ticket
        self._engine = engine
        self._plan = plan
        self._turns = turns
        self._run_check = check
        self._failed_checks = failed_checks
        self._unchecked = Check.PENDING if ticket.verify and engine.launch.run_commands else Check.NONE
        self.check = self._unchecked

    async def hold(self) -> None:
        """Begin with the plan's prompt; go on while there is something to say. Raises as ``Turns.ask`` does."""
        if self._turns.is_over():
            return
        plan, turns = self._plan, self._turns
        turn = await self._ask(plan.prompt_uuid, plan.kind, plan.text, plan.letters)
        while turn is not None and not turns.stopped and (is_success(turn) or turns.hurried):
            letter = await self._next_message()
            if letter is not None:
                if turns.is_over():
                    return
                self.check = self._unchecked
                turn = await self._ask(letter.id, PromptKind.MESSAGE, letter.args["text"], (letter.id,))
            elif is_success(turn) and self.check is Check.PENDING:
                checked = await self._run_check(self._failed_checks + 1)
                if checked is None or checked.exit_code == 0:
                    self.check = Check.PASSED
                    continue
                self._failed_checks += 1
                if self._failed_checks > self._ticket.verify_rounds:
                    self.check = Check.FAILED
                    continue
                if turns.is_over():
                    return
                words = prompts.verify_failed(self._ticket, checked.exit_code, checked.output)
                turn = await self._ask(str(uuid.uuid4()), PromptKind.VERIFY, words)
            else:
                return

    async def _ask(self, ident: str, kind: PromptKind, text: str, letters: tuple[str, ...] = ()) -> ev.TurnEnded | None:
        return await self._turns.ask(ident, kind, text, self._plan.instructions, letters)

    async def _next_message(self) -> Letter | None:
        if not self._engine.board[self._ticket.id].messages:
            self._turns.hurried.clear()
        return await next_message(self._engine.journal, self._ticket.id)
