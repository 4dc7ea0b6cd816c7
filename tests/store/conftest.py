"""An open store, and an open log of effects, each in a directory of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.store import chain
from supervisor.store.database import connect
from supervisor.store.effect_log import EffectLog
from supervisor.store.tickets import TicketStore
from tests.store.effect_logs import World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[TicketStore]:
    """A store that is open."""
    opened = TicketStore(tmp_path / "state.db")
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def world() -> World:
    """A world that nobody has touched."""
    return World()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EffectLog]:
    """An open log whose history fits together when the test is over."""
    with EffectLog(tmp_path / "effects.sqlite") as opened:
        yield opened
    db = connect(tmp_path / "effects.sqlite")
    assert chain.verify(db) == ()
    db.close()
