"""The inbox: everything that waits for the operator, answered in place; what can be answered here comes first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from supervisor.app import ask_answers
from supervisor.app.answers import DIGITS as EFFECT_KEYS
from supervisor.app.commands import INBOX_COMMANDS, answer_bindings, command_bindings, verb_bindings
from supervisor.app.lookup import Lookup
from supervisor.app.own_keys import help_of
from supervisor.app.screens.asks import AskKeys
from supervisor.app.screens.items import ItemsScreen
from supervisor.app.waiting import in_order, item_again, waiting_items
from supervisor.core.errors import SupervisorError
from supervisor.core.verbs import BY_NAME
from widgets.cells import Tone, drawable
from widgets.items import INBOX
from widgets.ticket_layout import Past, Remedy, remedies
from widgets.title_bar import TitleBar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.binding import BindingType

    from supervisor.app.docket import Docket
    from supervisor.app.ports import BatchPort
    from supervisor.app.screens.items import Offer
    from supervisor.app.verb_dialogs import VerbDesk
    from supervisor.core.asks import Ask
    from supervisor.core.events import Event
    from supervisor.core.model import TicketSnapshot
    from widgets.items import Item
    from widgets.verb_footer import Hint

_NEXT_HINT: Hint = ("n", "next")
_QUESTION_HINTS: tuple[Hint, ...] = (("t", "ticket"), ("tab", "scroll the card"))


class InboxScreen(ItemsScreen):
    """What needs the operator. An item that was settled stays until the cursor leaves it, to be seen as it is now."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *command_bindings(INBOX_COMMANDS),
        *answer_bindings(ask_answers.KEYS),
        *verb_bindings(),
    ]
    EMPTY = (
        "Nothing needs you. What agents ask, effects to approve or to settle, and tickets that cannot go on will "
        "stand here."
    )
    COLUMNS = INBOX

    def __init__(
        self, port: BatchPort, clock: Callable[[], float], docket: Docket, desk: VerbDesk, selected: str | None = None
    ) -> None:
        """Prepare the inbox.

        Args:
            port: The batch.
            clock: Seconds since the epoch.
            docket: Where decisions go.
            desk: Where verbs go.
            selected: Key of the item to begin at.
        """
        super().__init__(port, clock, docket, TitleBar("NEEDS YOU", "answers first, oldest first"), selected)
        self._desk = desk
        self._asks = AskKeys(self)
        self._lookup: Lookup[tuple[Event, ...]] = Lookup(port, self._found)
        self._asked: object = None
        """The ticket, as it was, whose past was asked for last."""
        self._past: Past | None = None

    # Drawing

    def listed(self) -> list[Item]:
        """Return what waits, and the item under the cursor even if it does not any more."""
        items = waiting_items(self.port.board, self.docket)
        self.title_bar.show(len(items), Tone.WARM if items else Tone.MUTED)
        held = self.item
        if held is not None and all(item.key != held.key for item in items):
            items = in_order([*items, item_again(held, self.port.board, self.docket)])
        return items

    @property
    def ask(self) -> Ask | None:
        """The ask under the cursor."""
        return self.item.ask if self.item is not None else None

    @property
    def ticket(self) -> TicketSnapshot | None:
        """The ticket of the item under the cursor."""
        board = self.port.board
        return board[self.item.ticket_id] if self.item is not None and self.item.ticket_id in board else None

    def answers(self) -> Sequence[Hint]:
        """Return the digits, or for a ticket that waits for nothing that can be said here the verbs."""
        ask, ticket = self.ask, self.ticket
        if ask is not None:
            return ask_answers.hints(ask, self._asks.draft(ask))
        if self.selected is not None or ticket is None:
            return super().answers()
        return [(remedy.verb.key, remedy.label) for remedy in self._remedies()]

    def hints(self) -> Sequence[Hint]:
        """Return the other keys; enter belongs to a question that is being answered."""
        is_question = self.ask is not None and self._asks.draft(self.ask) is not None
        found = _QUESTION_HINTS if is_question else super().hints()
        return (_NEXT_HINT, *found) if any(i is not self.item and not i.is_over for i in self.items.items) else found

    def past(self) -> Past | None:
        """Return what happened to a ticket that waits for no answer; it is read anew when the ticket changed."""
        if self.item is not None and self.item.is_over:
            return self._past  # it goes on by now, and says something new all the time
        ticket = self.item.ticket if self.item is not None else None
        wanted = (ticket.id, ticket.attempts, ticket.state, ticket.detail) if ticket is not None else None
        if wanted != self._asked:
            self._asked, self._past = wanted, None
            if ticket is None:
                self._lookup.drop()
            else:
                ident = ticket.id
                self._lookup.ask(lambda reader: reader.events(ident))
        return self._past

    def on_unmount(self) -> None:
        """Want no answer any more."""
        self._lookup.drop()

    def _found(self, events: tuple[Event, ...] | SupervisorError) -> None:
        if not isinstance(events, SupervisorError):
            self._past = Past.of(events)
            self.show()

    def offers(self) -> list[Offer]:
        """Return what the palette can do for the item under the cursor."""
        ask, ticket = self.ask, self.ticket
        found = super().offers()
        if ask is not None:
            words = drawable(f"{ask.ticket}: {ask.detail}")
            replies = ask_answers.offered_replies(ask)
            found = [(f"{r.label} {words}", r.help, partial(self.action_answer, r.key)) for r in replies]
            if self._asks.draft(ask) is not None:
                found.append((f"own words {words}", "Answer in your own words.", self.action_write))
        if ticket is not None:
            verbs = [verb for verb in BY_NAME.values() if verb.applies(ticket)]
            words = drawable(ticket.id)
            found += [(f"{v.label} {words}", help_of(v, self.app), partial(self.action_verb, v.name)) for v in verbs]
        return found

    # Keys

    def action_answer(self, key: str) -> None:
        """Answer for the selected item; say why where the key answers nothing."""
        if self.ask is not None:
            self._asks.press(self.ask, key)
        elif self.selected is not None and key in EFFECT_KEYS:
            super().action_answer(key)
        elif self.item is not None and self.selected is None:
            self.refuse("this ticket takes no digits: its keys stand below the card, and enter goes there")

    def action_open(self) -> None:
        """Go on with a question that is being answered; else go to the ticket."""
        if self.ask is not None and self._asks.draft(self.ask) is not None:
            self._asks.step(self.ask)
        else:
            self.action_go()

    def action_write(self) -> None:
        """Answer a question in the operator's own words."""
        if self.ask is not None:
            self._asks.write(self.ask)

    def action_question_back(self) -> None:
        """Go back to the question before."""
        if self.ask is not None:
            self._asks.back(self.ask)

    def action_next(self) -> None:
        """Go to the next item that waits and has no answer on its way, round and round."""
        items = self.items.items
        here = next((place for place, item in enumerate(items) if item is self.item), -1)
        found = next((i for i in (*items[here + 1 :], *items[: here + 1]) if not i.is_over and not i.pending), None)
        if found is None:
            self.notify("Nothing else needs you.", markup=False, timeout=3)
        else:
            self.items.select(found.key)

    def action_verb(self, name: str) -> None:
        """Give a verb to the item's ticket, or to the one that blocks it; say why where it does not apply."""
        target = next((remedy.ticket for remedy in self._remedies() if remedy.verb.name == name), self.ticket)
        if target is not None:
            self._desk.give(self, BY_NAME[name], [target])
            self.show()

    def _remedies(self) -> Sequence[Remedy]:
        item, ticket = self.item, self.ticket
        return remedies(ticket, item.blocker) if item is not None and ticket is not None and not item.is_over else ()
