"""The keys that are not verbs on tickets, in one table: bindings, footer, help and palette are made from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.binding import Binding

from supervisor.core.ordering import Sort
from supervisor.core.verbs import VERBS

if TYPE_CHECKING:
    from collections.abc import Iterable


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


_SORT_HELP = f"Sort by the next of {', '.join(Sort)}."

BOARD_COMMANDS: tuple[Command, ...] = (
    Command("inbox", "exclamation_mark", "!", "needs you", "Show everything that waits for you.", "inbox"),
    Command("answer", "a", "a", "answer", "Answer what the ticket waits for; else show all that waits.", "answer"),
    Command("next", "n", "n", "next", "Go to the next ticket that needs you.", "next_waiting"),
    Command("ledger", "e", "e", "effects", "Show every effect there is, and its log.", "ledger"),
    Command("undo", "u", "u", "undo", "Bring back the files that a rewind or starting over took back.", "undo"),
    Command("mark", "space", "space", "mark", "Mark the ticket; verbs then act on all marked ones.", "mark"),
    Command(
        "mark_all", "asterisk", "*", "mark all", "Mark all that is listed; again takes all marks away.", "mark_all"
    ),
    Command("unmark", "escape", "esc", "back", "Go back to the table; take all marks away; then the filter.", "back"),
    Command("open", "enter", "enter", "ticket", "Open the ticket's own screen.", "open", in_footer=True),
    Command(
        "changes", "d", "d", "changes", "Show which files it changed; with two marked, both side by side.", "changes"
    ),
    Command("timeline", "T", "T", "timeline", "Show when each ticket was at work, and the cost over time.", "timeline"),
    Command("filter", "slash", "/", "filter", "List only what matches the words you type.", "filter"),
    Command("sort", "s", "s", "sort", _SORT_HELP, "sort"),
    Command("group", "g", "g", "group", "Group by state, by lineage, or not at all.", "group"),
    Command("pause", "p", "p", "pause starting", "Start no further ticket; again lets them start.", "pause_starting"),
    Command("more", "plus", "+", "more slots", "Run one ticket more at the same time.", "slots(1)"),
    Command(
        "fewer", "minus", "-", "fewer slots", "Run one ticket less at the same time; what runs goes on.", "slots(-1)"
    ),
    Command("focus", "tab", "tab", "focus", "Go between the table and the transcript.", "switch_focus"),
)
"""Keys of the board."""

TICKET_COMMANDS: tuple[Command, ...] = (
    Command("view_next", "right", "→", "next view", "Look at the view beside this one; 1 to 6 go to one.", "turn(1)"),
    Command("view_before", "left", "←", "view before", "Look at the view before this one.", "turn(-1)"),
    Command("changes", "d", "d", "changes", "Show which files it changed.", "view(3)"),
    Command("answer", "a", "a", "answer", "Answer what the ticket waits for; else show all that waits.", "answer"),
    Command("undo", "u", "u", "undo", "Bring back the files that a rewind or starting over took back.", "undo"),
    Command("next", "n", "n", "next", "Go on to the next ticket that needs you.", "next_waiting"),
    Command("inbox", "exclamation_mark", "!", "needs you", "Show everything that waits for you.", "inbox"),
    Command("ledger", "e", "e", "effects", "Show every effect there is, and its log.", "ledger"),
    Command("leave", "escape", "esc", "board", "Go back to the board.", "leave"),
)
"""Keys of a ticket's own screen, beside the verbs and the digits of its views."""

TIMELINE_COMMANDS: tuple[Command, ...] = (
    Command("zoom_in", "plus,equals_sign", "+", "zoom in", "Show less time, in more detail.", "zoom(1)", True),
    Command("zoom_out", "minus", "-", "zoom out", "Show more time.", "zoom(-1)", True),
    Command("all", "0", "0", "all", "Show everything since the first start.", "all", True),
    Command("earlier", "left,h", "←", "earlier", "Go back in time.", "pan(1)", True),
    Command("later", "right,l", "→", "later", "Go on in time, up to now.", "pan(-1)", True),
    Command("ticket", "enter", "enter", "ticket", "Open the ticket's own screen.", "open", True),
    Command("leave", "escape,T", "esc", "board", "Go back to the board.", "leave"),
)
"""Keys of the timeline."""

ITEM_COMMANDS: tuple[Command, ...] = (
    Command("open", "enter", "enter", "ticket", "Go to the ticket on the board.", "open", in_footer=True),
    Command("card", "tab", "tab", "scroll the card", "Go between list and card.", "switch_focus", in_footer=True),
    Command("close", "escape,exclamation_mark,e", "esc", "back", "Go back to the board.", "close"),
)
"""Keys of the inbox and the ledger."""

INBOX_COMMANDS: tuple[Command, ...] = (
    Command("go", "t", "t", "ticket", "Go to the ticket, also from a question.", "go"),
    Command("next", "n", "n", "next", "Go to the next thing that waits.", "next"),
    Command("write", "o", "o", "own words", "Answer a question in your own words.", "write"),
    Command("question_back", "backspace", "backspace", "back", "Go back to the question before.", "question_back"),
)
"""Keys of the inbox alone."""

APP_COMMANDS: tuple[Command, ...] = (
    Command("help", "question_mark,f1", "?", "help", "Show all keys.", "help", in_footer=True),
    Command("mute", "M", "M", "mute", "Silence bell and notifications, or let them sound again.", "mute"),
    Command("palette", "ctrl+p", "ctrl+p", "palette", "Find a command or a ticket by name.", "command_palette"),
    Command("quit", "q,ctrl+q,ctrl+c", "q", "quit", "Interrupt everything, let it rest, and leave.", "quit", True),
)
"""Keys that work everywhere."""


def command_bindings(commands: tuple[Command, ...]) -> list[Binding]:
    """Return the commands as Textual bindings; by their ids the operator's own keys replace others."""
    return [Binding(c.key, c.action, c.label, show=False, id=c.name) for c in commands]


def answer_bindings(keys: Iterable[str]) -> list[Binding]:
    """Return digits and other keys as Textual bindings of the ``answer`` action."""
    return [Binding(key, f"answer({key!r})", "answer", show=False) for key in keys]


def tab_bindings() -> list[Binding]:
    """Return the digits as Textual bindings of a ticket screen's ``view`` action."""
    return [Binding(str(place + 1), f"view({place})", "view", show=False) for place in range(6)]


def verb_bindings() -> list[Binding]:
    """Return the verbs as Textual bindings of the board's ``verb`` action."""
    return [Binding(v.key, f"verb({v.name!r})", v.label, show=False, id=v.name) for v in VERBS]
