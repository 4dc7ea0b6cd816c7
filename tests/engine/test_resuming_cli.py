"""``run_resuming`` with the SDK's own ``query`` and the real CLI, in a throwaway home, against scripted answers."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, CLIConnectionError

from supervisor import Outcome, ResumingRun, SessionTable, run_resuming, summarise
from supervisor.rehearsal.harness import RehearsalServer

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

Build = Callable[..., ClaudeAgentOptions]
OLD = "3f6c1b2a-9d4e-4c7b-8a1f-0e2d5c6b7a89"
WRITE = {"text": "I write it.", "tool": "Write", "input": {"file_path": "new.txt", "content": "new\n"}}


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Build options for the real CLI in a throwaway home."""
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home/.claude"))
    env = {
        "HOME": str(tmp_path / "home"),
        "ANTHROPIC_API_KEY": "not-a-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_AUTOUPDATER": "1",
    }

    def build(base_url: str, **more: Any) -> ClaudeAgentOptions:
        usual: dict[str, Any] = {
            "cwd": tmp_path / "work",
            "env": {**env, "ANTHROPIC_BASE_URL": base_url},
            "setting_sources": [],
            "permission_mode": "acceptEdits",
            "model": "sonnet",
            "stderr": lambda line: None,
        }
        return ClaudeAgentOptions(**usual | more)

    return build


async def test_a_random_id_falls_back_once_on_the_real_cli(tmp_path: Path, options: Build) -> None:
    unknown = str(uuid.uuid4())
    async with RehearsalServer(tmp_path, {"t": [{"text": "Done."}]}) as server:
        run = await run_resuming("go", options(server.base_url("t"), resume=unknown))
        starts = [line for line in server.served() if line.event == "served"]
    first, second = run.attempts
    assert (first.resume, second.resume, second.outcome) == (unknown, None, "ran")
    assert first.outcome.startswith("ResultError: Claude Code returned an error result: No conversation found")
    assert len(starts) == 1, "the failed resume asked nothing of the API"
    assert run.messages[-1].session_id != unknown


async def test_a_limit_is_returned_stored_and_resumed_with_a_higher_one(tmp_path: Path, options: Build) -> None:
    async with RehearsalServer(tmp_path, {"t": [WRITE, {"text": "Done."}]}) as server:
        with SessionTable(tmp_path / "sessions.db") as table:
            limited = await run_resuming("go", options(server.base_url("t"), max_turns=1))
            assert limited.attempts[0].outcome.startswith("ResultError: ")
            assert summarise(limited.messages).outcome is Outcome.LIMIT
            stored = table.put_result("001", limited.messages[-1])
            resumed = await run_resuming("go on", options(server.base_url("t"), resume=stored.session_id))
    assert [(a.resume, a.outcome) for a in resumed.attempts] == [(stored.session_id, "ran")]
    summary = summarise(resumed.messages, stored.total_cost_usd, budget_usd=0.01)
    assert summary.session_id == stored.session_id
    assert summary.total_cost_usd == pytest.approx(2 * stored.total_cost_usd)
    assert summary.cost_usd == pytest.approx(stored.total_cost_usd), "what was paid before is not paid twice"
    assert summary.headroom_usd == pytest.approx(0.01 - stored.total_cost_usd)


async def test_an_api_error_right_after_a_resume_keeps_the_session_on_the_real_cli(
    tmp_path: Path, options: Build
) -> None:
    script = [{"text": "Done."}, {"status": 400, "times": -1, "text": "no such thing"}]
    async with RehearsalServer(tmp_path, {"t": script}) as server:
        first = await run_resuming("go", options(server.base_url("t")))
        session = first.messages[-1].session_id
        run = await run_resuming("go on", options(server.base_url("t"), resume=session))
    (attempt,) = run.attempts
    assert (attempt.resume, attempt.meaning) == (session, Outcome.API_ERROR)
    assert run.messages[-1].session_id == session


async def test_a_missing_directory_is_no_failed_resume_on_the_real_cli(tmp_path: Path, options: Build) -> None:
    wrong = options("http://127.0.0.1:9", resume=OLD, cwd=tmp_path / "gone")
    with pytest.raises(CLIConnectionError, match="Working directory does not exist") as raised:
        await run_resuming("go", wrong)
    run = ResumingRun.of(raised.value)
    assert run is not None
    assert len(run.attempts) == 1
