"""Records what the real CLI says at each ending: ``python -m tests.recorded.record [case ...]``.

One file for each case, one JSON object on each line: first what was asked and what the SDK's ``query`` raised, then
every message as it came over the wire, without the SDK's own control messages. Ids stay as they were, places of the
machine do not. Needs no key and no network: the answers are scripted. To be run again for a new CLI.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import claude_agent_sdk
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ProcessError, ResultMessage, query
from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

from supervisor.rehearsal.harness import RehearsalServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

HERE = Path(__file__).parent
WRITE = {"text": "I write it.", "tool": "Write", "input": {"file_path": "new.txt", "content": "new\n"}}
DONE = {"text": "All done."}
SLEEP = {"command": "touch started; sleep 30", "description": "wait"}
BACKGROUND = {"command": "echo $$ > pid; exec sleep 30", "description": "wait", "run_in_background": True}
SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "success": [WRITE, DONE],
    "max_turns": [WRITE, DONE],
    "max_budget": [{**WRITE, "usage": {"input": 500_000, "output": 20_000}}, DONE],
    "api_529": [{"status": 529, "times": -1}],
    "api_400": [{"status": 400, "times": -1, "text": "no such thing"}],
    "interrupted_stream": [{"endless": True, "times": -1}],
    "interrupted_tool": [{"text": "I wait.", "tool": "Bash", "input": SLEEP}],
    "resume": [WRITE, DONE, {"text": "Still done."}],
    "resume_529": [WRITE, DONE, {"status": 529, "times": -1}],
    "resume_stale": [DONE],
    "resume_ghost": [{"tool": "Bash", "input": BACKGROUND}, {"text": "It runs."}, {"text": "Still here."}],
}
"""What the API answers in each case; a resumed one goes on where its first call stopped."""


@dataclass
class Recording:
    """A stream in the making."""

    session_id: str
    resumed: bool = False
    prompt_uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    interrupted: bool = False
    raised: dict[str, Any] | None = None
    lines: list[dict[str, Any]] = field(default_factory=list)

    async def prompt(self) -> AsyncIterator[dict[str, Any]]:
        """Yield one prompt that names itself."""
        words = {"role": "user", "content": "Go on." if self.resumed else "Do it."}
        yield {"type": "user", "uuid": self.prompt_uuid, "message": words, "parent_tool_use_id": None}


class Tee(SubprocessCLITransport):
    """The SDK's own transport, which also notes what it hears."""

    def __init__(self, options: ClaudeAgentOptions, lines: list[dict[str, Any]]) -> None:
        super().__init__(prompt="", options=options)
        self._lines = lines

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:  # type: ignore[override]
        """Pass the messages on."""
        async for line in super().read_messages():
            if not str(line.get("type")).startswith("control_"):
                self._lines.append(line)
            yield line


