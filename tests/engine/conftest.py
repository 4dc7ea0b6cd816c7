"""A world for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.stage import make_repo
from tests.engine.world import World

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one commit, to be copied."""
    return make_repo(tmp_path_factory.mktemp("template") / "repo")


@pytest.fixture
def world(tmp_path: Path, template: Path) -> World:
    """A repository, a state directory and scripted agents."""
    return World(tmp_path, template)
