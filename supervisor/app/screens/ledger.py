"""The ledger: every effect that was ever asked for, with its card and its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.app.screens.items import ItemsScreen
from widgets.items import LEDGER, effect_item, effect_key
from widgets.title_bar import TitleBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.app.docket import Docket
    from supervisor.app.ports import BatchPort
    from widgets.items import Item


class LedgerScreen(ItemsScreen):
    """All effects by key."""

    EMPTY = "No ticket has asked for an effect yet. Each one will stand here for good, with who did what and when."
    COLUMNS = LEDGER

    def __init__(
        self, port: BatchPort, clock: Callable[[], float], docket: Docket, selected: str | None = None
    ) -> None:
        """Prepare the ledger; ``selected`` is the key, as people read it, of the effect to begin at."""
        key = effect_key(selected) if selected is not None else None
        super().__init__(port, clock, docket, TitleBar("EFFECTS", "by key"), key)

    def listed(self) -> list[Item]:
        """Return all effects by key."""
        views = sorted(self.port.board.effects(), key=lambda view: view.record.key)
        self.title_bar.show(len(views))
        pending = self.docket.pending
        return [effect_item(view, pending=pending.get(effect_key(view.record.key), "")) for view in views]
