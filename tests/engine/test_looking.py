"""A ticket's past is looked at while no supervisor runs, as a running one would show it, and nothing is changed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.core.errors import ConfigError, Fault
from supervisor.engine import offline, place_requests
from supervisor.engine.looking import Sources
from supervisor.store.glance import glance
from tests.engine.place import sh
from tests.engine.test_rewinding import AFTER, BEFORE, place, worked
from tests.engine.world import ticket

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.core.spec import BatchSpec
    from tests.engine.world import World

    Reply = dict[str, Any]

pytestmark = pytest.mark.anyio


def sources(world: World, tmp_path: Path, load: Callable[[], BatchSpec] | None = None) -> Sources:
    homes = (tmp_path / "no such home", world.agents.config_dir)
    return Sources(load or (lambda: world.spec(ticket())), homes)


@pytest.mark.parametrize(
    ("do", "more"),
    [
        ("cuts", {}),
        ("checkpoints", {}),
        ("preview", {"to": "2"}),
        ("preview", {"to": "1", "source": "snapshot"}),
        ("preview", {"source": "base"}),
    ],
)
async def test_it_is_as_a_running_supervisor_says(world: World, tmp_path: Path, do: str, more: Reply) -> None:
    asked = {"do": do, "ticket": "00", **more}
    live = {"cuts": place_requests.cuts, "checkpoints": place_requests.checkpoints, "preview": place_requests.preview}
    async with worked(world) as batch:
        told = await live[do](batch.engine, asked)
    events, refs = _events(world), sh(world.repo, "for-each-ref")
    found = await offline.answer(world.state_dir, asked, sources(world, tmp_path))
    assert found == told
    assert found.get("cuts") or found.get("checkpoints") or found.get("files"), "there is something to see"
    assert (_events(world), sh(world.repo, "for-each-ref")) == (events, refs)


def _events(world: World) -> int:
    with glance(world.state_dir) as seen:
        return len(seen.events("001"))


async def test_files_that_are_gone_are_those_that_were_kept(world: World, tmp_path: Path) -> None:
    async with worked(world) as batch:
        worktree = place(batch)
    shutil.rmtree(worktree)
    asked = {"do": "preview", "ticket": "001", "to": "2"}
    found = await offline.answer(world.state_dir, asked, sources(world, tmp_path))
    assert {f["path"] for f in found["files"]} == {*AFTER, *BEFORE}
    assert any("worktree is gone" in note for note in found["notes"])


async def test_a_rehearsals_repository_is_not_the_one_that_the_file_names(world: World, tmp_path: Path) -> None:
    async with worked(world):
        pass
    other = world.spec(ticket())
    other = type(other)(other.name, other.path, tmp_path, other.tickets)
    asked = {"do": "checkpoints", "ticket": "001"}
    found = await offline.answer(world.state_dir, asked, sources(world, tmp_path, lambda: other))
    assert [p["number"] for p in found["checkpoints"]] == [2, 1]


async def test_what_cannot_be_looked_at_says_why_and_what_helps(world: World, tmp_path: Path) -> None:
    async with worked(world):
        pass

    def missing() -> BatchSpec:
        raise ConfigError((Fault("tickets.toml", "", "no such file"),))

    async def refused(asked: Reply, where: Sources | None) -> str:
        reply = await offline.answer(world.state_dir, {"ticket": "001", **asked}, where)
        return str(reply["error"])

    here = sources(world, tmp_path)
    asked = {"do": "preview", "to": "2", "source": "checkpoint"}
    assert "start one with `supervise`, or `supervise run --headless`" in await refused(asked, here)
    assert "without --checkpoint" in await refused(asked, here)
    said = await refused({"do": "cuts"}, sources(world, tmp_path, missing))
    assert said == (
        "no supervisor is running, and the batch's file cannot be used: tickets.toml: no such file: name it with --file"
    )
    assert (await refused({"do": "cuts"}, None)).startswith("no supervisor is running: start one with `supervise`")
    assert await refused({"do": "cuts", "ticket": "7"}, here) == 'there is no ticket "7"'
    shutil.rmtree(world.agents.config_dir)
    assert "has not reached the disk" in await refused({"do": "cuts"}, here)
