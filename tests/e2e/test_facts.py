"""Facts about the CLI that the code leans on, undocumented: each test fails when a newer one changes them."""

from __future__ import annotations

import os
import signal
import uuid
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from supervisor.engine import control, transcripts
from tests.e2e.stage import Stage, bash, is_written, say, ticket, until, use

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from supervisor.engine.batch import Batch

pytestmark = [pytest.mark.anyio, pytest.mark.cli]
WRITE = use("Write", "I write it.", file_path="new.txt", content="new\n")


def _options(stage: Stage, batch: Batch, **more: Any) -> ClaudeAgentOptions:
    launch = batch.engine.launch
    return ClaudeAgentOptions(
        cwd=stage.repo,
        env=dict(launch.env("001")),
        setting_sources=[],
        permission_mode="acceptEdits",
        allowed_tools=["Bash"],
        model="sonnet",
        stderr=lambda line: None,
        **more,
    )


async def _turn(client: ClaudeSDKClient, text: str, ident: str | None = None) -> ResultMessage:
    async def one() -> AsyncIterator[dict[str, Any]]:
        message = {"role": "user", "content": text}
        yield {"type": "user", "uuid": ident or str(uuid.uuid4()), "message": message, "parent_tool_use_id": None}

    await client.query(one())
    async for message in client.receive_response():
        if isinstance(message, ResultMessage):
            return message
    raise AssertionError("no result")


async def test_the_baseline_after_a_normal_exit_and_for_a_fork(stage: Stage) -> None:
    steps = [say("One."), say("Two."), say("Three.")]
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch:
        session = str(uuid.uuid4())
        async with ClaudeSDKClient(_options(stage, batch, session_id=session)) as client:
            assert await control.total_cost_usd(client) == 0.0
            first = await _turn(client, "one")
        assert first.total_cost_usd
        async with ClaudeSDKClient(_options(stage, batch, resume=session)) as client:
            assert await control.total_cost_usd(client) == pytest.approx(first.total_cost_usd)
            second = await _turn(client, "two")
        assert second.total_cost_usd == pytest.approx(2 * first.total_cost_usd, rel=0.1), "totals are cumulative"
        fork = _options(stage, batch, resume=session, fork_session=True, session_id=str(uuid.uuid4()))
        async with ClaudeSDKClient(fork) as client:
            assert await control.total_cost_usd(client) == pytest.approx(second.total_cost_usd), "a fork inherits it"


async def test_the_baseline_after_a_kill_has_lost_what_was_not_written(stage: Stage) -> None:
    steps = [say("One."), bash("touch here; sleep 60"), say("Three.")]
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch:
        session = str(uuid.uuid4())
        client = ClaudeSDKClient(_options(stage, batch, session_id=session))
        await client.connect()
        first = await _turn(client, "one")
        pid = (await client.get_server_info() or {})["pid"]
        await client.query("two")
        await until((stage.repo / "here").exists)
        await until(lambda: is_written(stage.root, "touch here"))
        os.kill(pid, signal.SIGKILL)
        await client.disconnect()
        async with ClaudeSDKClient(_options(stage, batch, resume=session)) as again:
            assert await control.total_cost_usd(again) < (first.total_cost_usd or 0.0), "so the ledger of costs is ours"


async def test_a_session_is_found_by_its_id_alone_and_its_prompts_by_theirs(stage: Stage) -> None:
    async with stage.batch(stage.spec(ticket()), {"001": [say("The last words.")]}) as batch:
        session, prompt = str(uuid.uuid4()), str(uuid.uuid4())
        home = batch.engine.launch.config_dir
        assert transcripts.find(home, session) is None
        async with ClaudeSDKClient(_options(stage, batch, session_id=session)) as client:
            result = await _turn(client, "one", prompt)
        assert result.user_message_uuid == prompt
        path = transcripts.find(home, session)
        assert path is not None
        facts = transcripts.read(path, prompt, 0.0)
        assert (facts.has_prompt, facts.last_words) == (True, "The last words.")
        assert not facts.usage.empty
        assert transcripts.read(path, str(uuid.uuid4()), float("inf")).usage.empty


async def test_an_interrupt_of_a_prompt_that_was_not_begun_drops_it(stage: Stage) -> None:
    steps = [bash("touch here; sleep 60"), say("Two.")]
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch:  # noqa: SIM117 - the options need it
        async with ClaudeSDKClient(_options(stage, batch)) as client:
            await client.query("one")
            await until((stage.repo / "here").exists)
            queued = str(uuid.uuid4())

            async def two() -> AsyncIterator[dict[str, Any]]:
                message = {"role": "user", "content": "two"}
                yield {"type": "user", "uuid": queued, "message": message, "parent_tool_use_id": None}

            await client.query(two())
            with anyio.fail_after(30):
                while queued not in await control.interrupt(client):  # noqa: ASYNC110 - it may still be on its way
                    await anyio.sleep(0.05)


async def test_the_registry_names_a_living_agent(stage: Stage) -> None:
    import json

    from supervisor.engine.process import identify

    async with stage.batch(stage.spec(ticket()), {"001": [say("One.")]}) as batch:
        session = str(uuid.uuid4())
        async with ClaudeSDKClient(_options(stage, batch, session_id=session)) as client:
            pid = (await client.get_server_info() or {})["pid"]
            path = batch.engine.launch.config_dir / "sessions" / f"{pid}.json"
            await until(path.exists)
            await until(lambda: "sessionId" in path.read_text())
            data = json.loads(path.read_text())
            assert data["sessionId"] == session
            assert str(data["procStart"]) == str(identify(pid).start)
