"""A list of what waits, or of effects: one line each, drawn from frozen snapshots.

The cursor belongs to an item, not to a place: what comes, goes or moves above it leaves it where it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from widgets.cells import Piece, Tone
from widgets.items import Column, Item, arrange, header, line
from widgets.lines import LineView
from widgets.tones import TONE_CLASSES, tone_css

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual import events
    from textual.strip import Strip

HEADER = 1
"""Lines above the first row that do not scroll."""

_Drawn = tuple[bool, tuple[Piece, ...]]


class ItemList(LineView):
    """Items under one another, with a cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = TONE_CLASSES | {"item-list--cursor", "item-list--cursor-blurred"}
    DEFAULT_CSS = """
    ItemList { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; height: auto; }
    ItemList .item-list--cursor { background: $block-cursor-blurred-background; text-style: bold; }
    ItemList .item-list--cursor-blurred { background: $panel; }
    """ + tone_css("ItemList")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Next", show=False),
        Binding("k,up", "move(-1)", "Previous", show=False),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", show=False),
        Binding("home", "edge(0)", "First", show=False),
        Binding("end,G", "edge(-1)", "Last", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    class Highlighted(Message):
        """The cursor is on another item."""

    class Opened(Message):
        """Enter was pressed on an item, or it was clicked twice."""

        def __init__(self, *, by_mouse: bool = False) -> None:
            super().__init__()
            self.by_mouse = by_mouse

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
        before, place = [item.key for item in self._items], self._place()
        self._items, self._now = tuple(items), now
        self._places = {item.key: place for place, item in enumerate(self._items)}
        moved = before != list(self._places)
        if moved:
            self.virtual_size = Size(self.scrollable_content_region.width, len(self._items) + HEADER)
            if self._cursor not in self._places:
                self._cursor = self._items[min(place, len(self._items) - 1)].key if self._items else None
            self.call_after_refresh(self._reveal)
        if self._measure() or moved:
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
        self._reveal()
        self.post_message(self.Highlighted())

    # Keys and mouse

    def action_move(self, by: int) -> None:
        """Move the cursor by so many rows."""
        self._select_place(self._place() + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by so many pages."""
        self._select_place(self._place() + by * max(1, self._room - 1))

    def action_edge(self, place: int) -> None:
        """Move the cursor to the first row (0) or the last (-1)."""
        self._select_place(place % max(1, len(self._items)))

    def action_open(self) -> None:
        """Say that the item under the cursor is meant."""
        if self._cursor is not None:
            self.post_message(self.Opened())

    def on_click(self, event: events.Click) -> None:
        """Select the row under the pointer; a double click opens it."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y < HEADER:
            return
        place = offset.y - HEADER + self.scroll_offset.y
        if place < len(self._items):
            self.select(self._items[place].key)
            if event.chain == 2:
                self.post_message(self.Opened(by_mouse=True))

    def on_focus(self) -> None:
        """Show that keys move the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that keys go elsewhere."""
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self._measure()
        self._reveal()

    def scroll_lines(self, by: int) -> None:
        """Scroll, and leave the cursor where it is."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, force=True)

    # Drawing

    def forget_lines(self) -> None:
        """Draw every row anew when it is next shown."""
        self._drawn.clear()

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw the header, which stays, or a row."""
        if y < HEADER:
            return self.palette.strip([header(self._columns, self._cells)] if self._items else [], width)
        place = y - HEADER + top
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
        for place in self._visible():
            item = self._items[place]
            if self._drawn.get(item.key) != self._reads(item):
                self.refresh_line(place + HEADER)

    def _measure(self) -> bool:
        """Fit the columns to the items; return whether that changed them."""
        before, width = self._cells, self.scrollable_content_region.width
        self._cells = arrange(self._columns, self._items, self._now, width)
        return self._cells != before

    # Places

    @property
    def _room(self) -> int:
        """Rows that fit below the header."""
        return max(0, self.scrollable_content_region.height - HEADER)

    def _visible(self) -> range:
        top = self.scroll_offset.y
        return range(top, min(len(self._items), top + self._room))

    def _place(self) -> int:
        return self._places.get(self._cursor or "", 0)

    def _select_place(self, place: int) -> None:
        if self._items:
            self.select(self._items[max(0, min(place, len(self._items) - 1))].key)

    def _reveal(self) -> None:
        place, top, room = self._place(), self.scroll_offset.y, self._room
        if room and not top <= place < top + room:
            self.scroll_to(y=place if place < top else place - room + 1, animate=False, force=True)
