"""What became of verbs after they were accepted: kept until the next frame tells it. Listens, and never awaits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from supervisor.core import events as ev
from supervisor.core.verbs import FORK
from widgets.cells import drawable

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.core.board import Board
    from supervisor.core.model import TicketSnapshot


@dataclass(frozen=True, slots=True)
class News:
    """One thing to tell."""

    words: str
    """Safe to draw."""
    is_refusal: bool = False


class VerbNews:
    """What verbs came to. Events may come in any task of the loop, so they only leave a mark."""

    def __init__(self, board: Board) -> None:
        """Listen to a board from now on."""
        self._untold: list[News] = []
        self._forks: set[str] = set()
        """Letters of forks that are on their way."""
        self._children: list[tuple[str, str]] = []
        self._undoable: set[str] = set()
        self._takes: dict[type[ev.Event], Callable[[Any], None]] = {
            ev.LettersClosed: self._closed,
            ev.LetterPosted: self._posted,
            ev.Forked: self._forked,
            ev.FilesRewound: self._taken_back,
            ev.StartedOver: self._taken_back,
            ev.PromptStored: self._worked_on,
        }
        self.stop: Callable[[], None] = board.listen(self._on_event)
        """Listens no more."""

    def untold(self) -> list[News]:
        """Return what came since the last call."""
        told, self._untold = self._untold, []
        return told

    def born(self) -> list[tuple[str, str]]:
        """Return the forks that came to be since the last call: parent and child."""
        told, self._children = self._children, []
        return told

    def can_undo(self, ticket: str) -> bool:
        """Return whether this run has seen the ticket's files taken back, and no prompt since."""
        return ticket in self._undoable

    def _on_event(self, event: ev.Event, _: TicketSnapshot, __: TicketSnapshot) -> None:
        take = self._takes.get(type(event))
        if take is not None:
            take(event)

    def _posted(self, event: ev.LetterPosted) -> None:
        if event.verb == FORK.name:
            self._forks.add(event.id)

    def _forked(self, event: ev.Forked) -> None:
        if event.fork.letter in self._forks:
            self._forks.discard(event.fork.letter)
            self._children.append((event.fork.parent, event.fork.child))

    def _taken_back(self, event: ev.Event) -> None:
        self._undoable.add(event.ticket)

    def _worked_on(self, event: ev.Event) -> None:
        self._undoable.discard(event.ticket)

    def _closed(self, event: ev.LettersClosed) -> None:
        self._forks.difference_update(event.letters)
        if event.says:
            words = event.says if event.ticket in event.says else f"{event.ticket}: {event.says}"
            self._untold.append(News(drawable(words), event.refused))
