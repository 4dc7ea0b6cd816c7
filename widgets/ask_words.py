"""Asks in a few safe words: for lists, rules and notices. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.asks import AnswerKind, AskKind, AskState, says
from supervisor.core.tools import tool_words
from widgets.cells import Piece, Tone, drawable

if TYPE_CHECKING:
    from supervisor.core.asks import Ask

_YES = (AnswerKind.ALLOW, AnswerKind.ALLOW_SESSION, AnswerKind.REPLY)


def what(ask: Ask) -> str:
    """Return what kind of thing is asked, such as ``permission Bash``."""
    if ask.kind is AskKind.PERMISSION:
        return f"permission {drawable(tool_words(ask.tool))}".rstrip()
    return ask.kind.value


def gist(ask: Ask) -> str:
    """Return the one thing worth knowing of what is asked: a command, a path, the first question."""
    summary = ask.summary.lstrip("# ") if ask.kind is AskKind.PLAN else ask.summary
    return drawable(summary) or drawable(tool_words(ask.tool))


def outcome(ask: Ask) -> Piece:
    """Return what became of an ask that does not wait any more."""
    if ask.state is AskState.WITHDRAWN:
        return "– withdrawn", Tone.MUTED
    sign = "✓" if ask.answer in _YES else "✗"
    return f"{sign} {drawable(says(ask))}", Tone.MUTED


def standing(ask: Ask) -> str:
    """Return what an ask waits in: an agent that stands still for it, or a ticket at rest."""
    return {AskState.OPEN: "its agent waits", AskState.RESTING: "it goes on once answered"}.get(ask.state, "over")
