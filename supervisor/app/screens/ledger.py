"""The ledger: every effect that was ever asked for, with its card and its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.app.screens.effects import EffectsScreen
from widgets.effect_items import LEDGER, effect_item
from widgets.title_bar import TitleBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.app.docket import Docket
    from supervisor.app.ports import BatchPort
    from widgets.effect_items import Item


class LedgerScreen(EffectsScreen):
    """All effects by key."""

    EMPTY = "No ticket has asked for an effect yet. Each one will stand here for good, with who did what and when."
    COLUMNS = LEDGER

    def __init__(
        self, port: BatchPort, clock: Callable[[], float], docket: Docket, selected: str | None = None
    ) -> None:
        super().__init__(port, clock, docket, TitleBar("EFFECTS", "by key"), selected)

    def listed(self) -> list[Item]:
        """Return all effects by key."""
        views = sorted(self.port.board.effects(), key=lambda view: view.record.key)
        self.title_bar.show(len(views))
        return [effect_item(view, pending=self.docket.pending.get(view.record.key, "")) for view in views]
