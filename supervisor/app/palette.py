"""What ctrl+p offers: verbs for the selected ticket, the other keys, and every ticket by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from supervisor.app.commands import APP_COMMANDS, BOARD_COMMANDS, TICKET_COMMANDS, TIMELINE_COMMANDS, Command
from supervisor.app.own_keys import help_of
from supervisor.app.screens.board import BoardScreen
from supervisor.app.screens.items import ItemsScreen
from supervisor.app.screens.ticket import TicketScreen
from supervisor.app.screens.timeline import TimelineScreen
from widgets.cells import drawable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_THEMES = "Choose other colours, from now on; one of them is high-contrast."
_TABLES = (
    (BoardScreen, BOARD_COMMANDS),
    (TicketScreen, TICKET_COMMANDS),
    (TimelineScreen, TIMELINE_COMMANDS),
)
"""The keys of each screen."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A line of the palette. ``title`` may hold anything; it is shown as it is, never as markup."""

    title: str
    help: str
    run: Callable[[], None]


class SuperviseCommands(Provider):
    """Everything that can be done from here."""

    async def discover(self) -> Hits:
        """Offer what can be done now, before anything is typed."""
        for offer in self._commands():
            yield DiscoveryHit(Content(offer.title), offer.run, text=offer.title, help=offer.help)

    async def search(self, query: str) -> Hits:
        """Offer what matches, tickets included."""
        matcher = self.matcher(query)
        for offer in (*self._commands(), *self._tickets()):
            score = matcher.match(offer.title)
            if score > 0:
                yield Hit(score, Content(offer.title), offer.run, text=offer.title, help=offer.help)

    def _commands(self) -> Iterator[Offer]:
        if isinstance(self.screen, BoardScreen):
            for verb, words in self.screen.offered_verbs():
                told = help_of(verb, self.app)
                yield Offer(f"{verb.label} {words}", told, partial(self.screen.action_verb, verb.name))
        if isinstance(self.screen, ItemsScreen | TicketScreen):
            for title, words, run in self.screen.offers():
                yield Offer(title, words, run)
        for screen, commands in _TABLES:
            if isinstance(self.screen, screen):
                for command in commands:
                    yield self._offer(command, self.screen.run_action)
        for command in APP_COMMANDS:
            if command.name != "palette":
                yield self._offer(command, self.app.run_action)
        if not self.app.no_color:
            yield Offer("change theme", _THEMES, partial(self._later, self.app.run_action, "change_theme"))

    def _offer(self, command: Command, run: Callable[[str], object]) -> Offer:
        return Offer(command.label, help_of(command, self.app), partial(self._later, run, command.action))

    def _later(self, run: Callable[[str], object], action: str) -> None:
        self.app.call_later(run, action)

    def _tickets(self) -> Iterator[Offer]:
        if isinstance(self.screen, BoardScreen):
            for ticket in self.screen.port.board.rows():
                words = f"go to {drawable(ticket.id)}  {drawable(ticket.title)}".rstrip()
                yield Offer(words, "", partial(self.screen.go_to, ticket.id))
