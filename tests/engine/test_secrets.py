"""What an agent or a command has seen of the environment is neither written down nor shown, wherever it says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.core import events as ev
from supervisor.core.model import State
from supervisor.engine.reader import Reader
from tests.engine.acts import finish
from tests.engine.world import ticket

if TYPE_CHECKING:
    from tests.engine.fake_session import Act, FakeSession
    from tests.engine.world import World

pytestmark = pytest.mark.anyio
VALUE = "s3cr3t-Val/99"
SAYS = ("sh", "-c", "echo check $MY_TOKEN; test -e second || { touch second; exit 1; }")


def _tells_all() -> Act:
    """The agent repeats a secret in whatever it can say, and writes it into a file and its session's own one."""

    async def act(session: FakeSession, uuid: str) -> None:
        session.begin(uuid)
        session.speak(f"It is {VALUE}.")
        at = (session.start.ticket, session.clock())
        session.put(ev.ToolCalled(*at, "t1", "Bash", f"echo {VALUE}", f"echo {VALUE}"))
        session.put(ev.ToolReturned(*at, "t1", VALUE))
        (session.start.cwd / "notes.txt").write_text(f"token {VALUE}\n")
        session.result(uuid, "success", "completed", text=f"done with {VALUE}", errors=(VALUE,), denials=(VALUE,))

    return act


async def test_nothing_an_agent_or_a_command_says(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", VALUE)
    monkeypatch.setattr("tests.engine.fake_session.FakeSession.stderr_tail", lambda _: f"warning: {VALUE}")
    world.agents.acts["001"].extend([_tells_all(), finish()])
    spec = ticket(setup=("sh", "-c", "echo setup $MY_TOKEN"), verify=SAYS, verify_rounds=2)
    async with world.batch(spec) as batch:
        await batch.pool.run()
        assert batch.board["001"].state is State.DONE
        shown = str(batch.board.transcript("001").since())
        assert "It is [MY_TOKEN]." in shown
        assert VALUE not in shown
        reader = Reader(batch.engine)
        assert "+token [MY_TOKEN]" in await reader.diff("001")
        assert VALUE not in str(await reader.history("001"))
        _, second = world.agents.prompts("001")
        assert "check [MY_TOKEN]" in second.text
    written = [p for p in world.state_dir.rglob("*") if p.is_file() and "worktrees" not in p.parts]
    assert {p.name for p in written} >= {"state.db", "setup.log", "verify.log"}
    assert [p for p in written if VALUE.encode() in p.read_bytes()] == []


async def test_a_setup_that_fails_with_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", VALUE)
    found = (await world.run(ticket(setup=("sh", "-c", "echo no $MY_TOKEN; exit 1"))))["001"]
    assert found.state is State.FAILED
    assert found.detail.startswith("setup: exit 1: no [MY_TOKEN]")


async def test_what_the_operator_writes_is_sent_as_it_stands(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", VALUE)
    await world.run(ticket(prompt=f"Use {VALUE}."))
    (sent,) = world.agents.prompts("001")
    assert f"Use {VALUE}." in sent.text
