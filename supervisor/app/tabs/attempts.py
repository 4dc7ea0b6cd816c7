"""The tab of attempts: how often an agent was started, and how each of those runs ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.message import Message

from supervisor.app.tabs.tab import Tab
from widgets.attempt_facts import ATTEMPTS, attempt_records
from widgets.cells import Cell, Tone, drawable
from widgets.pick_list import PickList
from widgets.record_table import RecordTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.widget import Widget

    from supervisor.app.fresh import Fresh
    from supervisor.core.model import AttemptRecord, TicketSnapshot
    from widgets.verb_footer import Hint

READING: Cell = (("reading …", Tone.MUTED),)


class AttemptsTab(Tab):
    """Attempts, newest first."""

    NAME = "Attempts"

    class Opened(Message):
        """The operator wants to see all of an attempt."""

        def __init__(self, attempt: AttemptRecord) -> None:
            super().__init__()
            self.attempt = attempt

    def __init__(self, attempts: Fresh[tuple[AttemptRecord, ...]]) -> None:
        """Prepare the tab; ``attempts`` is read by the screen, which needs them too."""
        super().__init__()
        self._attempts = attempts
        self._table = RecordTable(ATTEMPTS)

    def compose(self) -> ComposeResult:
        """Lay out the table."""
        yield self._table

    @property
    def count(self) -> str:
        """How many there are."""
        found = self._attempts.value
        return "" if found is None else str(len(found))

    @property
    def target(self) -> Widget:
        """The rows."""
        return self._table.list

    @property
    def hints(self) -> Sequence[Hint]:
        """How to see more."""
        return (("enter", "all fields"),) if self._attempts.value else ()

    def show(self, ticket: TicketSnapshot, now: float) -> None:
        """Draw what was read."""
        found, fault = self._attempts.value, self._attempts.fault
        notice: Cell = ((drawable(str(fault)), Tone.BAD),) if fault is not None else ()
        if found is None:
            self._table.show((), notice or READING)
            return
        none: Cell = (("No agent was started yet.", Tone.MUTED),)
        self._table.show(attempt_records(found, now), notice if found else notice or none)

    @on(PickList.Opened)
    def _picked(self, event: PickList.Opened) -> None:
        event.stop()
        for attempt in self._attempts.value or ():
            if str(attempt.number) == self._table.picked:
                self.post_message(self.Opened(attempt))
