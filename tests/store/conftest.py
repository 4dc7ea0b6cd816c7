"""An open store in a directory of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.store.tickets import TicketStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[TicketStore]:
    """A store that is open."""
    opened = TicketStore(tmp_path / "state.db")
    await opened.open()
    yield opened
    await opened.close()
