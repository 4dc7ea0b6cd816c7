"""What our widgets share: they draw whole lines in their tones, from pieces, and nothing around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.scroll_view import ScrollView
from textual.widget import Widget

from widgets.cells import Cell, Tone
from widgets.tones import TONE_CLASSES, Palette

if TYPE_CHECKING:
    from textual import events
    from textual.geometry import Region
    from textual.strip import Strip

_WHEEL = 3
"""Lines a notch of the mouse wheel scrolls."""


def below_line(count: int) -> Cell:
    """Return the sign in a view's last line that so many lines are below it."""
    return ((f"  ↓ {count} more below", Tone.ACCENT),)


class _Toned(Widget):
    """Has a palette."""

    COMPONENT_CLASSES: ClassVar[set[str]] = TONE_CLASSES
    _palette: Palette | None = None

    @property
    def palette(self) -> Palette:
        """The styles by tone, looked up once for each theme."""
        if self._palette is None:
            self._palette = Palette(self)
        return self._palette

    def notify_style_update(self) -> None:
        """Forget the old colours."""
        super().notify_style_update()
        self._palette = None


class LineBar(_Toned):
    """A widget of one line, or a few, that never scrolls."""


class LineView(_Toned, ScrollView, can_focus=True):
    """A scrolling view that draws every cell of its lines itself.

    It has neither border nor padding nor opacity, so its lines need none of the work that Textual does for those, which
    is most of what painting a line costs.
    """

    ALLOW_SELECT = False

    def notify_style_update(self) -> None:
        """Forget the old colours, and what was drawn in them."""
        super().notify_style_update()
        self.forget_lines()

    def scroll_lines(self, by: int) -> None:
        """Scroll by so many lines, at once; a cursor stays where it is."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, force=True)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll as the keys do, without Textual's gliding: what is read should stand still."""
        event.stop().prevent_default()
        self.scroll_lines(_WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll as the keys do."""
        event.stop().prevent_default()
        self.scroll_lines(-_WHEEL)

    def forget_lines(self) -> None:
        """Draw every line anew when it is next shown."""

    def lay_out_lines(self, width: int) -> None:
        """Get ready to draw lines of that width."""

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Return line ``y`` of the view as a strip of ``width`` cells; ``top`` is how far the view is scrolled."""
        raise NotImplementedError

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw the lines of a region."""
        width, top = self.scrollable_content_region.width, self.scroll_offset.y
        self.lay_out_lines(width)
        filters, background = self.get_line_filters(), self.background_colors[1]
        first, last = crop.column_span
        strips = []
        for y in crop.line_range:
            strip = self.draw_line(y, width, top)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip if (first, last) == (0, width) else strip.crop(first, last))
        return strips
