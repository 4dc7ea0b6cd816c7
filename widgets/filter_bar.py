"""The line above the table: the filter as it is typed, and how much of the batch is listed in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Static

from supervisor.core.ordering import Group, Sort
from supervisor.core.query import EVERYTHING, Filter, Unclear, parse
from widgets.cells import Cell, Piece, Tone, drawable
from widgets.lines import LineBar
from widgets.tones import tone_css
from widgets.words_input import WordsInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult
    from textual.strip import Strip
    from textual.widget import Widget

MAX_CHARS = 200
"""Longest filter."""


def status(listed: int, total: int, only: Filter, sort: Sort, group: Group) -> Cell:
    """Return the words for what is listed, such as ``12 of 500  by cost  grouped by state``."""
    pieces: list[Piece] = [(f"{listed} of {total}" if only else f"{total} tickets", Tone.STRONG)]
    if sort is not Sort.FILE:
        pieces.append((f"  by {sort.value}", Tone.PLAIN))
    if group is not Group.NONE:
        pieces.append((f"  grouped by {group.value}", Tone.MUTED))
    return tuple(pieces)


class FilterLine(WordsInput):
    """Where the filter is typed. It tells at once, by calls: the next key may act on what the filter leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,down", "leave(True)", "Keep", show=False),
        Binding("escape", "leave(False)", "Clear", show=False),
    ]

    def __init__(self, typed: Callable[[], None], left: Callable[[bool], None]) -> None:
        super().__init__(max_length=MAX_CHARS, compact=True, select_on_focus=False)
        self._typed, self._left = typed, left

    def watch_value(self) -> None:
        """Tell what is written now."""
        self._typed()

    def action_leave(self, keeps: bool) -> None:
        """Keep what is written, or clear it, and go."""
        self._left(keeps)


class FilterStatus(LineBar):
    """How much is listed, or what is wrong with the filter."""

    DEFAULT_CSS = tone_css("FilterStatus")

    def __init__(self) -> None:
        super().__init__()
        self._words: Cell = ()

    def show(self, words: Cell) -> None:
        """Show these words."""
        if words != self._words:
            self._words = words
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw them."""
        return self.palette.line(self._words, self.content_size.width)


class FilterBar(Horizontal):
    """Takes the filter. Hidden as long as everything is listed in the file's order and nothing is typed."""

    DEFAULT_CSS = """
    FilterBar { height: 1; padding: 0 1; display: none; }
    FilterBar.-shown { display: block; }
    FilterBar Static { width: 2; color: $text-accent; }
    FilterBar Input { width: 1fr; max-width: 60; margin-right: 2; background: $background; }
    FilterBar Input:focus { background: $panel; background-tint: $foreground 0%; }
    FilterBar FilterStatus { width: 1fr; height: 1; }
    FilterBar.-empty Static, FilterBar.-empty Input { display: none; }
    """

    def __init__(self, home: Widget, changed: Callable[[Filter], None], *, id: str | None = None) -> None:  # noqa: A002
        """Prepare the bar.

        Args:
            home: Where the keys go when the filter is finished.
            changed: Called with every new filter while it is typed. A call and not a message, since a key that was
                pressed meanwhile must find the table filtered already.
        """
        super().__init__(id=id)
        self._home, self._changed = home, changed
        self._line, self._status = FilterLine(self._take, self._leave), FilterStatus()
        self._words: Cell = ()
        self._is_plain = True
        self._fault: Unclear | None = None
        self.filter = EVERYTHING
        """The last filter that made sense."""

    def compose(self) -> ComposeResult:
        """Lay out the sign, the line and the words behind it."""
        yield Static("/", markup=False)
        yield self._line
        yield self._status

    @property
    def is_editing(self) -> bool:
        """Whether keys are text."""
        return self.is_attached and self.screen.focused is self._line

    def edit(self) -> None:
        """Take keys as text from the next one on."""
        self.add_class("-shown").remove_class("-empty")
        self.screen.set_focus(self._line)

    def clear(self) -> None:
        """Filter no more."""
        self._line.value = ""

    def show(self, words: Cell, *, is_plain: bool) -> None:
        """Say what is listed.

        Args:
            words: From `status`.
            is_plain: There is nothing to say: everything is listed in the file's order.
        """
        self._words, self._is_plain = words, is_plain
        self.set_class(not is_plain or self.is_editing, "-shown")
        self.set_class(not self._line.value and not self.is_editing, "-empty")
        self._status.show(words if self._fault is None else ((drawable(self._fault.message), Tone.BAD),))

    def on_descendant_blur(self, _: events.DescendantBlur) -> None:
        """Whoever leaves a filter that makes no sense gets the last one back that did."""
        if self.app.app_focus and not self.is_editing and self._fault is not None:  # not when the terminal is left
            self._line.value = self.filter.text

    def _take(self) -> None:
        read = parse(self._line.value)
        self._fault = read if isinstance(read, Unclear) else None
        found = read if isinstance(read, Filter) else self._without_name()
        if found != self.filter:
            self.filter = found
            self._changed(found)
        else:
            self.show(self._words, is_plain=self._is_plain)

    def _without_name(self) -> Filter:
        """Return the last filter that made sense, without a word in it that turned out to be the name of a field."""
        name = self.filter.text
        if name and self._line.value.lstrip().startswith(f"{name}:"):
            read = parse(name.rpartition(" ")[0])
            return read if isinstance(read, Filter) else self.filter
        return self.filter

    def _leave(self, keeps: bool) -> None:
        if not keeps:
            self.clear()
        elif self._fault is not None:
            return
        self.screen.set_focus(self._home)
