"""What a terminal is told beside the screen: bell, desktop notification, window title. Texts and bytes; writes nothing.

Desktop notifications are OSC 777 (``notify;title;body``) or OSC 9 (a text). Terminals that are known to take both get
one of them, or they would show everything twice; one that nothing is known of gets both, and drops the strange one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.core.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Mapping

BELL = "\a"
VARIABLE = "SUPERVISE_NOTIFY"
"""``0`` for neither bell nor notification, ``bell`` or ``desktop`` for one of them; both otherwise."""
NAME = "supervise"
_MOST_CHARS = 200
_TITLE_CHARS = 100
_QUIET = ("0", "off", "no", "none", "false")
_DEAF = ("", "dumb", "linux", "unknown")
"""Values of TERM that stand for terminals without windows; some would draw the text of a notification."""
_TAKES_777 = ("kitty", "ghostty", "wezterm", "foot", "rxvt", "konsole", "vte")
_PUSH_TITLE, _POP_TITLE = "\x1b[22;2t", "\x1b[23;2t"


@dataclass(frozen=True, slots=True)
class Channels:
    """Ways to call the operator."""

    bell: bool = True
    desktop: bool = True

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Channels:
        """Return what the environment asks for."""
        asked = env.get(VARIABLE, "").strip().lower()
        if asked in _QUIET:
            return cls(bell=False, desktop=False)
        return cls(bell=asked != "desktop", desktop=asked != "bell" and env.get("TERM", "") not in _DEAF)


def call(text: str, channels: Channels, env: Mapping[str, str]) -> str:
    """Return what calls the operator with a text, which may hold anything; empty where no channel is open."""
    return (desktop(text, env) if channels.desktop else "") + (BELL if channels.bell else "")


def desktop(text: str, env: Mapping[str, str]) -> str:
    """Return the sequences for a desktop notification."""
    body = safe_line(text, _MOST_CHARS)
    # A text that began with a digit and a semicolon would be another command to some terminals.
    of_9 = _wrapped(f"\x1b]9;{NAME}: {body}\a", env)
    of_777 = _wrapped(f"\x1b]777;notify;{NAME};{body.replace(';', ',')}\a", env)
    takes_9, takes_777 = _takes(env)
    return (of_9 if takes_9 else "") + (of_777 if takes_777 else "")


def _takes(env: Mapping[str, str]) -> tuple[bool, bool]:
    """Return whether to send OSC 9, and OSC 777."""
    if "TMUX" in env:
        return True, True  # what lies behind it is not known
    program, term = env.get("TERM_PROGRAM", "").lower(), env.get("TERM", "").lower()
    if program == "iterm.app":
        return True, False
    known = any(name in f"{program} {term}" for name in _TAKES_777) or "VTE_VERSION" in env
    return not known, True


def _wrapped(sequence: str, env: Mapping[str, str]) -> str:
    """Return a sequence that tmux, where it lets such through at all, hands on to the terminal around it."""
    if "TMUX" not in env:
        return sequence
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"


def title(text: str) -> str:
    """Return the sequence that sets the window's title; the text may hold anything."""
    return f"\x1b]2;{safe_line(text, _TITLE_CHARS)}\a"


def take_title(text: str) -> str:
    """Return what sets a title for the first time: the terminal keeps the one it had, if it can."""
    return _PUSH_TITLE + title(text)


def give_title_back() -> str:
    """Return what brings back the title of before; where the terminal did not keep it there is none."""
    return title("") + _POP_TITLE
