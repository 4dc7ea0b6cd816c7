"""What the CLI writes as the result of a call that a stop of the turn took back: as if the user had refused it.

Nobody had. Its words go to the agent as they are; whoever reads the conversation is told what it was. Seen with CLI
2.1.332; words that are not known stay as they are.
"""

from __future__ import annotations

_REFUSED = "The user doesn't want to proceed with this tool use."
_RAN = "this call was stopped while running"
WITHDRAWN = "withdrawn: the turn was stopped before this was done"
CUT_OFF = "cut off: the turn was stopped while this ran, so it may be done in part"


def stopped_words(text: str, *, is_denied: bool) -> str:
    """Return the text of a failed call, or in our words that its turn was stopped.

    Args:
        text: The text of its result.
        is_denied: Whether the operator denied the call; with a denial that stops the turn the CLI writes the same.
    """
    if is_denied or not text.startswith(_REFUSED):
        return text
    return CUT_OFF if _RAN in text else WITHDRAWN
