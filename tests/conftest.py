"""Shared by all tests: one async backend, and an environment without any real credentials."""

from __future__ import annotations

import os

import pytest

for _name in [n for n in os.environ if n.startswith(("ANTHROPIC", "CLAUDE"))]:
    del os.environ[_name]


@pytest.fixture
def anyio_backend() -> str:
    """Run async tests on asyncio: the screen knows no other loop."""
    return "asyncio"
