"""The inbox: everything that waits for the operator, answered in place; what can be answered here comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.app.screens.effects import EffectsScreen
from supervisor.app.waiting import in_order, item_again, waiting_effects, waiting_items
from widgets.cells import Tone
from widgets.effect_items import INBOX
from widgets.title_bar import TitleBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.app.docket import Docket
    from supervisor.app.ports import BatchPort
    from widgets.effect_items import Item


class InboxScreen(EffectsScreen):
    """What needs the operator. An item that was settled stays until the cursor leaves it, to be seen as it is now."""

    EMPTY = "Nothing needs you. Effects to approve or to settle, and tickets that cannot go on, will stand here."
    COLUMNS = INBOX

    def __init__(
        self, port: BatchPort, clock: Callable[[], float], docket: Docket, selected: str | None = None
    ) -> None:
        super().__init__(port, clock, docket, TitleBar("NEEDS YOU", "effects first, then the oldest"), selected)

    def listed(self) -> list[Item]:
        """Return what waits, and the item under the cursor even if it does not any more."""
        board, pending = self.port.board, self.docket.pending
        items = waiting_items(board, waiting_effects(board), pending)
        self.title_bar.show(len(items), Tone.WARM if items else Tone.MUTED)
        held = self.items.cursor_item
        if held is not None and all(item.key != held.key for item in items):
            again = item_again(board, held, pending)
            items = in_order([*items, *([again] if again else [])])
        return items
