"""One ticket's conversation, with what the operator can do to read it: fold, find, copy, and leave it to a pager."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget

from widgets.transcript_finder import Finder
from widgets.transcript_plain import plain, plain_transcript
from widgets.transcript_scroll import TranscriptScroll
from widgets.transcript_search_bar import SearchBar

if TYPE_CHECKING:
    from textual import events

    from supervisor.core.model import Entry
    from supervisor.core.transcript import Transcript
    from widgets.cells import Cell
    from widgets.transcript_items import Item
    from widgets.transcript_rows import Row
    from widgets.transcript_search import Find

_SEARCHING = frozenset({"step", "end_search"})
"""Actions that are there only while a search is."""


class TranscriptView(TranscriptScroll):
    """What the agent of one ticket says and does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", show=False),
        Binding("k,up", "move(-1)", "Up", show=False),
        Binding("J", "move_entry(1)", "Next entry", show=False),
        Binding("K", "move_entry(-1)", "Previous entry", show=False),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", show=False),
        Binding("home", "top", "Oldest", show=False),
        Binding("end,G", "follow", "Newest, and follow", show=False),
        Binding("enter", "enter", "Fold or unfold; while searching, the next find", show=False),
        Binding("o", "fold_all", "Unfold or fold all", show=False),
        Binding("slash", "search", "Search", show=False),
        Binding("n", "step(1)", "Next find", show=False),
        Binding("N", "step(-1)", "Previous find", show=False),
        Binding("escape", "end_search", "End the search", show=False),
        Binding("y", "copy", "Copy the entry", show=False),
        Binding("v", "read", "Read all in the pager", show=False),
    ]

    class ReadingWanted(Message):
        """The operator wants to read the transcript in a program that is made for it."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text
            """All that is in memory, as plain text that controls no terminal."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._finder: Finder | None = None
        self._bar: SearchBar | None = None

    def show(
        self, ticket_id: str | None, source: Transcript | None, empty: str = "", waiting: tuple[Entry, ...] = ()
    ) -> None:
        """Show what a ticket's transcript holds now; see `TranscriptScroll.show`."""
        before = (self._lines.next_seq, self._lines.waiting)
        super().show(ticket_id, source, empty, waiting)
        if self._finder is not None and (self._lines.next_seq, self._lines.waiting) != before:
            self._finder.look_again(self._lines)
            self._tell_finds()

    def begin(self, ticket_id: str | None) -> None:
        """Forget the ticket shown, and begin with another; a search ends."""
        if self._finder is not None:
            self.action_end_search()
        super().begin(ticket_id)

    # Folding

    def action_enter(self) -> None:
        """Fold or unfold the entry under the cursor; while searching go to the next find."""
        if self._finder is not None:
            self.action_step(1)
        elif self.here is not None:
            self._fold(self.here[0])

    def action_fold_all(self) -> None:
        """Unfold everything, or leave only those unfolded that always are."""
        self.lay_again(lambda: self._lines.fold_all(not self._lines.all_open))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor under the pointer; on an entry's first row, and anywhere on a folded one, turn it over."""
        offset = event.get_content_offset(self)
        at = self._lines.at(offset.y + self.scroll_offset.y) if offset is not None else None
        if offset is None or at is None:
            return
        if self.unseen and offset.y == self._height - 1:
            self.action_follow()
        elif at[1] == 0 or not self._lines.is_open(at[0]):
            self._fold(at[0])
        else:
            self.show_row(*at)

    def _fold(self, item: Item) -> None:
        """Turn an item over and show as much of it as fits; the view then holds it."""
        self._cursor = (item, 0)
        self.change(partial(self._lines.fold, item, not self._lines.is_open(item)))
        self.show_row(item, min(len(item.rows or ()), self._height) - 1)
        self.show_row(item, 0)

    # Taking it elsewhere

    def action_copy(self) -> None:
        """Copy the entry under the cursor as plain text."""
        if self.here is None:
            return
        text = plain(self.here[0].entry, self.here[0].result)
        self.app.copy_to_clipboard(text)
        count = text.count("\n") + 1
        self.notify(f"Copied {count} line{'s' if count > 1 else ''}.", markup=False, timeout=2)

    def action_read(self) -> None:
        """Ask for everything to be shown in a pager."""
        if self._lines.items:
            self.post_message(self.ReadingWanted(plain_transcript((i.entry, i.result) for i in self._lines.items)))

    # Searching

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys of a search to others while there is none."""
        return self._finder is not None if action in _SEARCHING else super().check_action(action, parameters)

    async def action_search(self) -> None:
        """Begin a search, or change its words."""
        if self._bar is not None:
            self._bar.type_again()
            return
        assert isinstance(self.parent, Widget)
        self._finder = Finder()
        self._bar = SearchBar(partial(self._look_for, self.here), self._entered, self.action_end_search)
        await self.parent.mount(self._bar, after=self)

    def action_step(self, by: int) -> None:
        """Go to the next find, or to the one before."""
        if self._finder is not None:
            self._show_find(self._finder.step(by, self._lines, self.here))

    def action_end_search(self) -> None:
        """End the search and stay where it led."""
        self._finder, bar, self._bar = None, self._bar, None
        self._strips.clear()
        self.refresh()
        if bar is not None:
            if bar.has_focus_within:
                self.focus()
            bar.remove()

    def mark(self, item: Item, row: int) -> Cell:
        """Return a row, with what was found in it marked."""
        return self._finder.mark(item, row) if self._finder is not None else super().mark(item, row)

    def _look_for(self, near: Row | None, query: str) -> None:
        if self._finder is not None:
            self._show_find(self._finder.look_for(query, self._lines, near))

    def _entered(self) -> None:
        """The first find is shown since its words were typed, so it is the one to begin with."""
        self.focus()

    def _show_find(self, find: Find | None) -> None:
        self._strips.clear()
        self.refresh()
        self._tell_finds()
        if find is not None:
            if find.row and not self._lines.is_open(find.item):
                self.change(partial(self._lines.fold, find.item, True))
            self.show_row(find.item, find.row)

    def _tell_finds(self) -> None:
        if self._bar is not None and self._finder is not None:
            self._bar.tell(self._finder.words)
