"""The timeline: when each ticket was at work, waited for the operator or was parked, and what was spent meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from textual import on

from supervisor.app.commands import APP_COMMANDS, TIMELINE_COMMANDS, command_bindings
from supervisor.app.screens.live import LiveScreen
from supervisor.core.errors import SupervisorError
from supervisor.core.timeline import Timeline
from widgets.cells import Cell, Tone, drawable
from widgets.formatting import age, money, round_money
from widgets.timeline import CostGraph, TimelineView
from widgets.timeline_layout import LEGEND, fitting_step, window, zoomed
from widgets.verb_footer import Hint, VerbFooter
from widgets.words_line import WordsLine

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from supervisor.app.ports import BatchPort
    from supervisor.core import events as ev
    from supervisor.core.model import TicketSnapshot
    from supervisor.engine.reader import Reader

    Move = tuple[ev.Event, TicketSnapshot, TicketSnapshot]
    Past = tuple[Timeline, frozenset[object]]
    """The timeline of what is stored, and marks of the last events in it."""

_HINTS: tuple[Hint, ...] = tuple((c.shown, c.label) for c in TIMELINE_COMMANDS if c.in_footer)
_BACK: tuple[Hint, ...] = tuple(
    (c.shown, c.label) for c in (*TIMELINE_COMMANDS, *APP_COMMANDS) if c.name in ("leave", "help")
)
_OVERLAP_S = 60.0
"""How long before the screen was opened stored events are looked at for ones that were heard, too."""


class TimelineScreen(LiveScreen[str | None]):
    """All tickets over time. What is stored is read once, then the board tells what happens. Its result is a ticket."""

    BINDINGS: ClassVar[list[BindingType]] = [*command_bindings(TIMELINE_COMMANDS)]

    def __init__(self, port: BatchPort, clock: Callable[[], float], selected: str | None = None) -> None:
        """Prepare the screen; ``selected`` is the ticket to begin at."""
        super().__init__()
        self.port, self._clock, self._selected = port, clock, selected
        """Where the cursor goes with the first rows; None after that."""
        self._timeline: Timeline | None = None
        self._past: Past | SupervisorError | None = None
        """What was read and is not taken in yet."""
        self._heard: list[Move] = []
        """What happened while the past was being read."""
        self._step: int | None = None
        """Seconds of a cell; None shows everything."""
        self._back = 0
        self._unlisten: Callable[[], None] = lambda: None
        self._head, self.view, self.costs, self._footer = WordsLine(), TimelineView(), CostGraph(), VerbFooter()

    def compose(self) -> ComposeResult:
        """Lay out title, rows, costs and keys."""
        yield self._head
        yield self.view
        yield self.costs
        yield self._footer

    def on_mount(self) -> None:
        """Listen from now on, and have read what happened before; drawn first when the screen is about to be seen."""
        self._unlisten = self.port.board.listen(self._hear)
        since = self._clock() - _OVERLAP_S
        self.port.look(lambda reader: _read(reader, since), self._came)
        self.view.focus()

    def on_unmount(self) -> None:
        """Listen no more."""
        self._unlisten()

    # What happened

    def _hear(self, event: ev.Event, before: TicketSnapshot, after: TicketSnapshot) -> None:
        if not event.lasts and before.state is after.state and before.spent_usd == after.spent_usd:
            return
        if self._timeline is None:
            self._heard.append((event, before, after))
        else:
            self._timeline.take(event, before, after)

    def _came(self, past: Past | SupervisorError) -> None:
        self._past = past

    def _take_in(self) -> None:
        if isinstance(self._past, tuple) and self._timeline is None:
            timeline, known = self._past
            for event, before, after in self._heard:
                if _mark(event) not in known:
                    timeline.take(event, before, after)
            self._timeline, self._heard = timeline, []

    # Drawing

    @property
    def has_news(self) -> bool:
        """Whether the past has come."""
        return self._timeline is None and isinstance(self._past, tuple)

    def show(self) -> None:
        """Draw everything as of now."""
        self._take_in()
        now, rows = self._clock(), self.port.board.rows()
        timeline = self._timeline or Timeline()
        cells = self.view.fit(rows)
        step = self._step or fitting_step(timeline.first, now, cells)
        seen = window(now, step, cells, self._back)
        self._head.show(self._title(step), LEGEND)
        self._footer.show(_HINTS, _BACK)
        if self._timeline is not None:
            self.view.show(rows, timeline, seen, now)
            self.costs.show(timeline, seen, now, self.view.label, self._total(timeline))
            if self._selected is not None:
                self.view.select(self._selected)
                self._selected = None

    def _title(self, step: int) -> Cell:
        if isinstance(self._past, SupervisorError):
            return (("TIMELINE  ", Tone.STRONG), (drawable(str(self._past)), Tone.BAD))
        if self._timeline is None:
            return (("TIMELINE  ", Tone.STRONG), ("reading …", Tone.MUTED))
        back = "" if not self._back else f", up to {age(self._back * step)} ago"
        return (("TIMELINE  ", Tone.STRONG), (f"{age(step)} a cell{back}", Tone.MUTED))

    def _total(self, timeline: Timeline) -> str:
        budget = self.port.board.announced.budget_usd
        return f"{money(timeline.total)}{f' of {round_money(budget)}' if budget is not None else ''}"

    def on_resize(self) -> None:
        """Fit the time to the new width, once there is any to show."""
        if self._timeline is not None:
            self.call_after_refresh(self.show)

    # Keys

    def action_zoom(self, by: int) -> None:
        """Show less time (1) or more (-1)."""
        step = self._step or fitting_step((self._timeline or Timeline()).first, self._clock(), self.view.time_cells)
        self._step = zoomed(step, by)
        self._back = self._back * step // self._step
        self.show()

    def action_all(self) -> None:
        """Show everything since the first start."""
        self._step, self._back = None, 0
        self.show()

    def action_pan(self, by: int) -> None:
        """Go half a page to the left, which is back in time (1), or to the right (-1)."""
        self._back = max(0, self._back + by * max(1, self.view.time_cells // 2))
        self.show()

    @on(TimelineView.Opened)
    def action_open(self) -> None:
        """Go to the ticket."""
        self.dismiss(self.view.picked)

    def action_leave(self) -> None:
        """Go back to the board."""
        self.dismiss(None)


async def _read(reader: Reader, since: float) -> Past:
    events = await reader.events()
    return await anyio.to_thread.run_sync(_folded, events, since)


def _folded(events: tuple[ev.Event, ...], since: float) -> Past:
    return Timeline.of(events), frozenset(_mark(event) for event in events if event.at >= since)


def _mark(event: ev.Event) -> object:
    """Return what tells an event from all others of a ticket's."""
    more = (getattr(event, name, None) for name in ("number", "to", "id", "uuid"))
    return type(event).__name__, event.ticket, event.at, *more
