"""Shared by all tests: one async backend, and an environment without any real credentials."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pathlib import Path

for _name in [n for n in os.environ if n.startswith(("ANTHROPIC", "CLAUDE"))]:
    del os.environ[_name]

# How long an example takes says something of the machine, which may be busy, and nothing of the code.
settings.register_profile("supervise", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("supervise")


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep marks of test batches out of the user's own state directory, also those of child processes."""
    path = tmp_path_factory.mktemp("state-home")
    os.environ["XDG_STATE_HOME"] = str(path)
    return path


@pytest.fixture
def anyio_backend() -> str:
    """Run async tests on asyncio: the screen knows no other loop."""
    return "asyncio"
