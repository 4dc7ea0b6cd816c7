"""The fork dialog: where the conversation is cut, which files the child begins with, what it is told and may spend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual import on
from textual.widgets import Input, Static, TextArea

from supervisor.app.limits import reserve_of, told_limits, turns_words
from supervisor.app.lookup import Lookup
from supervisor.app.orders import Order, whom
from supervisor.app.screens.dialog import (
    VerbDialog,
    button,
    buttons,
    columns,
    field,
    frame,
    heading,
    keys,
    title,
)
from supervisor.app.stays import staying
from supervisor.core.errors import SupervisorError
from supervisor.core.verb_args import BadArgs
from supervisor.core.verbs import FORK
from widgets.cells import Cell, Tone, drawable
from widgets.choice_bar import ChoiceBar
from widgets.formatting import money
from widgets.pick_list import PickList, PickRow
from widgets.rewind_words import CUTS, cut_cell, effects_words
from widgets.words_area import WordsArea
from widgets.words_input import WordsInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from supervisor.app.ports import BatchPort
    from supervisor.core.cuts import Cut
    from supervisor.core.model import TicketSnapshot
    from supervisor.core.rewinds import Checkpoint

_NOW = ""
"""The place that stands for the end of the conversation, as the verb takes it."""
_NOW_ROW = PickRow(_NOW, (("   now  ", Tone.ACCENT), ("as it stands", Tone.PLAIN)))
_FILES = [("now", "as now"), ("then", "as of then")]
_READING: Cell = (("reading …", Tone.MUTED),)


class ForkScreen(VerbDialog):
    """Begins another ticket from this one, which goes on by itself."""

    def __init__(
        self, port: BatchPort, tickets: Sequence[str], note: str = "", *, before: Checkpoint | None = None
    ) -> None:
        """Prepare the dialog; it begins at the place before a prompt if one is given."""
        super().__init__(port, tickets, note)
        self._before = before
        self._place: str | None = None
        """The place that the other fields follow."""
        self._cuts: dict[str, Cut] = {}
        self._list, self._files = PickList(id="cuts"), ChoiceBar(_FILES, id="files")
        self.area = WordsArea(id="prompt", placeholder="what the child is to do")
        parent = self.targets[0]
        self._title = WordsInput(id="name", compact=True, placeholder="the prompt's first line")
        self._budget = WordsInput(id="budget", compact=True, placeholder=_inherited(parent))
        self._turns = WordsInput(id="turns", compact=True, placeholder=turns_words(parent.max_turns))
        self._words, self._cost = Static("", id="said", markup=False), Static("", classes="outcome", markup=False)
        self._read_cuts: Lookup[tuple[Cut, ...]] = Lookup(port, self._cuts_came)

    def compose(self) -> ComposeResult:
        """Lay out the places on the left and the child on the right."""
        yield frame(
            title(f"Fork {whom(self.tickets)}: another ticket that begins here, while this one goes on"),
            self._note,
            columns(
                (heading(CUTS), self._list, self._words),
                (
                    field("files", self._files),
                    heading("prompt"),
                    self.area,
                    field("title", self._title),
                    field("budget", self._budget),
                    field("turns", self._turns),
                ),
            ),
            self._missing,
            self._cost,
            buttons(button("fork  ctrl+s", "confirm"), button("leave", "leave")),
            keys("tab  next   shift+tab  back, or from where   ctrl+s  fork   esc  leave"),
            classes="-big",
        )

    def on_mount(self) -> None:
        """Begin with the prompt, and look where the conversation may be cut."""
        self._list.show(self._first_rows(), _READING)
        if self._before is not None:
            self._list.select(self._before.uuid)
        self.area.focus()
        ticket = self.tickets[0]
        self._read_cuts.ask(lambda reader: reader.cuts(ticket))

    def on_unmount(self) -> None:
        """Want no answer any more."""
        self._read_cuts.drop()

    # Places

    def _first_rows(self) -> list[PickRow]:
        """Return the places that need no look into the conversation."""
        if self._before is None:
            return [_NOW_ROW]
        words = f'before prompt {self._before.number}, "{drawable(self._before.words)}"'
        return [PickRow(self._before.uuid, (("before  ", Tone.ACCENT), (words, Tone.PLAIN))), _NOW_ROW]

    def _cuts_came(self, found: tuple[Cut, ...] | SupervisorError) -> None:
        if isinstance(found, SupervisorError):
            self._list.show(self._first_rows(), ((drawable(str(found)), Tone.BAD),))
            return
        self._cuts = {cut.uuid: cut for cut in found}
        rows = [PickRow(cut.uuid, cut_cell(cut)) for cut in reversed(found)]
        self._list.show([*self._first_rows(), *rows])

    @on(PickList.Highlighted)
    def _follow(self) -> None:
        """An earlier place begins with the files of then, unless the operator wants others."""
        at = self._list.picked
        if at == self._place:
            return
        self._place = at
        self._files.offer(_FILES[:1] if at == _NOW else _FILES, "now" if at == _NOW else "then")
        cut = self._cuts.get(at or "")
        self._words.update(drawable(" ".join(cut.words.split())) if cut is not None else "")

    @on(PickList.Opened)
    def _to_prompt(self) -> None:
        self.area.focus()

    # The child

    def show(self) -> None:
        """Say what the child costs, and which effects stay done."""
        self._preview()

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _changed(self) -> None:
        self.refuse(self._preview())

    def _preview(self) -> str:
        """Say what the child costs; return what is wrong with what is written."""
        parent, fault = self.targets[0], ""
        try:
            total = self._limits().get("budget_usd", parent.budget_usd)
        except BadArgs as error:
            total, fault = parent.budget_usd, str(error)
        kept = money(reserve_of(parent))
        may = f"may spend {money(total)}" if total is not None else "has no budget of its own"
        cost = f"The child costs at least one call over the copied conversation, about {kept}, and {may}."
        effects = effects_words(staying(self.board, parent))
        self._cost.update(f"{cost} Effects {effects} (shared with it)." if effects else cost)
        return fault

    def _limits(self) -> dict[str, Any]:
        """Return the child's own limits, absolute; those it takes over are left out. Raises BadArgs."""
        told = told_limits(self._budget.value, self._turns.value)
        if "no_budget" in told:
            raise BadArgs("a fork has a budget if its parent has one: leave the line empty to take that over")
        if (more := told.pop("raise_usd", None)) is not None:
            told["budget_usd"] = max(0.0, (self.targets[0].budget_usd or 0.0) + more)
        return told

    @on(Input.Submitted)
    def _to_next(self) -> None:
        self.focus_next()

    def action_confirm(self) -> None:
        """Fork."""
        self._follow()  # a key may be faster than the news of the last one
        try:
            told = {"prompt": self.area.text, "title": self._title.value.strip(), **self._limits()}
        except BadArgs as error:
            self.refuse(str(error))
            return
        self.finish(Order(FORK, self.tickets, {"at": self._list.picked or _NOW, "files": self._files.value, **told}))


def _inherited(parent: TicketSnapshot) -> str:
    return "no budget, as its parent" if parent.budget_usd is None else f"{money(parent.budget_usd)}, as its parent"
