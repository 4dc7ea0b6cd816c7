"""A list of what waits, or of effects: one line each, drawn from frozen snapshots.

The cursor belongs to an item, not to a place: what comes, goes or moves above it leaves it where it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from widgets.cells import Piece, Tone
from widgets.items import Column, Item, arrange, header, line
from widgets.row_list import RowList
from widgets.tones import TONE_CLASSES, tone_css

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.strip import Strip

_Drawn = tuple[bool, tuple[Piece, ...]]


class ItemList(RowList):
    """Items under one another, with a cursor."""

    HEADER = 1

    COMPONENT_CLASSES: ClassVar[set[str]] = TONE_CLASSES | {"item-list--cursor", "item-list--cursor-blurred"}
    DEFAULT_CSS = """
    ItemList { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; height: auto; }
    ItemList .item-list--cursor { background: $block-cursor-blurred-background; text-style: bold; }
    ItemList .item-list--cursor-blurred { background: $panel; }
    """ + tone_css("ItemList")

    def __init__(self, columns: Sequence[Column], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._columns = tuple(columns)
        self._items: tuple[Item, ...] = ()
        self._places: dict[str, int] = {}
        self._cells: tuple[int, ...] = ()
        self._now = 0.0
        self._cursor: str | None = None
        self._drawn: dict[str, _Drawn] = {}

    # What others see and do

    @property
    def items(self) -> tuple[Item, ...]:
        """What is shown, from top to bottom."""
        return self._items

    @property
    def cursor_item(self) -> Item | None:
        """The item under the cursor."""
        place = self._places.get(self._cursor or "")
        return self._items[place] if place is not None else None

    def show(self, items: Sequence[Item], now: float) -> None:
        """Show these items as of ``now``, repainting only rows that read differently."""
        before, place = [item.key for item in self._items], self.place
        self._items, self._now = tuple(items), now
        self._places = {item.key: place for place, item in enumerate(self._items)}
        moved = before != list(self._places)
        if moved:
            self.measure()
            if self._cursor not in self._places:
                self._cursor = self._items[min(place, len(self._items) - 1)].key if self._items else None
            self.call_after_refresh(self.reveal)
        if self._fit() or moved:
            self.forget_lines()
            self.refresh()
        else:
            self._repaint_changed()

    def select(self, key: str) -> None:
        """Put the cursor on an item and bring it into view; unknown keys change nothing."""
        if key == self._cursor or key not in self._places:
            return
        self._cursor = key
        self._repaint_changed()
        self.reveal()
        self.post_message(self.Highlighted())

    @property
    def row_count(self) -> int:
        """How many items there are."""
        return len(self._items)

    @property
    def place(self) -> int:
        """Place of the item under the cursor."""
        return self._places.get(self._cursor or "", 0)

    def go_to(self, place: int) -> None:
        """Put the cursor on the item in a place."""
        self.select(self._items[place].key)

    def on_resize(self) -> None:
        """Fit the columns to the new width."""
        self._fit()

    # Drawing

    def forget_lines(self) -> None:
        """Draw every row anew when it is next shown."""
        self._drawn.clear()

    def draw_header(self, y: int, width: int) -> Strip:
        """Draw the names of the columns."""
        return self.palette.strip([header(self._columns, self._cells)] if self._items else [], width)

    def draw_row(self, place: int, width: int) -> Strip:
        """Draw an item."""
        if place >= len(self._items):
            return self.palette.strip([], width)
        item = self._items[place]
        is_cursor, pieces = self._drawn[item.key] = self._reads(item)
        margin: Piece = ("▸ " if is_cursor else "  ", Tone.ACCENT)
        return self.palette.strip([margin, *pieces], width, self._under(is_cursor))

    def _reads(self, item: Item) -> _Drawn:
        return item.key == self._cursor, line(item, self._columns, self._cells, self._now)

    def _under(self, is_cursor: bool) -> Style | None:
        if not is_cursor:
            return None
        name = "item-list--cursor" if self.has_focus else "item-list--cursor-blurred"
        return self.get_component_rich_style(name, partial=True)

    def _repaint_changed(self) -> None:
        for place in self.in_view:
            item = self._items[place]
            if self._drawn.get(item.key) != self._reads(item):
                self.refresh_line(place + self.HEADER)

    def _fit(self) -> bool:
        """Fit the columns to the items; return whether that changed them."""
        before, width = self._cells, self.scrollable_content_region.width
        self._cells = arrange(self._columns, self._items, self._now, width)
        return self._cells != before
