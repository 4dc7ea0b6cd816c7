"""One state directory, one batch: another one is refused, and nothing of either is touched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.core.errors import StoreError
from supervisor.core.model import State, TicketSnapshot
from supervisor.core.spec import BatchSpec
from supervisor.engine.batch import open_batch
from supervisor.engine.belonging import Belonging, belonging
from supervisor.engine.context import Launch
from supervisor.engine.worktree import Worktrees
from tests.engine.world import World, ticket

pytestmark = pytest.mark.anyio


def spec(world: World, name: str, file: str) -> BatchSpec:
    path = world.root / file
    path.touch()
    return BatchSpec(name, path, world.repo, (ticket(),))


async def opened(world: World, batch: BatchSpec) -> TicketSnapshot:
    """Open a batch in the world's directory, and return its ticket."""
    launch = Launch(Path("unused"), world.agents.config_dir, lambda _: {})
    async with open_batch(batch, world.state_dir, launch) as found:
        return found.board["001"]


async def test_another_batch_is_refused_and_told_whose_the_directory_is(world: World) -> None:
    mine = spec(world, "mine", "mine.toml")
    await opened(world, mine)
    with pytest.raises(
        StoreError, match=r"holds the batch 'mine' of .*mine\.toml; .*other\.toml is 'other'.*--state-dir"
    ):
        await opened(world, replace(spec(world, "other", "other.toml"), tickets=(ticket("009"),)))
    assert (await opened(world, mine)).state is State.QUEUED, "what was there is as it was"


async def test_a_batch_that_was_renamed_is_told_how_it_was_called(world: World) -> None:
    await opened(world, spec(world, "mine", "mine.toml"))
    with pytest.raises(StoreError, match='name it "mine" again'):
        await opened(world, spec(world, "ours", "mine.toml"))


async def test_two_files_without_a_name_are_two_batches(world: World) -> None:
    first = spec(world, "shop", "a.toml")
    await opened(world, first)
    with pytest.raises(StoreError, match="is another file"):
        await opened(world, spec(world, "shop", "b.toml"))


async def test_a_file_that_was_moved_is_the_same_batch(world: World) -> None:
    first = spec(world, "shop", "a.toml")
    await opened(world, first)
    first.path.unlink()
    await opened(world, spec(world, "shop", "b.toml"))
    with pytest.raises(StoreError, match="is another file"):
        await opened(world, spec(world, "shop", "a.toml"))


@pytest.mark.parametrize("name", ["shop", "a name: with/ everything"])
def test_a_directory_of_an_earlier_version_is_known_by_its_branches(world: World, tmp_path: Path, name: str) -> None:
    mine, branch = spec(world, name, "a.toml"), Worktrees(world.repo, world.state_dir, name).branch("002")
    tickets = [TicketSnapshot("001"), TicketSnapshot("002", branch=branch)]
    known = belonging("", tickets)
    assert known is not None
    assert known.refusal(mine, tmp_path) is None
    assert known.refusal(replace(mine, name="other"), tmp_path) is not None
    assert belonging("", tickets[:1]) is None


def test_a_name_is_enough() -> None:
    assert belonging('{"name": "shop", "file": "/x/a.toml"}', ()) == Belonging("shop", "/x/a.toml")
