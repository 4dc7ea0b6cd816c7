"""What the tabs of a ticket's screen have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import Vertical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.widget import Widget

    from supervisor.core.model import TicketSnapshot
    from widgets.verb_footer import Hint


class Tab(Vertical):
    """One of several views of a ticket; only the one that is looked at is drawn.

    Whoever derives from it draws in `show`, which is called once a frame while the tab is looked at and something on
    the board changed, and must repaint only what reads differently.
    """

    DEFAULT_CSS = """
    Tab { height: 1fr; }
    """
    NAME: ClassVar[str]
    """As it stands on the line of tabs."""

    @property
    def count(self) -> str:
        """How many things it shows; empty where that is not known, or makes no sense."""
        return ""

    @property
    def has_news(self) -> bool:
        """Whether there is something to draw that no change on the board tells of."""
        return False

    @property
    def target(self) -> Widget:
        """What the keys go to."""
        raise NotImplementedError

    @property
    def hints(self) -> Sequence[Hint]:
        """Keys for the footer, before the verbs."""
        return ()

    @property
    def late_hints(self) -> Sequence[Hint]:
        """Keys for the footer that a narrow terminal does without."""
        return ()

    def show(self, ticket: TicketSnapshot, now: float) -> None:
        """Draw what there is to say of a ticket as of ``now``, seconds since the epoch."""
        raise NotImplementedError
