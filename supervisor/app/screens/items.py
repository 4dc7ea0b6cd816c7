"""What the inbox and the ledger share: a list, the card of the selected item, and answers by digits in place."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.events import DescendantFocus
from textual.screen import Screen

from supervisor.app.answers import DIGITS, Answer, answer_for, offered
from supervisor.app.commands import APP_COMMANDS, ITEM_COMMANDS, answer_bindings, command_bindings
from supervisor.app.screens.decide import Decided, DecideScreen
from supervisor.engine.desk import Ruling
from supervisor.store.owner import this_process
from widgets.card_layout import Look
from widgets.cells import drawable
from widgets.item_card import ItemCard
from widgets.item_list import ItemList
from widgets.items import effect_key
from widgets.verb_footer import Hint, VerbFooter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from supervisor.app.docket import Docket
    from supervisor.app.ports import BatchPort
    from supervisor.core.effects import EffectView
    from supervisor.core.rulings import DecisionVerb
    from widgets.items import Column, Item
    from widgets.ticket_layout import Past
    from widgets.title_bar import TitleBar

    Offer = tuple[str, str, Callable[[], None]]
    """For the palette: a title, a sentence of help, and what it does."""

_ALWAYS: tuple[Hint, ...] = tuple(
    (c.shown, c.label) for c in (*ITEM_COMMANDS, *APP_COMMANDS) if c.name in ("close", "help")
)
_HINTS: tuple[Hint, ...] = tuple((c.shown, c.label) for c in ITEM_COMMANDS if c.in_footer)


class ItemsScreen(Screen[str | None]):
    """A list with a card below. Its result is the ticket to go to on the board, if any."""

    BINDINGS: ClassVar[list[BindingType]] = [*command_bindings(ITEM_COMMANDS), *answer_bindings(DIGITS)]
    EMPTY: ClassVar[str]
    """What to say where there is nothing."""
    COLUMNS: ClassVar[Sequence[Column]]

    def __init__(
        self, port: BatchPort, clock: Callable[[], float], docket: Docket, title: TitleBar, selected: str | None
    ) -> None:
        """Prepare the screen; ``selected`` is the key of the item to begin at."""
        super().__init__()
        self.port = port
        self._clock = clock
        self.docket = docket
        self._me = this_process()
        self._selected = selected
        self.title_bar = title
        self.items = ItemList(self.COLUMNS, id="items")
        self.card = ItemCard(id="card")
        self._answers, self._footer = VerbFooter(id="answers"), VerbFooter()

    def compose(self) -> ComposeResult:
        """Lay out the widgets; ``supervisor.tcss`` places them."""
        yield self.title_bar
        yield self.items
        yield self.card
        yield self._answers
        yield self._footer

    def on_mount(self) -> None:
        """Draw what is there already, and begin at the item that was asked for."""
        self.show()
        if self._selected is not None:
            self.items.select(self._selected)
        self.items.focus()

    # Drawing

    def listed(self) -> list[Item]:
        """Return the items of the list."""
        raise NotImplementedError

    @property
    def item(self) -> Item | None:
        """The item under the cursor."""
        return self.items.cursor_item

    @property
    def selected(self) -> EffectView | None:
        """The effect under the cursor."""
        return self.item.effect if self.item is not None else None

    def show(self) -> None:
        """Draw the board's items as they are: each widget repaints only what differs."""
        self.items.show(self.listed(), self._clock())
        self._show_selected()

    def tick(self) -> None:
        """Let time pass on ages and countdowns."""
        self.items.show(self.listed(), self._clock())
        self.card.tick(self._clock())

    def answers(self) -> Sequence[Hint]:
        """Return the keys that answer for the item under the cursor."""
        view = self.selected
        return [(a.digit, a.label) for a in offered(view)] if view is not None else []

    def hints(self) -> Sequence[Hint]:
        """Return the other keys that do something with it."""
        return _HINTS

    def past(self) -> Past | None:
        """Return what happened to the ticket under the cursor, as far as that is known."""
        return None

    def offers(self) -> list[Offer]:
        """Return what the palette can do for the item under the cursor."""
        view = self.selected
        if view is None:
            return []
        words = drawable(view.record.key)
        return [(f"{a.label} {words}", a.help, partial(self.action_answer, a.digit)) for a in offered(view)]

    def _show_selected(self) -> None:
        item, view = self.item, self.selected
        refusal = self.docket.refusal(item.key) if item is not None else None
        look = Look(
            self._clock(),
            is_ours=view is not None and view.record.owner == self._me,
            notice=f"not done: {refusal.text}" if refusal is not None else "",
            empty=self.EMPTY,
            past=self.past(),
        )
        self.card.show(item, look)
        self._answers.show(self.answers() if item is not None else (), ())
        self._footer.show(self.hints() if item is not None else (), _ALWAYS)

    @on(ItemList.Highlighted)
    def _selection_changed(self) -> None:
        self.show()

    @on(DescendantFocus)
    def _focus_changed(self) -> None:
        self.card.refresh()

    # Keys

    def action_open(self) -> None:
        """Go to the item's ticket on the board."""
        self.action_go()

    @on(ItemList.Opened)
    def _item_opened(self, event: ItemList.Opened) -> None:
        """Two clicks go to the ticket and never send anything."""
        if event.by_mouse:
            self.action_go()
        else:
            self.action_open()

    def action_go(self) -> None:
        """Go to the item's ticket on the board."""
        if self.item is not None and self.item.ticket_id in self.port.board:
            self.dismiss(self.item.ticket_id)

    def action_close(self) -> None:
        """Go back to the board."""
        self.dismiss(None)

    def action_switch_focus(self) -> None:
        """Go to the other one of list and card."""
        (self.card if self.items.has_focus else self.items).focus()

    def action_answer(self, key: str) -> None:
        """Answer for the selected effect; say why where that answer does not fit."""
        view = self.selected
        if view is None:
            return
        answer = answer_for(key, view)
        refusal = answer.refusal(view)
        if effect_key(view.record.key) in self.docket.pending:
            refusal = "the last answer is on its way"
        if refusal is not None:
            self.refuse(refusal)
        elif answer.verb is None:
            self.docket.probe(view.record.key, answer.label)
            self.show()
        elif answer.at_once:
            self._send(answer, view, answer.verb, Decided())
        else:
            self._ask(answer, view, answer.verb)

    def _ask(self, answer: Answer, view: EffectView, verb: DecisionVerb) -> None:
        refusal = self.docket.refusal(effect_key(view.record.key))
        sent = refusal.sent if refusal is not None else None
        words = Decided(sent.why, sent.evidence) if isinstance(sent, Ruling) else Decided()
        screen = DecideScreen(answer, view, self._clock(), words)
        self.app.push_screen(screen, partial(self._decided, answer, view, verb))

    def _decided(self, answer: Answer, view: EffectView, verb: DecisionVerb, decided: Decided | None) -> None:
        if decided is not None:
            self._send(answer, view, verb, decided)

    def _send(self, answer: Answer, view: EffectView, verb: DecisionVerb, decided: Decided) -> None:
        """Send the decision with the version that was on the screen when the key was pressed."""
        ruling = Ruling(
            view.record.key, verb, view.record.version, decided.why, decided.evidence, decided.outcome or None
        )
        self.docket.rule(ruling, answer.label, once_more=answer.once_more)
        self.show()

    def refuse(self, words: str) -> None:
        """Say why nothing was done; the words may hold anything."""
        self.notify(drawable(words), severity="warning", markup=False, timeout=4)
