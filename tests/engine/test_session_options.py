"""With what every agent is started, whatever its ticket says."""

from __future__ import annotations

from pathlib import Path

import pytest

from supervisor.engine.agent import SessionStart
from supervisor.engine.process import MARK
from supervisor.engine.session_options import options

START = SessionStart("001", 1, Path("/work"), Path("/state/agent"), "session-1", env={"X": "1"})


def test_the_repository_has_no_say() -> None:
    """No settings, hooks, instructions or MCP servers of its own; and a prompt that looks like a command is none."""
    chosen = options(START, lambda _: None, None)
    assert chosen["setting_sources"] == []
    assert (chosen["strict_mcp_config"], chosen["mcp_servers"]) == (True, {})
    assert chosen["verbatim_prompts"] is True


def test_unless_the_ticket_trusts_it() -> None:
    start = SessionStart("001", 1, Path("/work"), Path("/state/agent"), "session-1", project_instructions=True)
    chosen = options(start, lambda _: None, None)
    assert chosen["setting_sources"] == ["project"]
    assert chosen["strict_mcp_config"] is True


@pytest.mark.parametrize("resume", [False, True])
def test_it_is_launched_so_that_it_can_be_found_and_ended(resume: bool) -> None:
    start = SessionStart("001", 1, Path("/work"), Path("/state/agent"), "session-1", resume=resume, env={"X": "1"})
    chosen = options(start, lambda _: None, None)
    assert chosen["cli_path"] == Path("/state/agent")
    assert chosen["resume" if resume else "session_id"] == "session-1"
    assert (chosen["env"][MARK], chosen["env"]["X"]) == ("session-1", "1")
    assert chosen["env"]["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] == "1"
