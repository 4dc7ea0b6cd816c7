"""The card below a list: all there is to know of one effect, or of a ticket that waits for something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size

from widgets.cells import Cell, Tone, drawable
from widgets.effect_card_layout import card_rule, effect_lines, is_ticking, ticket_lines
from widgets.lines import LineView
from widgets.tones import tone_css
from widgets.transcript_layout import wrap

if TYPE_CHECKING:
    from textual.strip import Strip

    from widgets.effect_items import Item

HEADER = 1
"""The rule above the lines, which does not scroll."""


class EffectCard(LineView):
    """One effect in full. ``show`` draws again only what reads differently."""

    DEFAULT_CSS = """
    EffectCard { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; height: 1fr; }
    """ + tone_css("EffectCard")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_lines(1)", "Down", show=False),
        Binding("k,up", "scroll_lines(-1)", "Up", show=False),
        Binding("pagedown,ctrl+d", "scroll_pages(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "scroll_pages(-1)", "Page up", show=False),
        Binding("home", "scroll_lines(-100000)", "Top", show=False),
        Binding("end,G", "scroll_lines(100000)", "End", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._item: Item | None = None
        self._now = 0.0
        self._is_ours = False
        self._notice = ""
        self._empty = ""
        self._lines: list[Cell] = []
        self._laid_out: object = None

    def show(self, item: Item | None, now: float, *, is_ours: bool = False, notice: str = "", empty: str = "") -> None:
        """Show an item as of ``now``.

        Args:
            item: What to show; None shows ``empty``.
            now: Seconds since the epoch.
            is_ours: The effect was claimed by this very process.
            notice: Why the last decision was refused; untrusted text.
            empty: What to say where there is nothing.
        """
        is_other = item is None or self._item is None or item.key != self._item.key
        is_told = notice != self._notice
        self._item, self._now, self._is_ours, self._notice, self._empty = item, now, is_ours, notice, empty
        if self._lay_out() or is_other:
            self.refresh()
        if is_other or (is_told and notice):
            self.scroll_to(y=0, animate=False, force=True)

    def tick(self, now: float) -> None:
        """Let time pass."""
        view = self._item.effect if self._item is not None else None
        if view is not None and is_ticking(view):
            self.show(self._item, now, is_ours=self._is_ours, notice=self._notice, empty=self._empty)

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self._lay_out()
        self.refresh()

    def on_focus(self) -> None:
        """Show that keys scroll the card."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that keys go elsewhere."""
        self.refresh()

    def scroll_lines(self, by: int) -> None:
        """Scroll by lines."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, force=True)

    def action_scroll_lines(self, by: int) -> None:
        """Scroll by lines."""
        self.scroll_lines(by)

    def action_scroll_pages(self, by: int) -> None:
        """Scroll by pages."""
        self.scroll_lines(by * max(1, self.scrollable_content_region.height - HEADER - 1))

    def draw_line(self, y: int, width: int, top: int) -> Strip:
        """Draw the rule, which stays, or a line."""
        if y < HEADER:
            view = self._item.effect if self._item is not None else None
            ticket = self._item.ticket if self._item is not None else None
            return self.palette.line(card_rule(view, ticket, width, is_active=self.has_focus), width)
        place = y - HEADER + top
        line = self._lines[place] if place < len(self._lines) else ()
        return self.palette.line(((" ", Tone.PLAIN), *line), width)

    def _lay_out(self) -> bool:
        """Make the lines; return whether they read otherwise than before."""
        width = self.scrollable_content_region.width
        if width <= 0:
            return False
        item, now = self._item, self._now if self._ticks else 0.0
        what = (item.effect, item.ticket, item.pending) if item is not None else None
        shown = (what, now, self._is_ours, self._notice, self._empty, width)
        if shown == self._laid_out:
            return False
        before, self._lines = self._lines, self._made(max(8, width - 1))
        is_first, self._laid_out = self._laid_out is None, shown
        if len(before) != len(self._lines) or is_first:
            self.virtual_size = Size(width, len(self._lines) + HEADER)
        return is_first or before != self._lines

    @property
    def _ticks(self) -> bool:
        return self._item is not None and self._item.effect is not None and is_ticking(self._item.effect)

    def _made(self, width: int) -> list[Cell]:
        item = self._item
        notice: list[Cell] = [((line, Tone.BAD),) for line in _wrapped(self._notice, width)]
        if item is None:
            return [*notice, *(((line, Tone.MUTED),) for line in _wrapped(self._empty, width))]
        if item.pending:
            notice.append(((f"{item.pending} …", Tone.ACCENT),))
        if item.effect is not None:
            return notice + effect_lines(item.effect, self._now, width, is_ours=self._is_ours)
        return notice + (ticket_lines(item.ticket, width) if item.ticket is not None else [])


def _wrapped(text: str, width: int) -> list[str]:
    return wrap([drawable(text)], width) if text else []
