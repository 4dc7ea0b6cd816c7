"""With what an agent is started: the SDK's options, by what its ticket may do and by what every agent needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from supervisor.engine.process import MARK

if TYPE_CHECKING:
    from supervisor.engine.agent import SessionStart

MAX_LINE_BYTES = 64 << 20
"""Longest line read from the CLI. The SDK's default of 1 MiB kills the client on a large edit or result."""
_BEYOND_THE_TICKET = (
    "ListAgents", "SendMessage", "EnterWorktree", "ExitWorktree", "CronCreate", "CronDelete", "CronList",
    "ScheduleWakeup", "Workflow",
)  # fmt: skip
"""Tools that reach past the ticket: other sessions, other worktrees, later times."""
_SETTINGS = '{"cleanupPeriodDays": 3650, "useAutoModeDuringPlan": false}'
"""Transcripts are swept after 30 days by default; ours are what a resume needs. In plan mode the CLI would rather pay a
model to judge commands than ask us."""

MayUse = Callable[[str, dict[str, Any], Any], Awaitable[Any]]
"""The SDK's callback: a tool, its input and the context of the call; returns one of the SDK's permission results."""


def options(start: SessionStart, on_stderr: Callable[[str], None], may_use: MayUse | None) -> dict[str, Any]:
    """Return the arguments of ``ClaudeAgentOptions``.

    Args:
        start: what the ticket may do, and which session it is.
        on_stderr: takes each line of the process's standard error.
        may_use: is asked before a tool is used that is not allowed; without it such calls are refused.
    """
    preset = {"type": "preset", "preset": "claude_code"}
    which = {"resume": start.session_id} if start.resume else {"session_id": start.session_id}
    always = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1", "DISABLE_AUTOUPDATER": "1", MARK: start.session_id}
    servers, tools = _effect_tools(start)
    return {
        **which,
        "cwd": start.cwd,
        "cli_path": start.cli,
        "env": {**always, **start.env},
        "settings": _SETTINGS,
        "setting_sources": ["project"] if start.project_instructions else [],
        "strict_mcp_config": True,
        "mcp_servers": servers,
        "system_prompt": {**preset, "append": start.rules} if start.rules else preset,
        "verbatim_prompts": True,
        "max_buffer_size": MAX_LINE_BYTES,
        "stderr": on_stderr,
        "enable_file_checkpointing": True,
        "extra_args": {"replay-user-messages": None},
        "model": start.model,
        "fallback_model": start.fallback_model,
        "permission_mode": start.permission_mode,
        "allowed_tools": [*start.allowed_tools, *tools],
        "disallowed_tools": [*_BEYOND_THE_TICKET, *start.disallowed_tools],
        "max_turns": start.max_turns,
        "max_budget_usd": start.cap_usd,
        "include_partial_messages": start.partial_messages,
        "can_use_tool": may_use,
    }


def _effect_tools(start: SessionStart) -> tuple[dict[str, Any], list[str]]:
    """Return the MCP servers of a session and the tools of theirs that need no permission prompt."""
    if start.caller is None or not start.effects:
        return {}, []
    from supervisor.engine import effect_tools

    server = effect_tools.server(start.effects, start.caller)
    return {effect_tools.SERVER: server}, effect_tools.tool_names(start.effects)
