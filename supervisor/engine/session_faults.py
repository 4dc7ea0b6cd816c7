"""What an error of the SDK's means: one message that cannot be read, or the end of the stream, and why it ended.

The SDK comes as an argument, for nobody but the adapter loads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.core.transcript import telling
from supervisor.engine.agent import Failure
from supervisor.engine.untrusted import bounded, status

if TYPE_CHECKING:
    from types import FrameType

PARSER = "claude_agent_sdk._internal.message_parser"
"""The SDK's module that makes messages of lines."""
_OWN_MISTAKES = ("unknown option", "already in use", "Invalid session ID", "cannot be used with")
"""Refusals at start that are told only on standard error, as prose; position cannot tell them from a stale id."""


def explain(sdk: Any, error: Exception, stderr: str) -> Failure:
    """Return why a start or a stream failed.

    Args:
        sdk: the SDK's module.
        error: what it raised.
        stderr: the last line that the process wrote to standard error; empty where there is none.
    """
    if isinstance(error, sdk.ResultError):
        words = "; ".join(telling(error.errors)) or error.result or error.terminal_reason or str(error)
        return Failure(
            bounded(words, 1000),
            exit_code=error.exit_code,
            subtype=bounded(error.subtype, 100) or None,
            terminal_reason=bounded(error.terminal_reason, 100) or None,
            api_error_status=status(error.api_error_status),
        )
    if isinstance(error, sdk.ProcessError):
        words = stderr or f"the agent's process ended with exit code {error.exit_code}"
        mistake = any(told in stderr for told in _OWN_MISTAKES)
        return Failure(bounded(words, 1000), own_mistake=mistake, exit_code=error.exit_code)
    found = any(isinstance(e, sdk.CLINotFoundError | OSError) for e in (error, error.__cause__))
    mistake = found or "Working directory" in str(error)
    return Failure(bounded(f"{error}".split("\n", 1)[0] or type(error).__name__, 1000), own_mistake=mistake)


def is_of_the_parser(error: Exception) -> bool:
    """Whether one message was to blame. Seen with SDK 0.2.189: only missing fields become its MessageParseError.

    A field of another type raises TypeError or AttributeError as it comes, which the place alone tells from the end
    of the stream.
    """
    place = _place(error)
    return place is not None and place.f_globals.get("__name__") == PARSER


def unread(error: Exception) -> dict[str, Any]:
    """Return the message that the parser could not read, as the CLI sent it; empty where that is not known."""
    place = _place(error)
    data = getattr(error, "data", None) or (place.f_locals.get("data") if place is not None else None)
    return data if isinstance(data, dict) else {}


def _place(error: Exception) -> FrameType | None:
    """Return where it was raised."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place.tb_frame if place is not None else None
