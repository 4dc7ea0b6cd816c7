"""What the inbox and the ledger share: a list, the card of the selected item, and answers by digits in place."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.events import DescendantFocus
from textual.screen import Screen

from supervisor.app.answers import Answer, answer_for, offered
from supervisor.app.commands import APP_COMMANDS, EFFECT_COMMANDS, answer_bindings, command_bindings
from supervisor.app.screens.decide import Decided, DecideScreen
from supervisor.engine.desk import Ruling
from supervisor.store.owner import this_process
from widgets.cells import drawable
from widgets.effect_card import EffectCard
from widgets.effect_list import EffectList
from widgets.verb_footer import Hint, VerbFooter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from supervisor.app.docket import Docket
    from supervisor.app.ports import BatchPort
    from supervisor.core.effects import EffectView
    from supervisor.core.rulings import DecisionVerb
    from widgets.effect_items import Column, Item
    from widgets.title_bar import TitleBar

_ALWAYS: tuple[Hint, ...] = tuple(
    (c.shown, c.label) for c in (*EFFECT_COMMANDS, *APP_COMMANDS) if c.name in ("close", "help")
)
_HINTS: tuple[Hint, ...] = tuple((c.shown, c.label) for c in EFFECT_COMMANDS if c.in_footer)


class EffectsScreen(Screen[str | None]):
    """A list with a card below. Its result is the ticket to go to on the board, if any."""

    BINDINGS: ClassVar[list[BindingType]] = [*command_bindings(EFFECT_COMMANDS), *answer_bindings()]
    EMPTY: ClassVar[str]
    """What to say where there is nothing."""
    COLUMNS: ClassVar[Sequence[Column]]

    def __init__(
        self, port: BatchPort, clock: Callable[[], float], docket: Docket, title: TitleBar, selected: str | None
    ) -> None:
        super().__init__()
        self.port = port
        self._clock = clock
        self.docket = docket
        self._me = this_process()
        self._selected = selected
        self.title_bar = title
        self.items = EffectList(self.COLUMNS, id="effects")
        self.card = EffectCard(id="card")
        self._answers, self._footer = VerbFooter(id="answers"), VerbFooter()

    def compose(self) -> ComposeResult:
        """Lay out the widgets; ``supervisor.tcss`` places them."""
        yield self.title_bar
        yield self.items
        yield self.card
        yield self._answers
        yield self._footer

    def on_mount(self) -> None:
        """Draw what is there already, and begin at the effect that was asked for."""
        self.show()
        if self._selected is not None:
            self.items.select(f"effect {self._selected}")
        self.items.focus()

    # Drawing

    def listed(self) -> list[Item]:
        """Return the items of the list."""
        raise NotImplementedError

    @property
    def selected(self) -> EffectView | None:
        """The effect under the cursor."""
        item = self.items.cursor_item
        return item.effect if item is not None else None

    def show(self) -> None:
        """Draw the board's effects as they are: each widget repaints only what differs."""
        self.items.show(self.listed(), self._clock())
        self._show_selected()

    def tick(self) -> None:
        """Let time pass on ages and countdowns."""
        self.items.show(self.listed(), self._clock())
        self.card.tick(self._clock())

    def _show_selected(self) -> None:
        item, view = self.items.cursor_item, self.selected
        refusal = self.docket.refusal(view.record.key) if view is not None else None
        self.card.show(
            item,
            self._clock(),
            is_ours=view is not None and view.record.owner == self._me,
            notice=f"not done: {refusal.text}" if refusal is not None else "",
            empty=self.EMPTY,
        )
        self._answers.show([(a.digit, a.label) for a in offered(view)] if view is not None else [], ())
        self._footer.show(_HINTS if item is not None else (), _ALWAYS)

    @on(EffectList.Highlighted)
    def _selection_changed(self) -> None:
        self.show()

    @on(DescendantFocus)
    def _focus_changed(self) -> None:
        self.card.refresh()

    # Keys

    @on(EffectList.Opened)
    def action_open(self) -> None:
        """Go to the item's ticket on the board."""
        item = self.items.cursor_item
        if item is not None and item.ticket_id in self.port.board:
            self.dismiss(item.ticket_id)

    def action_close(self) -> None:
        """Go back to the board."""
        self.dismiss(None)

    def action_switch_focus(self) -> None:
        """Go to the other one of list and card."""
        (self.card if self.items.has_focus else self.items).focus()

    def action_answer(self, digit: str) -> None:
        """Answer for the selected effect; say why where that answer does not fit."""
        view = self.selected
        if view is None:
            self._refuse("only effects are answered here: enter goes to the ticket")
            return
        answer = answer_for(digit, view)
        refusal = answer.refusal(view)
        if view.record.key in self.docket.pending:
            refusal = "the last answer is on its way"
        if refusal is not None:
            self._refuse(refusal)
        elif answer.verb is None:
            self.docket.probe(view.record.key, answer.label)
            self.show()
        elif answer.at_once:
            self._send(answer, view, answer.verb, Decided())
        else:
            self._ask(answer, view, answer.verb)

    def _ask(self, answer: Answer, view: EffectView, verb: DecisionVerb) -> None:
        refusal = self.docket.refusal(view.record.key)
        before = refusal.ruling if refusal is not None and refusal.ruling is not None else None
        words = Decided(before.why, before.evidence) if before is not None else Decided()
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

    def _refuse(self, words: str) -> None:
        self.notify(drawable(words), severity="warning", markup=False, timeout=4)
