"""A world for each test."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.e2e.stage import make_repo
from tests.engine.place import Place, make_model, sh
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


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a few files and one commit, to be copied."""
    return make_model(tmp_path_factory.mktemp("model") / "repo")


@pytest.fixture
def place(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A worktree on a branch of its own; git has no name, no signing key and no rules of whoever runs the tests."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    shutil.copytree(model, tmp_path / "repo", symlinks=True)
    sh(tmp_path / "repo", "worktree", "add", "-q", "-b", "work", str(tmp_path / "work"))
    return Place(tmp_path)
