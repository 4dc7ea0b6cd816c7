"""The tab of effects: what this ticket, or one of its lineage, wanted done in other systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.message import Message
from textual.widgets import Static

from supervisor.app.tabs.tab import Tab
from widgets.item_list import ItemList
from widgets.items import LEDGER, effect_item, effect_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.app import ComposeResult
    from textual.widget import Widget

    from supervisor.app.docket import Docket
    from supervisor.app.ports import BatchPort
    from supervisor.core.board import Board
    from supervisor.core.effects import EffectView
    from supervisor.core.model import TicketSnapshot
    from widgets.verb_footer import Hint

_NONE = " No effect was asked for yet. Each one will stand here, with who did what and when."


class EffectsTab(Tab):
    """Effects by key."""

    NAME = "Effects"
    DEFAULT_CSS = """
    EffectsTab ItemList { height: 1fr; }
    EffectsTab Static { color: $text-muted; height: auto; }
    """

    class Opened(Message):
        """The operator wants to see an effect's card."""

        def __init__(self, effect: EffectView) -> None:
            super().__init__()
            self.effect = effect

    def __init__(self, port: BatchPort, ticket: str, docket: Docket) -> None:
        super().__init__()
        self._port, self._ticket, self._docket = port, ticket, docket
        self._views: tuple[EffectView, ...] = ()
        self._version = -1
        """The board's `effects_version` that they were taken at."""
        self._list, self._none = ItemList(LEDGER), Static(_NONE, markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        yield self._none
        yield self._list

    @property
    def views(self) -> tuple[EffectView, ...]:
        """The effects as they are now, by key."""
        board = self._port.board
        if board.effects_version != self._version:
            self._version, self._views = board.effects_version, lineage_effects(board, self._ticket)
        return self._views

    @property
    def count(self) -> str:
        """How many there are."""
        return str(len(self.views))

    @property
    def target(self) -> Widget:
        """The list."""
        return self._list

    @property
    def hints(self) -> Sequence[Hint]:
        """How to see more."""
        return (("enter", "its card"),) if self.views else ()

    def show(self, ticket: TicketSnapshot, now: float) -> None:
        """Draw the effects."""
        pending = self._docket.pending
        keys = [(view, effect_key(view.record.key)) for view in self.views]
        self._list.show([effect_item(view, pending=pending.get(key, "")) for view, key in keys], now)
        self._none.display = not self.views

    @on(ItemList.Opened)
    def _opened(self, event: ItemList.Opened) -> None:
        event.stop()
        item = self._list.cursor_item
        if item is not None and item.effect is not None:
            self.post_message(self.Opened(item.effect))


def lineage_effects(board: Board, ticket: str) -> tuple[EffectView, ...]:
    """Return the effects that a ticket asked for or shares with its lineage, by key."""
    line = set(_ancestors(board, ticket))
    found = (v for v in board.effects() if v.record.scope in line or ticket in v.askers)
    return tuple(sorted(found, key=lambda view: view.record.key))


def _ancestors(board: Board, ticket: str | None) -> Iterator[str]:
    """Yield a ticket and those it was forked from."""
    while ticket is not None:
        yield ticket
        ticket = board[ticket].parent if ticket in board else None