@dataclass(frozen=True)
class Stage:
    """A throwaway home and the scripted API."""

    root: Path
    server: RehearsalServer

    def options(self, case: str, **more: Any) -> ClaudeAgentOptions:
        """Options of the case's agent."""
        env = {
            "HOME": str(self.root / "home"),
            "CLAUDE_CONFIG_DIR": str(self.root / "home/.claude"),
            "ANTHROPIC_API_KEY": "not-a-key",
            "ANTHROPIC_BASE_URL": self.server.base_url(case),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        if case != "resume_ghost":
            env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1"
        usual: dict[str, Any] = {
            "cwd": self.root / "work",
            "env": env,
            "setting_sources": [],
            "strict_mcp_config": True,
            "verbatim_prompts": True,
            "permission_mode": "acceptEdits",
            "allowed_tools": ["Bash"],
            "model": "sonnet",
            "stderr": lambda line: None,
            "extra_args": {"replay-user-messages": None},
        }
        return ClaudeAgentOptions(**usual | more)

    async def ask(self, case: str, resume: str | None = None, **more: Any) -> Recording:
        """Record one single-shot call."""
        made = Recording(resume or str(uuid.uuid4()), resumed=resume is not None)
        which = {"resume": resume} if resume else {"session_id": made.session_id}
        options = self.options(case, **which, **more)
        try:
            async for _ in query(prompt=made.prompt(), options=options, transport=Tee(options, made.lines)):
                pass
        except ProcessError as error:
            fields = {name: value for name, value in vars(error).items() if name not in ("data", "stderr")}
            made.raised = {"type": type(error).__name__, "message": str(error), **fields}
        return made

    @asynccontextmanager
    async def connected(self, case: str) -> AsyncIterator[tuple[ClaudeSDKClient, Recording]]:
        """Connect a client and send it the prompt."""
        made = Recording(str(uuid.uuid4()))
        options = self.options(case, session_id=made.session_id)
        async with ClaudeSDKClient(options, transport=Tee(options, made.lines)) as client:
            await client.query(made.prompt())
            yield client, made

    async def until(self, happened: Callable[[], object]) -> None:
        """Wait for something outside of this process."""
        with anyio.fail_after(20):
            while not happened():  # noqa: ASYNC110
                await anyio.sleep(0.01)


async def _plain(stage: Stage, case: str, **more: Any) -> Recording:
    return await stage.ask(case, **more)


async def _interrupted(stage: Stage, case: str, happened: Callable[[], object]) -> Recording:
    async with stage.connected(case) as (client, made):
        await stage.until(happened)
        await client.interrupt()
        async for _ in client.receive_response():
            pass
        made.interrupted = True
    return made


async def _again(stage: Stage, case: str) -> Recording:
    return await stage.ask(case, (await stage.ask(case)).session_id)


async def _ghost(stage: Stage, case: str) -> Recording:
    """Kill a CLI that has a background task, and resume: its ghost comes before the answer."""
    async with stage.connected(case) as (client, first):
        async for message in client.receive_messages():
            if isinstance(message, ResultMessage):
                break
        info = await client.get_server_info() or {}
        os.kill(info["pid"], signal.SIGKILL)
    os.kill(int((stage.root / "work/pid").read_text()), signal.SIGKILL)  # the task outlives the CLI
    return await stage.ask(case, first.session_id)


def _streaming(stage: Stage, case: str) -> Callable[[], object]:
    return lambda: any(s.ticket == case and s.event == "served" for s in stage.server.served())


CASES: dict[str, Callable[[Stage, str], Awaitable[Recording]]] = {
    "success": _plain,
    "max_turns": lambda stage, case: _plain(stage, case, max_turns=1),
    "max_budget": lambda stage, case: _plain(stage, case, max_budget_usd=0.5),
    "api_529": _plain,
    "api_400": _plain,
    "interrupted_stream": lambda stage, case: _interrupted(stage, case, _streaming(stage, case)),
    "interrupted_tool": lambda stage, case: _interrupted(stage, case, (stage.root / "work/started").exists),
    "resume": _again,
    "resume_529": _again,
    "resume_stale": lambda stage, case: stage.ask(case, str(uuid.uuid4())),
    "resume_ghost": _ghost,
}


def write(case: str, made: Recording, root: Path) -> None:
    """Write a recording without the places of this machine."""
    init = next((line for line in made.lines if line.get("subtype") == "init"), {})
    head = {
        "type": "recorded",
        "sdk": claude_agent_sdk.__version__,
        "cli": init.get("claude_code_version"),
        "session_id": made.session_id,
        "prompt_uuid": made.prompt_uuid,
        "resumed": made.resumed,
        "interrupted": made.interrupted,
        "raised": made.raised,
    }
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [head, *made.lines])
    encoded = re.sub(r"[^A-Za-z0-9]", "-", str(root))  # as the CLI names a session's directory
    text = text.replace(str(root), "/ticket").replace(encoded, "-ticket")
    text = re.sub(r'"messaging_socket_path": "[^"]*"', '"messaging_socket_path": "/ticket/socket"', text)
    (HERE / f"{case}.jsonl").write_text(text, "utf-8")


async def main(cases: list[str]) -> None:
    """Record the cases, each on a stage of its own."""
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="recorded-") as made:
            root = Path(made).resolve()
            (root / "work").mkdir()
            (root / "home").mkdir()
            async with RehearsalServer(root, {case: SCRIPTS[case]}) as server:
                write(case, await CASES[case](Stage(root, server), case), root)


if __name__ == "__main__":
    for name in [n for n in os.environ if n.startswith(("ANTHROPIC", "CLAUDE"))]:
        del os.environ[name]
    anyio.run(main, sys.argv[1:] or list(CASES))
