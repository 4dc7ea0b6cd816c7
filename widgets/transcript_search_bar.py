"""The line below a transcript in which words to be looked for are typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static

from widgets.transcript_search import QUERY_CHARS

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult


class SearchBar(Horizontal):
    """A query, and how far the operator is in what it found."""

    DEFAULT_CSS = """
    SearchBar { height: 1; background: $panel; }
    SearchBar Static { width: auto; padding: 0 1; color: $text-accent; }
    SearchBar Input { width: 1fr; background: $panel; }
    SearchBar .search-bar--words { color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "End the search", show=False)]

    def __init__(self, typed: Callable[[str], None], entered: Callable[[], None], left: Callable[[], object]) -> None:
        """Make the bar.

        Args:
            typed: Called with the query whenever that changes.
            entered: Called when the operator goes on to the next find.
            left: Called when the search is to end.
        """
        super().__init__()
        self._typed, self._entered, self._left = typed, entered, left
        self._input = Input(compact=True, max_length=QUERY_CHARS, placeholder="find in the transcript")
        self._words = Static("", markup=False, classes="search-bar--words")

    def compose(self) -> ComposeResult:
        """Lay out the line."""
        yield Static("/", markup=False)
        yield self._input
        yield self._words

    def on_mount(self) -> None:
        """Let keys be typed into the query."""
        self._input.focus()

    def type_again(self) -> None:
        """Let keys be typed into the query, beginning with another one."""
        self._input.focus()
        self._input.select_all()

    def tell(self, words: str) -> None:
        """Say how far the operator is."""
        self._words.update(words and f"{words} · n N · esc")

    def action_leave(self) -> None:
        """End the search."""
        self._left()

    @on(Input.Changed)
    def _query_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._typed(event.value)

    @on(Input.Submitted)
    def _query_entered(self, event: Input.Submitted) -> None:
        event.stop()
        self._entered()
