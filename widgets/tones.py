"""The tones as Textual component classes: one place says how loud each looks, in colour and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from widgets.cells import Cell, Piece, Tone, clip_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.style import Style
    from textual.widget import Widget

TONE_CLASSES = {f"tone--{tone.value}" for tone in Tone}
"""Add to a widget's ``COMPONENT_CLASSES``."""

_RULES = """
{w} .tone--muted {{ color: $text-muted; }}
{w} .tone--faint {{ color: $text-disabled; }}
{w} .tone--strong {{ text-style: bold; }}
{w} .tone--accent {{ color: $text-accent; }}
{w} .tone--warm {{ color: $text-warning; text-style: bold; }}
{w} .tone--bad {{ color: $text-error; text-style: bold; }}
{w} .tone--code {{ color: $accent-lighten-2; }}
{w} .tone--added {{ color: $success-darken-1; }}
{w} .tone--removed {{ color: $error-darken-1; }}
{w} .tone--match {{ color: $text-accent; text-style: underline; }}
{w} .tone--found {{ color: $text-accent; text-style: reverse; }}
"""


def tone_css(widget: str) -> str:
    """Return the rules for a widget's tones, to be added to its ``DEFAULT_CSS``."""
    return _RULES.format(w=widget)


class Palette:
    """A widget's styles by tone, looked up once. Replace it in ``notify_style_update``."""

    def __init__(self, widget: Widget) -> None:
        self.base: Style = widget.rich_style
        self._widget = widget
        self._styles: dict[str, Style] = {}

    def __getitem__(self, name: str) -> Style:
        """Return the style of a tone, or of a component class given by name, over the widget's own."""
        style = self._styles.get(name)
        if style is None:
            part = f"tone--{name}" if isinstance(name, Tone) else name
            style = self.base + self._widget.get_component_rich_style(part, partial=True)
            self._styles[name] = style
        return style

    def strip(self, pieces: Iterable[Piece], width: int, under: Style | None = None) -> Strip:
        """Return pieces as a strip of exactly ``width`` cells, on the background of ``under`` if given."""
        if under is None:
            segments = [Segment(text, self[tone]) for text, tone in pieces]
        else:
            segments = [Segment(text, self[tone] + under) for text, tone in pieces]
        taken = sum(cell_len(segment.text) for segment in segments)
        if taken < width:
            segments.append(Segment(" " * (width - taken), self.base if under is None else self.base + under))
        strip = Strip(segments, max(width, taken))
        return strip if taken <= width else strip.crop(0, width)

    def line(self, cell: Cell, width: int) -> Strip:
        """Return pieces as a strip, cut with an ellipsis where they do not fit."""
        return self.strip(clip_pieces(cell, width), width)
