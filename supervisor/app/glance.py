"""The card beside the conversation on a wide board: what the selected ticket has tried, wanted done and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.app.fresh import Fresh
from supervisor.app.tabs.changes import since_base
from supervisor.app.tabs.effects import lineage_effects
from widgets.cells import drawable
from widgets.lines_page import LinesPage
from widgets.ticket_glance import glance_lines

if TYPE_CHECKING:
    from supervisor.app.ports import BatchPort
    from supervisor.app.tabs.changes import Compared
    from supervisor.core.effects import EffectView
    from supervisor.core.model import AttemptRecord, TicketSnapshot
    from widgets.cells import Cell

REST_S = 0.5
"""How long the cursor must stay on a ticket before its files are looked at: passing by starts no git."""


class GlanceCard(LinesPage, can_focus=False):
    """Follows the board's cursor. Reads nothing while it is not shown."""

    DEFAULT_CSS = """
    GlanceCard { overflow-y: scroll; }
    """

    def __init__(self, port: BatchPort, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._port = port
        self._ticket: str | None = None
        self._since = 0.0
        """When the cursor came to it."""
        self._attempts: Fresh[tuple[AttemptRecord, ...]] | None = None
        self._found: Fresh[Compared] | None = None
        self._effects: tuple[EffectView, ...] = ()
        self._effects_version = -1
        self._reads: object = None
        self._asked: tuple[TicketSnapshot | None, float] = (None, 0.0)

    @property
    def is_shown(self) -> bool:
        """Whether there is room for it."""
        return self.display and self.size.width > 0

    @property
    def has_news(self) -> bool:
        """Whether something was read."""
        return self.is_shown and any(part is not None and part.is_new for part in (self._attempts, self._found))

    def show_ticket(self, ticket: TicketSnapshot | None, now: float) -> None:
        """Show a ticket as of ``now``; draws again only if something reads differently."""
        self._asked = (ticket, now)
        if not self.is_shown:
            return
        if (ticket.id if ticket is not None else None) != self._ticket:
            self._begin(ticket, now)
        if ticket is not None:
            self._look(ticket, now)
        attempts, found = self._attempts, self._found
        trouble = drawable(str(found.fault)) if found is not None and found.fault is not None else ""
        if ticket is not None and ticket.worktree is None:
            trouble = "no working tree yet"
        tries = attempts.value if attempts is not None else None
        compared = found.value if found is not None else None
        reads = (self._ticket, tries, self._effects, compared, trouble)
        if reads != self._reads:
            self._reads = reads
            effects, changes = self._effects, compared.changes if compared is not None else None

            def laid_out(width: int) -> list[Cell]:
                return glance_lines(tries, effects, changes, trouble, width) if ticket is not None else []

            self.show(laid_out)

    def on_resize(self) -> None:
        """Fit to the new width; where there was no room before, begin to follow."""
        super().on_resize()
        self.show_ticket(*self._asked)

    def _begin(self, ticket: TicketSnapshot | None, now: float) -> None:
        self._ticket, self._since, self._effects_version = None, now, -1
        self._attempts = self._found = None
        self._effects = ()
        if ticket is not None:
            ident = self._ticket = ticket.id
            self._attempts = Fresh(self._port, lambda reader: reader.attempts(ident))
            self._found = Fresh(self._port, lambda reader: since_base(reader, ident))

    def _look(self, ticket: TicketSnapshot, now: float) -> None:
        board = self._port.board
        if board.effects_version != self._effects_version:
            self._effects_version, self._effects = board.effects_version, lineage_effects(board, ticket.id)
        if self._attempts is not None:
            self._attempts.want((ticket.attempts, ticket.state, ticket.live, ticket.spent_usd), now)
            self._attempts.taken()
        if self._found is not None:
            if ticket.worktree is not None and not 0 <= now - self._since < REST_S:
                self._found.want(ticket.last_activity, now)
            self._found.taken()
