"""A place where batches run for real: a repository, a scripted API, and the real CLI in a throwaway home."""

from __future__ import annotations

import os
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from supervisor.core.spec import BatchSpec, TicketSpec
from supervisor.engine.batch import Batch, make_state_dir, open_batch
from supervisor.engine.process import ProcessId, descendants
from supervisor.preflight import find_cli
from supervisor.rehearsal.harness import RehearsalServer
from supervisor.rehearsal.play import rehearsal_launch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from supervisor.core.model import State
    from supervisor.engine.context import Engine, Launch
    from supervisor.rehearsal.witness import Served

Steps = list[dict[str, Any]]
QUICK = {"delay_s": 0.0, "chunk_s": 0.0}
GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def say(text: str, **more: Any) -> dict[str, Any]:
    """A step that says something and ends the turn."""
    return {**QUICK, "text": text, **more}


def use(tool: str, text: str = "", **given: Any) -> dict[str, Any]:
    """A step that uses a tool."""
    step = {**QUICK, "tool": tool, "input": given}
    return {**step, "text": text} if text else step


def bash(command: str, **more: Any) -> dict[str, Any]:
    """A step that runs a command."""
    return {**use("Bash", command=command, description="run it"), **more}


def make_repo(path: Path) -> Path:
    """Make a repository with one commit."""
    path.mkdir()
    (path / "hello.txt").write_text("hello\n")
    for args in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *args], cwd=path, env={**os.environ, **GIT}, check=True, timeout=30)
    return path


class Stage:
    """Runs batches in a directory of its own; a second ``batch`` on the same stage is a restart."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repo = make_repo(root / "repo")
        self.state_dir = make_state_dir(root / "state")
        for name in ("api", "home", "claude"):
            (root / name).mkdir()
        self.cli: Path = find_cli()
        self.server: RehearsalServer | None = None

    def spec(self, *tickets: TicketSpec, **more: Any) -> BatchSpec:
        """A batch on the stage's repository."""
        return BatchSpec("stage", self.repo / "tickets.toml", self.repo, tickets, **more)

    @asynccontextmanager
    async def batch(
        self,
        spec: BatchSpec,
        scripts: Mapping[str, Sequence[Mapping[str, Any]]],
        adjust: Callable[[Engine], None] | None = None,
    ) -> AsyncIterator[Batch]:
        """Open a batch with a scripted API."""
        async with RehearsalServer(self.root / "api", scripts) as self.server:  # noqa: SIM117 - launch needs it
            async with open_batch(spec, self.state_dir, self.launch(), adjust=self._hasty(adjust)) as batch:
                try:
                    yield batch
                except Exception as error:
                    error.add_note("\n".join(self._told(batch)))
                    raise

    def _told(self, batch: Batch) -> Iterator[str]:
        """Say how far all tickets have come: what a wait that failed was for is not there any more."""
        for one in batch.board:
            served = [(s.event, s.step) for s in self.served(one.id)]
            yield f"{one.id}: {one.state} {one.detail!r}, attempts {one.attempts}, served {served}"

    def _hasty(self, adjust: Callable[[Engine], None] | None) -> Callable[[Engine], None]:
        def both(engine: Engine) -> None:
            engine.backoff_s = 0.05
            if adjust is not None:
                adjust(engine)

        return both

    def launch(self) -> Launch:
        """How the stage starts agents."""
        assert self.server is not None
        return rehearsal_launch(self.root, self.state_dir, self.cli, self.server, run_commands=True, recorder=None)

    def served(self, ticket: str, event: str = "served") -> list[Served]:
        """What the scripted API served to a ticket's agent."""
        assert self.server is not None
        return [s for s in self.server.served() if s.ticket == ticket and s.event == event]


def ticket(ident: str = "001", **more: Any) -> TicketSpec:
    """A ticket that may do everything without asking."""
    defaults: dict[str, Any] = {
        "title": ident,
        "prompt": f"Do {ident}.",
        "model": "sonnet",
        "permission_mode": "acceptEdits",
        "allowed_tools": ("Bash",),
    }
    return TicketSpec(ident, **{**defaults, **more})


@asynccontextmanager
async def running(batch: Batch) -> AsyncIterator[None]:
    """Run a batch as under the screen; it is stopped in the end."""
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: batch.pool.run(stay=True))
        yield
        batch.request_stop()


async def until(true: Callable[[], object], seconds: float = 45.0) -> None:
    """Wait until something is so; fail after a while. Polls, since what is waited for is outside of us."""
    with anyio.fail_after(seconds):
        while not true():  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def until_state(batch: Batch, ident: str, *states: State) -> None:
    """Wait until a ticket is in one of the states."""
    await until(lambda: batch.board[ident].state in states)


def is_written(root: Path, words: str) -> bool:
    """Whether a session's file somewhere below ``root`` holds some words.

    The CLI writes its file a moment after it acts. An agent that is killed in between has, for its session, not acted:
    the scripted API then serves the same step again.
    """
    return any(words in path.read_text() for path in root.glob("**/projects/*/*.jsonl"))


def agents() -> list[ProcessId]:
    """Agents of this test process that are alive."""
    return [p for p in descendants(os.getpid()) if b"_bundled/claude" in _cmdline(p.pid)]


def _cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
