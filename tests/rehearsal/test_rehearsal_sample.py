"""Every ticket of the sample, played by the real CLI, ends as its comment says."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from claude_agent_sdk import Message, ResultMessage, SystemMessage, ToolResultBlock, UserMessage

from supervisor.rehearsal.harness import RehearsalServer, prepare_sample, sample_path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Play = Callable[..., Awaitable[list[Message]]]

pytestmark = [pytest.mark.anyio, pytest.mark.cli]

BATCH = tomllib.loads(sample_path().read_text("utf-8"))
TICKETS = {ticket["id"]: {**BATCH["defaults"], **ticket} for ticket in BATCH["ticket"]}
DONE = ("success", "completed", False)


def script(ticket: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps without the pauses that are there for people."""
    return [{k: v for k, v in step.items() if k not in ("delay_s", "chunk_s")} for step in ticket.get("rehearsal", [])]


class Stage:
    """The sample repository with one ticket's agent in it."""

    def __init__(self, ticket: dict[str, Any], repo: Path, server: RehearsalServer, play: Play) -> None:
        self.ticket, self.repo, self.server, self._play = ticket, repo, server, play
        self.messages: list[Message] = []

    async def prompt(self, text: str, **more: Any) -> ResultMessage:
        """Send a prompt in a fresh process, as a restart does, and return its result."""
        keys = ("model", "permission_mode", "allowed_tools", "max_turns")
        usual = {key: self.ticket[key] for key in keys} | {"cwd": self.repo}
        self.messages = await self._play(self.server.base_url(self.ticket["id"]), text, **usual | more)
        (result,) = [message for message in self.messages if isinstance(message, ResultMessage)]
        assert not result.permission_denials
        assert not [
            block for block in self.tool_results() if block.is_error and "mcp__effects__" not in str(block.content)
        ]
        return result

    def tool_results(self) -> list[ToolResultBlock]:
        said = [m.content for m in self.messages if isinstance(m, UserMessage) and isinstance(m.content, list)]
        return [block for content in said for block in content if isinstance(block, ToolResultBlock)]

    async def verified(self) -> bool:
        return (await anyio.run_process(self.ticket["verify"], cwd=self.repo, check=False)).returncode == 0

    async def changed(self) -> list[str]:
        status = await anyio.run_process(["git", "status", "--porcelain"], cwd=self.repo)
        return [line[3:] for line in status.stdout.decode().splitlines()]


@pytest.fixture
async def stage(request: pytest.FixtureRequest, tmp_path: Path, play: Play) -> Any:
    ticket = TICKETS[request.param]
    repo = await prepare_sample(tmp_path)
    async with RehearsalServer(tmp_path, {ticket["id"]: script(ticket)}) as server:
        yield Stage(ticket, repo, server, play)


def ending(result: ResultMessage) -> tuple[str, str | None, bool]:
    return result.subtype, result.terminal_reason, result.is_error


@pytest.mark.parametrize("stage", ["001-rounding", "004-export", "005-cart", "009-markup", "010-slugs"], indirect=True)
async def test_it_is_done_and_verified(stage: Stage) -> None:
    assert ending(await stage.prompt(stage.ticket["prompt"])) == DONE
    assert await stage.verified()
    assert await stage.changed()


@pytest.mark.parametrize("stage", ["004-export"], indirect=True)
async def test_the_overload_is_seen(stage: Stage) -> None:
    await stage.prompt("go")
    told = [message.data for message in stage.messages if isinstance(message, SystemMessage)]
    assert [data.get("error_status") for data in told if data["subtype"] == "api_retry"] == [529, 529]


@pytest.mark.parametrize("stage", ["002-search"], indirect=True)
async def test_it_is_done_without_a_verify(stage: Stage) -> None:
    assert ending(await stage.prompt("go")) == DONE
    assert "verify" not in stage.ticket
    assert await stage.changed() == ["tests/test_search.py", "tinyshop/search.py"]


@pytest.mark.parametrize("stage", ["003-tax"], indirect=True)
async def test_it_is_verified_in_the_second_round(stage: Stage) -> None:
    first = await stage.prompt("go")
    assert ending(first) == DONE
    assert not await stage.verified()
    assert ending(await stage.prompt("verify failed", resume=first.session_id)) == DONE
    assert await stage.verified()


@pytest.mark.parametrize("stage", ["006-shipping"], indirect=True)
async def test_it_runs_out_of_turns_and_goes_on_with_more(stage: Stage) -> None:
    first = await stage.prompt("go")
    assert ending(first) == ("error_max_turns", "max_turns", True)
    assert await stage.changed() == []
    assert ending(await stage.prompt("continue", resume=first.session_id, max_turns=20)) == DONE
    assert await stage.verified()


@pytest.mark.parametrize("stage", ["007-invoice"], indirect=True)
async def test_it_runs_out_of_money_and_goes_on_with_more(stage: Stage) -> None:
    cap = stage.ticket["budget_usd"] - stage.ticket["reserve_usd"]
    first = await stage.prompt("go", max_budget_usd=cap)
    assert ending(first) == ("error_max_budget_usd", "budget_exhausted", True)
    assert first.total_cost_usd == pytest.approx(0.30, abs=0.05)
    assert await stage.changed() == []
    assert ending(await stage.prompt("continue", resume=first.session_id, max_budget_usd=1.0)) == DONE
    assert await stage.changed() == ["tinyshop/invoice.py"]


@pytest.mark.parametrize("stage", ["008-docs"], indirect=True)
async def test_it_fails(stage: Stage) -> None:
    result = await stage.prompt("go")
    assert ending(result) == ("success", "api_error", True)
    assert result.api_error_status == 400


@pytest.mark.parametrize("stage", ["011-look"], indirect=True)
async def test_it_only_looks(stage: Stage) -> None:
    assert ending(await stage.prompt("go")) == DONE
    assert await stage.changed() == []
