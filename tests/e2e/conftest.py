"""A stage for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.stage import Stage, agents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage that must be left without any agent alive."""
    yield Stage(tmp_path)
    assert agents() == [], "an agent outlived its batch"
