"""The budget dialog: what a ticket has, spent and may still spend, and what it is to have from now on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual import events, on
from textual.widgets import Input, Static

from supervisor.app.limits import facts, facts_of_many, is_at_limit, outcome, suggested, told_limits
from supervisor.app.orders import Order, reasons, sort_out, whom
from supervisor.app.screens.dialog import VerbDialog, button, buttons, field, frame, keys, title
from supervisor.core.verb_args import BadArgs
from supervisor.core.verbs import BUDGET, RESUME
from widgets.cells import drawable
from widgets.words_input import WordsInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from supervisor.app.ports import BatchPort
    from supervisor.core.model import TicketSnapshot


class LimitsScreen(VerbDialog):
    """Takes a budget and a number of turns; lets the tickets go on afterwards if it was opened for that."""

    def __init__(self, port: BatchPort, tickets: Sequence[str], note: str = "", *, resume: bool = False) -> None:
        """Prepare the dialog; with ``resume`` for tickets of which some have reached a limit."""
        super().__init__(port, tickets, note)
        self._resume = resume
        budget, turns = suggested(self._limited()) if resume else ("", "")
        self._budget = WordsInput(budget, id="budget", compact=True, placeholder="2.50, +1 or none")
        self._turns = WordsInput(turns, id="turns", compact=True, placeholder="as it is")
        self._does = "raise and resume" if resume else "set"
        self._facts, self._outcome = Static("", markup=False), Static("", classes="outcome", markup=False)
        self._keys = keys("")

    def compose(self) -> ComposeResult:
        """Say how things stand, and take what is to change."""
        name = whom(self.tickets)
        words = f"Raise the limit and resume: {name}" if self._resume else f"Budget of {name}"
        yield frame(
            title(words),
            self._facts,
            self._note,
            field("new budget", self._budget),
            field("most turns", self._turns),
            self._outcome,
            self._missing,
            buttons(button(self._does, "confirm")),
            self._keys,
        )

    def on_mount(self) -> None:
        """Begin with what is most likely to change."""
        (self._turns if self._turns.value and not self._budget.value else self._budget).focus()

    @on(events.DescendantFocus)
    def _show_keys(self) -> None:
        """Say what enter does where the operator is now."""
        enter = f"enter  next    ctrl+s  {self._does}" if self._budget.has_focus else f"enter  {self._does}"
        self._keys.update(f"{enter}    esc  leave")

    def show(self) -> None:
        """Say how things stand."""
        only = self.only
        self._facts.update(facts(only) if only is not None else facts_of_many(self.targets))
        self._preview()

    @on(Input.Changed)
    def _changed(self) -> None:
        self.refuse(self._preview())

    def _preview(self) -> str:
        """Say what will be; return what is wrong with what is written."""
        words, fault = "", ""
        try:
            told = self._told()
            if told:
                words = self._outcome_words(told)
            elif self._resume:
                words = "It resumes with the limits it has."
        except BadArgs as error:
            fault = str(error)
        self._outcome.update(words)
        self._outcome.display = bool(words)
        return fault

    def _outcome_words(self, told: dict[str, Any]) -> str:
        limited = self._limited()
        if len(limited) == 1:
            who = "It" if self.only is not None else drawable(limited[0].id)
            return f"{who} will have: {outcome(limited[0], told)}"
        found = sort_out(self.board, self._order(told))
        if limited and not found.accepted:
            raise BadArgs(reasons(found.refused))
        words = f"{len(found.accepted)} of {len(self.tickets)} will have it"
        return f"{words}; not {reasons(found.refused)}" if found.refused else words

    def _order(self, told: dict[str, Any]) -> Order:
        return Order(BUDGET, tuple(ticket.id for ticket in self._limited()), told)

    def _told(self) -> dict[str, Any]:
        return told_limits(self._budget.value, self._turns.value)

    def _limited(self) -> list[TicketSnapshot]:
        """Return the tickets whose limits change: to go on, those that reached one."""
        return [t for t in self.targets if is_at_limit(t)] if self._resume else self.targets

    @on(Input.Submitted, "#budget")
    def _to_turns(self) -> None:
        self._turns.focus()

    @on(Input.Submitted, "#turns")
    def action_confirm(self) -> None:
        """Set it; first the limit and then, where that was wanted, the ticket goes on."""
        try:
            told = self._told()
        except BadArgs as error:
            self.refuse(str(error))
            return
        orders = [self._order(told)] if not self._resume or (told and self._limited()) else []
        self.finish(*orders, *([Order(RESUME, self.tickets)] if self._resume else []))
