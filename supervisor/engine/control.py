"""The few control requests that the SDK's client has no method for. Nothing else may touch its private parts.

Each is a fact of SDK 0.2.x with CLI 2.1.x, held by a test against the real CLI.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from supervisor.core.rewinds import EditRewind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claude_agent_sdk import ClaudeSDKClient


async def _request(client: ClaudeSDKClient, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    answer: dict[str, Any] = await client._query._send_control_request(body, timeout=timeout_s)  # type: ignore[union-attr]
    return answer


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """What a session has used since it began, earlier processes included."""

    total_cost_usd: float = 0.0
    model_usage: Mapping[str, Any] = field(default_factory=dict)
    """As in a result: tokens and cost by model."""


async def session_usage(client: ClaudeSDKClient, timeout_s: float = 10.0) -> SessionUsage:
    """Return the session's cumulative figures right now; asked after connect they are a resumed session's baseline.

    A fork and a resumed session carry the figures of their past; a session that was killed has lost part of them.
    """
    answer = await _request(client, {"subtype": "get_usage", "skip_behaviors": True}, timeout_s)
    session = answer.get("session")
    if not isinstance(session, dict):
        return SessionUsage()
    total, models = session.get("total_cost_usd"), session.get("model_usage")
    usd = float(total) if isinstance(total, int | float) else 0.0
    return SessionUsage(usd, models if isinstance(models, dict) else {})


async def total_cost_usd(client: ClaudeSDKClient, timeout_s: float = 10.0) -> float:
    """Return the session's cumulative cost right now; see `session_usage`."""
    return (await session_usage(client, timeout_s)).total_cost_usd


async def interrupt(client: ClaudeSDKClient, timeout_s: float = 10.0) -> list[str]:
    """Interrupt the turn and drop what is queued behind it: a plain interrupt lets queued prompts run next.

    Returns the uuids of dropped prompts. One that was sent a moment ago counts as queued, and gets no result.
    """
    answer = await _request(client, {"subtype": "interrupt", "cancel_queued": True}, timeout_s)
    dropped = answer.get("cancelled")
    return [str(ident) for ident in dropped] if isinstance(dropped, list) else []


async def rewind_files(client: ClaudeSDKClient, prompt: str, *, dry_run: bool, timeout_s: float = 60.0) -> EditRewind:
    """Take back what Write, Edit and NotebookEdit changed since before ``prompt``, or with ``dry_run`` say which files.

    The SDK's own method has no dry run and drops the answer. A dry run that cannot be done says so in its answer; the
    real thing raises a bare ``Exception`` with the same words, and tells no files.
    """
    body: dict[str, Any] = {"subtype": "rewind_files", "user_message_id": prompt}
    answer = await _request(client, {**body, "dry_run": True} if dry_run else body, timeout_s)
    files, skipped = answer.get("filesChanged"), answer.get("skippedLinks")
    return EditRewind(
        tuple(str(name) for name in files) if isinstance(files, list) else (),
        skipped if isinstance(skipped, int) else 0,
        "" if answer.get("canRewind") is True else str(answer.get("error") or "it cannot be rewound"),
    )
