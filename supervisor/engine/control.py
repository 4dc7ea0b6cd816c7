"""The few control requests that the SDK's client has no method for. Nothing else may touch its private parts.

Each is a fact of SDK 0.2.x with CLI 2.1.x, held by a test against the real CLI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeSDKClient


async def _request(client: ClaudeSDKClient, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    answer: dict[str, Any] = await client._query._send_control_request(body, timeout=timeout_s)  # type: ignore[union-attr]
    return answer


async def total_cost_usd(client: ClaudeSDKClient, timeout_s: float = 10.0) -> float:
    """Return the session's cumulative cost right now; asked after connect it is the baseline of a resumed session.

    A fork and a resumed session carry the cost of their past; a session that was killed has lost part of it.
    """
    answer = await _request(client, {"subtype": "get_usage", "skip_behaviors": True}, timeout_s)
    session = answer.get("session")
    total = session.get("total_cost_usd") if isinstance(session, dict) else None
    return float(total) if isinstance(total, int | float) else 0.0


async def interrupt(client: ClaudeSDKClient, timeout_s: float = 10.0) -> list[str]:
    """Interrupt the turn and drop what is queued behind it: a plain interrupt lets queued prompts run next.

    Returns the uuids of dropped prompts. One that was sent a moment ago counts as queued, and gets no result.
    """
    answer = await _request(client, {"subtype": "interrupt", "cancel_queued": True}, timeout_s)
    dropped = answer.get("cancelled")
    return [str(ident) for ident in dropped] if isinstance(dropped, list) else []
