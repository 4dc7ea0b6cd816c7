"""The dialog before a decision that cannot be taken back: what could go wrong, and the words that go into the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from supervisor.app.answers import Answer, danger, question
from supervisor.core.rulings import DecisionVerb
from widgets.cells import drawable
from widgets.words_input import WordsInput

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from supervisor.core.effects import EffectView

_CALM = (DecisionVerb.NOTE, DecisionVerb.DENY)
_WHY_LABELS = {DecisionVerb.NOTE: "note", DecisionVerb.DENY: "why (the agent reads it)"}


@dataclass(frozen=True, slots=True)
class Decided:
    """What the operator wrote."""

    why: str = ""
    evidence: str = ""
    outcome: str = ""


class DecideScreen(ModalScreen[Decided | None]):
    """Asks once more. Its result is None where the operator left it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("enter", "confirm", "Confirm"),
    ]

    def __init__(self, answer: Answer, view: EffectView, now: float, words: Decided | None = None) -> None:
        """Prepare the dialog.

        Args:
            answer: What was chosen.
            view: The effect as it was shown.
            now: Seconds since the epoch, for what is left of a window.
            words: What to begin with.
        """
        super().__init__()
        self._answer, self._view, self._now = answer, view, now
        self._must_type = answer.typed_name(view)
        words = words or Decided()
        self._why = WordsInput(words.why, id="why", compact=True)
        self._outcome = WordsInput(id="outcome", compact=True)
        self._evidence = WordsInput(words.evidence, id="evidence", compact=True)
        self._typed = WordsInput(id="name", compact=True)
        self._missing = Static("", id="missing", markup=False)

    def compose(self) -> ComposeResult:
        """Say what could go wrong, and take the words."""
        tone = "calm" if self._answer.verb in _CALM else "danger"
        with Vertical(id="dialog"):
            yield Static(question(self._answer, self._view), id="dialog-title", markup=False)
            yield Static(danger(self._answer, self._view, self._now), id=tone, markup=False)
            for label, field in self._fields():
                yield Static(label, classes="heading", markup=False)
                yield field
            yield self._missing
            does = f"{'next, then ' if len(self._fields()) > 1 else ''}{self._answer.label}"
            yield Static(f"enter  {does}      esc  leave", id="dialog-keys", markup=False)

    def on_mount(self) -> None:
        """Begin with the first line."""
        self._fields()[0][1].focus()

    def _fields(self) -> list[tuple[str, WordsInput]]:
        """Return label and line of everything that is asked for, in order."""
        verb = self._answer.verb
        fields = [(_WHY_LABELS.get(verb, "why") if verb is not None else "why", self._why)]
        if self._answer.takes_outcome:
            fields.append(("what came of it (the agent is told)", self._outcome))
            fields.append(("evidence, such as a link or a version", self._evidence))
        if self._must_type:
            name = drawable(self._must_type)
            fields.append((f"its last run is not proved dead: type {name} to go on all the same", self._typed))
        return fields

    @on(Input.Submitted)
    def action_confirm(self) -> None:
        """Go to the next line, and decide on the last one if nothing is missing."""
        lines = [line for _, line in self._fields()]
        here = next((place for place, line in enumerate(lines) if line.has_focus), len(lines) - 1)
        later = next((line for line in lines[here + 1 :] if not line.value.strip()), None)
        line, words = self._fault()
        self._missing.update(words if line is not None and (later is None or line is lines[here]) else "")
        if line is not None and (later is None or line is lines[here]):
            line.focus()
        elif later is not None:
            later.focus()
        else:
            values = (field.value.strip() for field in (self._why, self._evidence, self._outcome))
            self.dismiss(Decided(*values))

    def _fault(self) -> tuple[WordsInput | None, str]:
        """Return the first line that is not right yet, and what is wrong with it."""
        if not self._why.value.strip():
            return self._why, "Say why: it goes into the log."
        if self._must_type and self._typed.value.strip() != self._must_type:
            return self._typed, f"Type {drawable(self._must_type)}, or leave with esc."
        return None, ""

    def action_cancel(self) -> None:
        """Leave everything as it is."""
        self.dismiss(None)
