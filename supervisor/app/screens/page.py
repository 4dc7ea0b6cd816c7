"""A page of facts on the whole screen: read, scrolled and copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen

from widgets.cells import Tone
from widgets.facts_page import FactsPage
from widgets.verb_footer import Hint, VerbFooter
from widgets.words_line import WordsLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from widgets.labelled import Part

_HINTS: tuple[Hint, ...] = (("j k", "scroll"), ("y", "copy"))
_BACK: tuple[Hint, ...] = (("esc", "back"), ("?", "help"))


class PageScreen(Screen[None]):
    """Shows facts until the operator goes back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter", "close", "Back", show=False)]

    def __init__(self, title: str, parts: Sequence[Part]) -> None:
        """Prepare the page; the title must be safe to draw."""
        super().__init__()
        self._title = title
        self._head, self.page, self._footer = WordsLine(id="page-title"), FactsPage(parts), VerbFooter()

    def compose(self) -> ComposeResult:
        """Lay out title, page and keys."""
        yield self._head
        yield self.page
        yield self._footer

    def on_mount(self) -> None:
        """Draw it."""
        self._head.show(((self._title, Tone.STRONG),))
        self._footer.show(_HINTS, _BACK)
        self.page.focus()

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)
