"""A page of facts to read and to copy. Facts that change are drawn where they stand, and the view stays put."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from widgets.labelled import Part, part_lines, plain
from widgets.lines_page import LinesPage

if TYPE_CHECKING:
    from collections.abc import Sequence


class FactsPage(LinesPage):
    """Facts under headings."""

    DEFAULT_CSS = """
    FactsPage { height: 1fr; overflow-y: scroll; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "scroll_pages(1)", "Page down", show=False),
        Binding("y", "copy", "Copy everything", show=False),
    ]

    def __init__(self, parts: Sequence[Part] = (), *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._parts = tuple(parts)
        self._layout = lambda width: part_lines(self._parts, width)

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Show these facts; draws again only if they read differently."""
        if tuple(parts) != self._parts:
            self._parts = tuple(parts)
            self._lay_out()

    def action_copy(self) -> None:
        """Copy all facts as plain text."""
        text = "\n\n".join(filter(None, (_plain_part(part) for part in self._parts)))
        self.app.copy_to_clipboard(text)
        count = text.count("\n") + 1
        self.notify(f"Copied {count} line{'s' if count > 1 else ''}.", markup=False, timeout=2)


def _plain_part(part: Part) -> str:
    words = plain(part.facts)
    return f"{part.heading}\n{words}" if part.heading and words else words
