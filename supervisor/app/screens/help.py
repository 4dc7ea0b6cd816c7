"""All keys on one page, made from the tables of verbs and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from supervisor.app.answers import ANSWERS
from supervisor.app.ask_answers import CHOOSE_HELP, REPLIES
from supervisor.app.commands import (
    APP_COMMANDS,
    BOARD_COMMANDS,
    INBOX_COMMANDS,
    TICKET_COMMANDS,
    TIMELINE_COMMANDS,
    Command,
)
from supervisor.app.own_keys import shown
from supervisor.core.asks import AskKind
from supervisor.core.model import State
from supervisor.core.query import FIELDS
from supervisor.core.verbs import VERBS
from widgets.formatting import state_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult
    from textual.widget import Widget

_MOVES = (
    ("j k ↓ ↑", "Next and previous ticket, or a line of the transcript."),
    ("home end", "First and last; in the transcript, end follows what comes."),
)
_WORDS = (
    ("words", 'All must stand in id, title, detail or branch; "two words" as they stand.'),
    ("!state:done", "A ! turns any of these round."),
)
_DIALOGS = (
    ("tab shift+tab", "Next field, and the one before."),
    ("ctrl+s", "Do it, from every field."),
    ("esc", "Leave everything as it is; a message stays as a draft."),
)
_VIEWS = (
    ("1 to 6", "Transcript, attempts, effects, changes, checkpoints, and what the ticket is."),
    ("t", "Changes: against the base, or since the last prompt."),
    ("space J K", "Changes: scroll the diff while the keys choose a file."),
    ("y", "Copy what the keys are on, or the page."),
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
_ASKS = {
    AskKind.PERMISSION: "On a permission that waits",
    AskKind.QUESTION: "On a question that waits",
    AskKind.PLAN: "On a plan that waits",
}
_MONEY = "Costs are the SDK's estimates, not billing data; ≈ marks those we estimated ourselves."


class HelpScreen(ModalScreen[None]):
    """What can be pressed and what the signs mean."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter", "close", "Close"),
        Binding("j", "scroll_help(1)", "Down", show=False),
        Binding("k", "scroll_help(-1)", "Up", show=False),
    ]

    def compose(self) -> ComposeResult:
        """List verbs, keys and states."""
        with Vertical(id="dialog", classes="-tall"):
            yield VerticalScroll(*self._page(), id="help")
            yield Static("↑ ↓ page up page down  scroll    esc  close", id="dialog-keys", markup=False)

    def on_mount(self) -> None:
        """Let the keys scroll."""
        self.query_one("#help").focus()

    def _page(self) -> Iterable[Widget]:
        yield Static("On the selected or the marked tickets", classes="heading", markup=False)
        yield from _table((f"{shown(verb, self.app)}  {verb.label}", verb.help) for verb in VERBS)
        yield Static("Everywhere", classes="heading", markup=False)
        yield from _table((*_MOVES, *self._keys(BOARD_COMMANDS), *self._keys(APP_COMMANDS)))
        yield Static("On a ticket's own screen", classes="heading", markup=False)
        elsewhere = {command.name for command in BOARD_COMMANDS}
        yield from _table((*_VIEWS, *self._keys(c for c in TICKET_COMMANDS if c.name not in elsewhere)))
        yield Static("On the timeline", classes="heading", markup=False)
        yield from _table(self._keys(TIMELINE_COMMANDS))
        yield Static("In dialogs", classes="heading", markup=False)
        yield from _table(_DIALOGS)
        yield Static("In the filter (/)", classes="heading", markup=False)
        yield from _table((*_WORDS, *((field.example, field.help) for field in FIELDS)))
        yield Static("In the list of what needs you (! or a)", classes="heading", markup=False)
        yield from _table(self._keys(c for c in INBOX_COMMANDS if c.name in ("go", "next")))
        for kind, words in _ASKS.items():
            yield Static(words, classes="heading", markup=False)
            keys = CHOOSE_HELP if kind is AskKind.QUESTION else ()
            yield from _table((*keys, *((r.key, f"{r.label}: {r.help}") for r in REPLIES if r.to is kind)))
        yield Static("On an effect that waits", classes="heading", markup=False)
        yield from _table((a.digit, f"{a.label}: {a.help}") for a in ANSWERS)
        yield Static("States", classes="heading", markup=False)
        yield from _table((state_words(state), words) for state, words in _STATES.items())
        yield Static(_MONEY, classes="heading", markup=False)

    def _keys(self, commands: Iterable[Command]) -> list[tuple[str, str]]:
        return [(shown(command, self.app), command.help) for command in commands]

    def action_scroll_help(self, by: int) -> None:
        """Scroll by lines."""
        page = self.query_one("#help")
        page.scroll_to(y=page.scroll_offset.y + by, animate=False)

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)


def _table(rows: Iterable[tuple[str, str]]) -> Iterable[Horizontal]:
    for sign, words in rows:
        yield Horizontal(
            Static(sign, classes="sign", markup=False), Static(words, classes="words", markup=False), classes="row"
        )
