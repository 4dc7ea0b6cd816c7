"""The real CLI, in a throwaway home, against the rehearsal server."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, Message

if TYPE_CHECKING:
    from pathlib import Path

Play = Callable[..., Awaitable[list[Message]]]


@pytest.fixture
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Forget every key and setting of the machine; returns what the CLI gets instead."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC", "CLAUDE")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    own = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", own["CLAUDE_CONFIG_DIR"])
    return own | {
        "ANTHROPIC_API_KEY": "not-a-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_MAX_RETRIES": "3",
        "DISABLE_AUTOUPDATER": "1",
    }


@pytest.fixture
def options(clean_environment: dict[str, str], tmp_path: Path) -> Callable[..., ClaudeAgentOptions]:
    """Build options for a ticket's agent from its base URL."""
    work = tmp_path / "work"
    work.mkdir()

    def build(base_url: str, **more: Any) -> ClaudeAgentOptions:
        usual: dict[str, Any] = {
            "cwd": work,
            "env": clean_environment | {"ANTHROPIC_BASE_URL": base_url},
            "setting_sources": [],
            "strict_mcp_config": True,
            "verbatim_prompts": True,
            "permission_mode": "acceptEdits",
            "model": "sonnet",
            "max_buffer_size": 64 << 20,
            "stderr": lambda line: None,
        }
        return ClaudeAgentOptions(**usual | more)

    return build


@pytest.fixture
def play(options: Callable[..., ClaudeAgentOptions]) -> Play:
    """Connect an agent, send it one prompt after the other, and return every message."""

    async def run(base_url: str, *prompts: str, **more: Any) -> list[Message]:
        messages: list[Message] = []
        async with ClaudeSDKClient(options(base_url, **more)) as client:
            for prompt in prompts:
                await client.query(prompt)
                messages += [message async for message in client.receive_response()]
        return messages

    return run
