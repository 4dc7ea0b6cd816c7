"""A line of tabs, of which one is looked at; a click goes to another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.message import Message

from widgets.cells import Piece, Tone
from widgets.lines import LineBar
from widgets.tones import tone_css

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip

_LINK = "│"


class TabBar(LineBar):
    """Names of tabs beside each other; ``▸`` stands before the one that is looked at."""

    DEFAULT_CSS = """
    TabBar { height: 1; background: $boost; }
    """ + tone_css("TabBar")

    class Chosen(Message):
        """A tab was clicked on."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._names: tuple[str, ...] = ()
        self._place = 0

    def show(self, names: Sequence[str], place: int) -> None:
        """Show these names, safe to draw; ``place`` is the one that is looked at."""
        if (tuple(names), place) != (self._names, self._place):
            self._names, self._place = tuple(names), place
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Go to the tab under the pointer."""
        left = event.x
        for place, name in enumerate(self._names):
            left -= cell_len(name) + 2 + (len(_LINK) if place else 0)
            if left < 0:
                self.post_message(self.Chosen(place))
                return

    def render_line(self, y: int) -> Strip:
        """Draw the line."""
        pieces: list[Piece] = []
        for place, name in enumerate(self._names):
            is_here = place == self._place
            pieces.append((_LINK if place else "", Tone.FAINT))
            pieces.append(("▸" if is_here else " ", Tone.ACCENT))
            pieces.append((f"{name} ", Tone.STRONG if is_here else Tone.MUTED))
        return self.palette.line(tuple(pieces), self.size.width)
