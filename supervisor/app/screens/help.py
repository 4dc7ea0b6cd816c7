"""All keys on one page, made from the tables of verbs and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from supervisor.app.answers import ANSWERS
from supervisor.app.commands import APP_COMMANDS, BOARD_COMMANDS
from supervisor.core.model import State
from supervisor.core.verbs import VERBS
from widgets.formatting import state_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult

_MOVES = (
    ("j k ↓ ↑", "Next and previous ticket, or a line of the transcript."),
    ("home end", "First and last; in the transcript, end follows what comes."),
)
_STATES = {
    State.QUEUED: "waits for a slot or another ticket",
    State.STARTING: "its worktree and agent are being prepared",
    State.RUNNING: "the agent is at work",
    State.NEEDS_YOU: "waits for you",
    State.PARKED: "goes on by itself at the time shown",
    State.PAUSED: "rests; its session and files are kept",
    State.DONE: "finished, and verified if it has a check",
    State.FAILED: "ended badly; its session and files are kept",
    State.CANCELLED: "you gave it up",
}
_MONEY = "Costs are the SDK's estimates, not billing data; ≈ marks those we estimated ourselves."


class HelpScreen(ModalScreen[None]):
    """What can be pressed and what the signs mean."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,f1,enter", "close", "Close")]

    def compose(self) -> ComposeResult:
        """List verbs, keys and states."""
        with VerticalScroll(id="dialog", classes="-tall"):
            yield Static("On the selected or the marked tickets", classes="heading", markup=False)
            yield from _table((verb.key, verb.help) for verb in VERBS)
            yield Static("Everywhere", classes="heading", markup=False)
            commands = ((c.shown, c.help) for c in (*BOARD_COMMANDS, *APP_COMMANDS))
            yield from _table((*_MOVES, *commands))
            yield Static("On an effect that waits (! or a)", classes="heading", markup=False)
            yield from _table((a.digit, f"{a.label}: {a.help}") for a in ANSWERS)
            yield Static("States", classes="heading", markup=False)
            yield from _table((state_words(state), words) for state, words in _STATES.items())
            yield Static(_MONEY, classes="heading", markup=False)

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)


def _table(rows: Iterable[tuple[str, str]]) -> Iterable[Horizontal]:
    for sign, words in rows:
        yield Horizontal(
            Static(sign, classes="sign", markup=False), Static(words, classes="words", markup=False), classes="row"
        )
