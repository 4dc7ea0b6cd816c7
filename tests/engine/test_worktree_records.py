"""Worktrees that are gone while git still knows of them: ours come back, the operator's are not our business."""

from __future__ import annotations

import shlex
import shutil
from typing import TYPE_CHECKING

import anyio
import pytest

from supervisor.core.errors import WorktreeError
from supervisor.engine.git import git
from supervisor.engine.worktree import Worktrees
from tests.engine.world import Pipe

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.world import World

pytestmark = pytest.mark.anyio


@pytest.fixture
def worktrees(world: World) -> Worktrees:
    """The worktrees of a batch."""
    return Worktrees(world.repo, world.state_dir / "worktrees", "stage")


async def _listed(world: World) -> str:
    return await git(world.repo, "worktree", "list", "--porcelain")


@pytest.mark.parametrize("locked", [False, True], ids=["plain", "locked"])
async def test_the_operators_missing_worktree_stays_known(
    world: World, worktrees: Worktrees, tmp_path: Path, locked: bool
) -> None:
    """It may be on a disk that is not plugged in."""
    theirs = tmp_path / "theirs"
    await git(world.repo, "worktree", "add", "-q", "-b", "theirs", str(theirs))
    if locked:
        await git(world.repo, "worktree", "lock", str(theirs))
    shutil.rmtree(theirs)
    await worktrees.ensure("001", "main", None)
    shutil.rmtree(worktrees.path("001"))
    assert (await worktrees.ensure("001", "main", None)).created
    assert f"worktree {theirs}\n" in await _listed(world)


async def test_the_operators_missing_worktree_on_our_branch_is_an_error(
    world: World, worktrees: Worktrees, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    await git(world.repo, "worktree", "add", "-q", "-b", worktrees.branch("001"), str(theirs))
    shutil.rmtree(theirs)
    with pytest.raises(WorktreeError, match="no worktree for 001"):
        await worktrees.ensure("001", "main", None)
    assert f"worktree {theirs}\n" in await _listed(world)


@pytest.mark.parametrize("linked", [False, True], ids=["plain", "through-a-link"])
async def test_a_deleted_worktree_of_ours_comes_back(world: World, tmp_path: Path, linked: bool) -> None:
    home = world.state_dir / "worktrees"
    if linked:
        (tmp_path / "link").symlink_to(world.state_dir)
        home = tmp_path / "link" / "worktrees"
    worktrees = Worktrees(world.repo, home, "stage")
    first = await worktrees.ensure("001", "main", None)
    (first.path / "kept.txt").write_text("kept")
    await git(first.path, "add", ".")
    await git(first.path, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "work")
    shutil.rmtree(first.path)
    again = await worktrees.ensure("001", "main", first.base_commit)
    assert (again.created, again.path, again.base_commit) == (True, first.path, first.base_commit)
    assert (again.path / "kept.txt").read_text() == "kept"


@pytest.mark.parametrize("there", [True, False], ids=["half-made", "not-yet-made"])
@pytest.mark.parametrize("locked", [False, True], ids=["plain", "locked"])
async def test_a_draft_that_a_killed_start_left_is_made_again(
    world: World, worktrees: Worktrees, there: bool, locked: bool
) -> None:
    """git keeps its record of a worktree locked while it makes it."""
    draft = worktrees.path("001").with_name(".new-001")
    await git(world.repo, "worktree", "add", "-q", "-b", worktrees.branch("001"), str(draft))
    if locked:
        await git(world.repo, "worktree", "lock", "--reason", "initializing", str(draft))
    if not there:
        shutil.rmtree(draft)
    assert (await worktrees.ensure("001", "main", None)).created
    assert str(draft) not in await _listed(world)


async def test_a_stop_while_git_fills_a_worktree_spoils_nothing(
    world: World, worktrees: Worktrees, tmp_path: Path
) -> None:
    """A filter of the repository takes long; git is ended in the middle of it, and the next start makes it anew."""
    pipe = Pipe(tmp_path / "pipe")
    await git(world.repo, "config", "filter.slow.smudge", shlex.join(pipe.command))
    (world.repo / ".git" / "info" / "attributes").write_text("hello.txt filter=slow\n")
    async with anyio.create_task_group() as group:
        group.start_soon(worktrees.ensure, "001", "main", None)
        await pipe.pid()
        group.cancel_scope.cancel()
    await pipe.end()
    await git(world.repo, "config", "filter.slow.smudge", "cat")
    tree = await worktrees.ensure("001", "main", None)
    assert tree.created
    assert (tree.path / "hello.txt").read_text() == "hello\n"
