"""The last line: the keys that do something to the selected ticket, and the ones that always work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from widgets.cells import Cell, Piece, Tone, clip_pieces
from widgets.lines import LineBar
from widgets.tones import tone_css

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.strip import Strip

Hint = tuple[str, str]
"""A key as it is written, and one word for what it does."""


def hints_line(first: Sequence[Hint], last: Sequence[Hint], width: int) -> Cell:
    """Return hints from left to right; ``last`` is never left out as long as it fits at all."""
    fixed = [piece for hint in last for piece in _pieces(hint)]
    room = width - sum(cell_len(text) for text, _ in fixed)
    pieces: list[Piece] = []
    for hint in first:
        more = _pieces(hint)
        room -= sum(cell_len(text) for text, _ in more)
        if room < 0:
            break
        pieces += more
    return clip_pieces((*pieces, *fixed), width)


def _pieces(hint: Hint) -> list[Piece]:
    key, label = hint
    return [(key, Tone.ACCENT), (f" {label}  ", Tone.MUTED)]


class VerbFooter(LineBar):
    """Which keys to press.

    Hints are written with the keys as they are delivered. Where the app has ``own_hints``, by such a hint without the
    number at the end of its label, the operator's own key is drawn instead.
    """

    DEFAULT_CSS = """
    VerbFooter { height: 1; padding: 0 1; dock: bottom; }
    """ + tone_css("VerbFooter")

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._first: tuple[Hint, ...] = ()
        self._last: tuple[Hint, ...] = ()

    def show(self, first: Sequence[Hint], last: Sequence[Hint]) -> None:
        """Show these hints; the ones in ``last`` stay at the end in every width."""
        if (tuple(first), tuple(last)) != (self._first, self._last):
            self._first, self._last = tuple(first), tuple(last)
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the hints."""
        width = self.content_size.width
        return self.palette.line(hints_line(self._owned(self._first), self._owned(self._last), width), width)

    def _owned(self, hints: Sequence[Hint]) -> Sequence[Hint]:
        own: Mapping[Hint, str] = getattr(self.app, "own_hints", {})
        return [(own.get((key, label.rstrip(" 0123456789")), key), label) for key, label in hints] if own else hints
