"""A ticket's effects as tools of an in-process MCP server. Translates between the SDK and the caller, nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_agent_sdk import create_sdk_mcp_server, tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.core.spec import EffectSpec
    from supervisor.engine.effect_caller import EffectCaller

SERVER = "effects"


def tool_names(effects: Sequence[EffectSpec]) -> list[str]:
    """Return the tools' names as the CLI knows them. They ask us and not the permission prompt, so they are allowed."""
    return [f"mcp__{SERVER}__{effect.name}" for effect in effects]


def server(effects: Sequence[EffectSpec], caller: EffectCaller) -> dict[str, Any]:
    """Return the configuration of a server with one tool for each effect.

    ``alwaysLoad`` keeps the tools in the model's sight: MCP tools are otherwise found only through a search.
    """
    tools = [_tool(effect, caller) for effect in effects]
    config: dict[str, Any] = {**create_sdk_mcp_server(SERVER, tools=tools), "alwaysLoad": True}
    return config


def _tool(effect: EffectSpec, caller: EffectCaller) -> Any:
    @tool(effect.name, effect.description, dict(effect.input))
    async def call(args: dict[str, Any]) -> dict[str, Any]:
        answer = await caller.call(effect, args)
        return {"content": [{"type": "text", "text": answer.text}], "is_error": answer.is_error}

    return call
