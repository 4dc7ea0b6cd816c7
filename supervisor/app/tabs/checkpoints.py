"""The tab of checkpoints: the prompts that a ticket's files can be taken back to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.message import Message

from supervisor.app.fresh import Fresh
from supervisor.app.tabs.attempts import READING
from supervisor.app.tabs.tab import Tab
from widgets.cells import Cell, Piece, Tone, drawable
from widgets.changed_files import total_words
from widgets.effect_words import stamp
from widgets.pick_list import PickList
from widgets.record_table import Record, RecordColumn, RecordTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult
    from textual.widget import Widget

    from supervisor.app.ports import BatchPort
    from supervisor.core.changes import Changes
    from supervisor.core.model import TicketSnapshot
    from supervisor.core.rewinds import Checkpoint
    from widgets.verb_footer import Hint

COLUMNS: tuple[RecordColumn, ...] = (
    RecordColumn("#", 4, right=True),
    RecordColumn("KIND", 8, 2),
    RecordColumn("PROMPT", 0, grows=True),
    RecordColumn("TIME", 14, 1, right=True),
    RecordColumn("FILES SINCE", 24, right=True),
)


class CheckpointsTab(Tab):
    """Prompts of ours, newest first."""

    NAME = "Checkpoints"

    class Opened(Message):
        """The operator wants to take the files back to before a prompt."""

        def __init__(self, point: Checkpoint) -> None:
            super().__init__()
            self.point = point

    def __init__(self, port: BatchPort, ticket: str, points: Fresh[tuple[Checkpoint, ...]]) -> None:
        """Prepare the tab; ``points`` are read by the screen, which counts them."""
        super().__init__()
        self._points = points
        self._changed: Fresh[Mapping[str, Changes]] = Fresh(port, lambda reader: reader.changed_since(ticket, ()))
        self._read_for: tuple[Checkpoint, ...] | None = None
        self._table = RecordTable(COLUMNS)

    def compose(self) -> ComposeResult:
        """Lay out the table."""
        yield self._table

    @property
    def count(self) -> str:
        """How many there are."""
        return "" if self._points.value is None else str(len(self._points.value))

    @property
    def has_news(self) -> bool:
        """Whether something was read."""
        return self._changed.is_new

    @property
    def target(self) -> Widget:
        """The rows."""
        return self._table.list

    @property
    def hints(self) -> Sequence[Hint]:
        """How to go back to one."""
        return (("enter", "take files back"),) if self._points.value else ()

    def show(self, ticket: TicketSnapshot, now: float) -> None:
        """Draw what was read, and have it read again if it may have changed."""
        self._changed.taken()
        points, fault = self._points.value, self._points.fault
        if points is None:
            self._table.show((), READING if fault is None else ((drawable(str(fault)), Tone.BAD),))
            return
        self._look_at_files(ticket, points, now)
        none: Cell = (("Nothing was said to the agent yet.", Tone.MUTED),)
        trouble = self._changed.fault
        notice: Cell = ((drawable(str(trouble)), Tone.MUTED),) if trouble is not None else ()
        self._table.show([self._record(point, now) for point in points], notice if points else none)

    def _look_at_files(self, ticket: TicketSnapshot, points: tuple[Checkpoint, ...], now: float) -> None:
        if points != self._read_for:
            self._read_for, held = points, self._changed.value
            self._changed.forget(lambda reader: reader.changed_since(ticket.id, points))
            self._changed.value = held
        if points and ticket.worktree is not None:
            self._changed.want(ticket.last_activity, now)

    def _record(self, point: Checkpoint, now: float) -> Record:
        return Record(
            point.uuid,
            (
                (str(point.number), Tone.ACCENT),
                (point.kind.value, Tone.MUTED),
                (drawable(point.words), Tone.PLAIN),
                (stamp(point.at, now), Tone.MUTED),
                self._since(point),
            ),
        )

    def _since(self, point: Checkpoint) -> Piece:
        if not point.snapshot:
            return "no snapshot", Tone.FAINT
        found = (self._changed.value or {}).get(point.uuid)
        if found is None:
            return ("–" if self._changed.fault is not None else "reading …"), Tone.FAINT
        return total_words(found), Tone.PLAIN

    @on(PickList.Opened)
    def _picked(self, event: PickList.Opened) -> None:
        event.stop()
        for point in self._points.value or ():
            if point.uuid == self._table.picked:
                self.post_message(self.Opened(point))
