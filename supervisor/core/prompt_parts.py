"""A prompt as its reader wants it: the words it was sent for, apart from what the supervisor added to them. Pure.

The agent gets both as one text, which `core.prompts` puts together; a session's file holds nothing else.
"""

from __future__ import annotations

import re

from supervisor.core.model import PromptKind

_OPENINGS = (
    r"The previous turn was cut off: ",
    r"The operator (?:allowed|answered|approved|denied|does not|took the files|started this ticket over)",
    r"What is certain about this ticket's effects",
    r"The instructions of this ticket were changed",
    r"This ticket was (?:worked on before|forked from )",
    r"This is \S+, a fork of ",
    r"[^\n]*That has been seen to: call it again",
)
"""How what the supervisor adds begins: a line of dashes alone may be the operator's own."""
_ADDED = re.compile(rf"\n\n---\n\n?(?={'|'.join(_OPENINGS)})")
_OURS_ALONE = (PromptKind.CONTINUE, PromptKind.VERIFY)
"""Prompts that nobody but the supervisor has written."""


def parted(text: str, kind: PromptKind | None) -> tuple[str, str]:
    """Return the words a prompt was sent for, and what the supervisor added; that is empty where there is nothing.

    Args:
        text: The prompt as the agent got it.
        kind: Why it was sent; None where that is not known.
    """
    found = _ADDED.search(text) if kind not in _OURS_ALONE else None
    return (text[: found.start()], text[found.end() :]) if found is not None else (text, "")
