"""The keys that are not verbs on tickets, in one table: bindings, footer, help and palette are made from it."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding

from supervisor.app.answers import DIGITS
from supervisor.core.verbs import VERBS


@dataclass(frozen=True, slots=True)
class Command:
    """Something a key does that is no verb on a ticket."""

    name: str
    key: str
    """As Textual spells it; several are separated by commas."""
    shown: str
    """As the operator reads it."""
    label: str
    """One word for the footer."""
    help: str
    """One sentence for the help screen and the palette."""
    action: str
    in_footer: bool = False


BOARD_COMMANDS: tuple[Command, ...] = (
    Command("inbox", "exclamation_mark", "!", "needs you", "Show everything that waits for you.", "inbox"),
    Command("answer", "a", "a", "answer", "Answer what the ticket waits for; else show all that waits.", "answer"),
    Command("next", "n", "n", "next", "Go to the next ticket that needs you.", "next_waiting"),
    Command("ledger", "e", "e", "effects", "Show every effect there is, and its log.", "ledger"),
    Command("mark", "space", "space", "mark", "Mark the ticket; verbs then act on all marked ones.", "mark"),
    Command("unmark", "escape", "esc", "back", "Leave the transcript; take all marks away.", "back"),
    Command("open", "enter", "enter", "transcript", "Give the transcript the whole screen.", "open", in_footer=True),
    Command("focus", "tab", "tab", "focus", "Go between the table and the transcript.", "switch_focus"),
)
"""Keys of the board."""

EFFECT_COMMANDS: tuple[Command, ...] = (
    Command("ticket", "enter", "enter", "ticket", "Go to the ticket on the board.", "open", in_footer=True),
    Command("card", "tab", "tab", "scroll the card", "Go between list and card.", "switch_focus", in_footer=True),
    Command("close", "escape,exclamation_mark,e", "esc", "back", "Go back to the board.", "close"),
)
"""Keys of the inbox and the ledger."""

APP_COMMANDS: tuple[Command, ...] = (
    Command("help", "question_mark,f1", "?", "help", "Show all keys.", "help", in_footer=True),
    Command("palette", "ctrl+p", "ctrl+p", "palette", "Find a command or a ticket by name.", "command_palette"),
    Command("quit", "q,ctrl+q,ctrl+c", "q", "quit", "Interrupt everything, let it rest, and leave.", "quit", True),
)
"""Keys that work everywhere."""


def command_bindings(commands: tuple[Command, ...]) -> list[Binding]:
    """Return the commands as Textual bindings."""
    return [Binding(c.key, c.action, c.label, show=False) for c in commands]


def answer_bindings() -> list[Binding]:
    """Return the digits as Textual bindings of the ``answer`` action."""
    return [Binding(digit, f"answer({digit!r})", "answer", show=False) for digit in DIGITS]


def verb_bindings() -> list[Binding]:
    """Return the verbs as Textual bindings of the board's ``verb`` action."""
    return [Binding(v.key, f"verb({v.name!r})", v.label, show=False) for v in VERBS]
