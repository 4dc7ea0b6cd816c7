"""What the operator says to real agents: now and later, to twenty at once, and across a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from supervisor.control_client import ask
from supervisor.core.model import Outcome, PromptKind, State
from tests.e2e.stage import Stage, agents, bash, make_repo, say, ticket, until, until_state, use
from tests.e2e.terminal import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.anyio, pytest.mark.cli, pytest.mark.timeout(240)]
ROOT = Path(__file__).parents[2]
ENDLESS: dict[str, Any] = {"endless": True, "text": "and so on"}


async def test_a_message_for_now_and_one_for_later(stage: Stage) -> None:
    """The turn is interrupted for the first; the second waits for the end of the turn that answers it."""
    steps = [ENDLESS, use("Write", file_path="a.txt", content="a\n"), say("As you wish."), say("That too.")]
    async with stage.batch(stage.spec(ticket()), {"001": steps}) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            await until(lambda: stage.served("001"))
            batch.submit("message", ["001"], {"text": "Write a file instead.", "now": True})
            batch.submit("message", ["001"], {"text": "And tell me."})
        assert batch.board["001"].state is State.DONE
        prompts = await batch.engine.journal.store.prompts("001")
        (attempt,) = await batch.engine.journal.store.attempts("001")
    assert [(p.kind, p.text, p.answered) for p in prompts] == [
        (PromptKind.TASK, "Do 001.", True),
        (PromptKind.MESSAGE, "Write a file instead.", True),
        (PromptKind.MESSAGE, "And tell me.", True),
    ]
    assert attempt.outcome is Outcome.DONE
    assert [s.step for s in stage.served("001")] == [0, 1, 2, 3]


async def test_many_busy_tickets_are_interrupted_together_and_nothing_is_paid_after(stage: Stage) -> None:
    names = [f"{n:03}" for n in range(1, 7)]
    tools, streams = [bash("sleep 60"), say("Never.")], [{**ENDLESS, "times": -1}]
    scripts = {name: tools if n % 2 else streams for n, name in enumerate(names)}
    async with stage.batch(stage.spec(*map(ticket, names), slots=6), scripts) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            await until(lambda: all(stage.served(name) for name in names), 60)
            await until(lambda: all(batch.board[name].detail.startswith("Bash") for name in names[1::2]), 60)
            served = len([s for name in names for s in stage.served(name)])
            began = time.monotonic()
            batch.submit("interrupt", names)
            await until(lambda: all(t.state is State.PAUSED for t in batch.board))
            took = time.monotonic() - began
        assert agents() == []
        assert len([s for name in names for s in stage.served(name)]) == served
        for name in names:
            (attempt,) = await batch.engine.journal.store.attempts(name)
            assert attempt.terminal_reason in ("aborted_streaming", "aborted_tools"), "each has reported its result"
    assert took < 4.0, "the aim is 2 s for twenty, here six on a busy machine"


async def test_verbs_while_an_agent_starts_and_while_the_batch_stops(stage: Stage) -> None:
    spec = stage.spec(ticket("001"), ticket("002"), slots=2)
    async with stage.batch(spec, {"001": [ENDLESS], "002": [{**ENDLESS, "times": -1}]}) as batch:
        async with anyio.create_task_group() as group:
            group.start_soon(batch.pool.run)
            await until_state(batch, "001", State.STARTING)
            batch.submit("message", ["001"], {"text": "Not yet."})
            batch.submit("interrupt", ["001"])
            await until_state(batch, "001", State.PAUSED)
            await until_state(batch, "002", State.RUNNING)
            batch.request_stop()
            batch.submit("message", ["002"], {"text": "Too late."})
            batch.submit("cancel", ["002"])
        assert batch.board["001"].messages == 1
        assert batch.board["002"].state is State.QUEUED, "a batch that stops takes no verbs"
        assert batch.board["002"].pending is None
        assert batch.board["002"].messages == 0
    assert agents() == []


FILE = """
[batch]
slots = 1
[[ticket]]
id = "001"
prompt = "Work."
model = "sonnet"
[[ticket.rehearsal]]
text = "I think about it."
delay_s = 0
chunk_s = 0.25
size = 60
[[ticket.rehearsal]]
text = "I heard you."
delay_s = 1.5
chunk_s = 0
[[ticket.rehearsal]]
text = "That was all."
delay_s = 0
chunk_s = 0
"""


class Rehearsal:
    """A rehearsal in a process of its own that can be killed and begun again."""

    def __init__(self, root: Path) -> None:
        self.file = make_repo(root / "repo") / "tickets.toml"
        self.file.write_text(FILE)
        self.keep = root / "kept"
        self.state_dir = self.keep / ".supervisor"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> Iterator[dict[str, Any]]:
        """Start it, and return what it prints as it comes."""
        argv = ("rehearse", str(self.file), "--headless", "--json", "--state-dir", str(self.keep))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "supervisor", *argv],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        return (json.loads(line) for line in self.process.stdout)

    def kill(self) -> None:
        """Kill it."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        with suppress(ValueError):  # what it printed may have been read before
            self.process.communicate()

    def heard(self) -> list[str]:
        """Return the prompts of the session's file that came from people."""
        found = list(self.keep.glob("**/projects/*/*.jsonl"))
        if not found:
            return []
        (path,) = found
        lines = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
        said = [line["message"]["content"] for line in lines if line.get("type") == "user"]
        return [words for words in said if isinstance(words, str)]

    def wait_for(self, words: str) -> None:
        """Wait until the agent, another process, has written a prompt to its file."""
        wait_until(lambda: words in self.heard())


@pytest.fixture
def rehearsal(tmp_path: Path) -> Iterator[Rehearsal]:
    """A rehearsal that is ended when the test leaves it."""
    found = Rehearsal(tmp_path)
    yield found
    if found.process is not None:
        found.kill()


@pytest.mark.parametrize("moment", ["accepted", "delivered"])
def test_a_kill_between_accepted_and_delivered_or_just_after_delivers_it_once(
    rehearsal: Rehearsal, moment: str
) -> None:
    said = rehearsal.start()
    next(line for line in said if line.get("state") == "running")
    rehearsal.wait_for("Work.")
    told = {"text": "Hear me.", "now": moment == "delivered"}
    answer = ask(rehearsal.state_dir, {"do": "verb", "verb": "message", "tickets": ["001"], "args": told})
    assert answer is not None
    assert answer["tickets"][0]["accepted"], answer
    if moment == "delivered":
        rehearsal.wait_for("Hear me.")
    rehearsal.kill()
    said = rehearsal.start()
    assert [line for line in said if line.get("state") == "done"]
    assert rehearsal.process is not None
    assert rehearsal.process.wait(timeout=60) == 0
    assert sum(words.startswith("Hear me.") for words in rehearsal.heard()) == 1
    assert rehearsal.heard()[0] == "Work."
