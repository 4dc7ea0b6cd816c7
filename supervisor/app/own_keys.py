"""The operator's own keys: read once before anything starts, checked against the tables of commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from supervisor.app import ask_answers, commands
from supervisor.app.answers import DIGITS
from supervisor.config.keys import Place, canonical, keys_path, load_keys
from supervisor.core.verbs import VERBS, Verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import App

    from supervisor.app.commands import Command
    from widgets.verb_footer import Hint

_LISTS = "it moves in lists and texts"
KEPT: dict[str, str] = {
    **dict.fromkeys(("j", "k", "J", "K", "G", "up", "down", "home", "end", "pageup", "pagedown"), _LISTS),
    **dict.fromkeys(("ctrl+d", "ctrl+u", "enter", "tab", "shift+tab"), _LISTS),
    **dict.fromkeys(map(str, range(10)), "digits answer, and go to views"),
    "escape": "it leads back from everywhere",
    "ctrl+c": "it quits, whatever else happens",
    "ctrl+s": "it sends what a dialog asks for",
}
"""Keys that widgets and dialogs need for themselves."""


def places() -> list[Place]:
    """Return the screens, with the keys of what can be done there."""
    c = commands
    tables: tuple[tuple[str, tuple[Command | Verb, ...]], ...] = (
        ("the board", (*c.BOARD_COMMANDS, *VERBS, *c.APP_COMMANDS)),
        ("a ticket's screen", (*c.TICKET_COMMANDS, *VERBS, *c.APP_COMMANDS)),
        ("the timeline", (*c.TIMELINE_COMMANDS, *c.APP_COMMANDS)),
        ("the inbox", (*c.ITEM_COMMANDS, *c.INBOX_COMMANDS, *VERBS, *c.APP_COMMANDS)),
        ("the ledger", (*c.ITEM_COMMANDS, *c.APP_COMMANDS)),
    )
    found = [Place(name, {entry.name: entry.key.split(",") for entry in table}) for name, table in tables]
    answers = {f"the answer {key}": [key] for key in {*DIGITS, *ask_answers.KEYS}}
    return [Place(p.name, {**p.keys, **answers}) if p.name == "the inbox" else p for p in found]


def read_own_keys() -> dict[str, str]:
    """Return the operator's keys by the names of commands and verbs. Raises ConfigError."""
    return load_keys(keys_path(os.environ), places(), KEPT)


def keymap(own: Mapping[str, str]) -> dict[str, str]:
    """Return keys as Textual's keymap: a command keeps its other keys, such as ctrl+q for quit."""
    others = {name: keys[1:] for place in places() for name, keys in place.keys.items()}
    return {name: ",".join((canonical(key), *others.get(name, ()))) for name, key in own.items()}


def own_hints(own: Mapping[str, str]) -> dict[Hint, str]:
    """Return keys by how footers would write them without: by the key as delivered, and the label."""
    c = commands
    tables = (c.BOARD_COMMANDS, c.TICKET_COMMANDS, c.TIMELINE_COMMANDS, c.ITEM_COMMANDS, c.INBOX_COMMANDS)
    found = {(entry.shown, entry.label): own[entry.name] for table in tables for entry in table if entry.name in own}
    found |= {(entry.shown, entry.label): own[entry.name] for entry in c.APP_COMMANDS if entry.name in own}
    return found | {(verb.key, verb.label): own[verb.name] for verb in VERBS if verb.name in own}


def shown(entry: Command | Verb, app: App[Any]) -> str:
    """Return the key of a command or verb as the operator reads it."""
    default = entry.key if isinstance(entry, Verb) else entry.shown
    own: Mapping[str, str] = getattr(app, "own_keys", {})
    return own.get(entry.name, default)


def help_of(entry: Command | Verb, app: App[Any]) -> str:
    """Return what a command or verb does, and its key."""
    return f"{entry.help} ({shown(entry, app)})"
