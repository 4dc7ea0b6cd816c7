"""Forks as rows; each is written together with its ticket and never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.forks import Fork
from supervisor.store.codec import from_row, to_row

if TYPE_CHECKING:
    from sqlite_utils import Database as Connection


def insert(db: Connection, fork: Fork) -> None:
    """Write a fork. A second one of the same letter is a fault and is refused. The caller holds the transaction."""
    row = to_row(fork)
    names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    db.execute(f"INSERT INTO forks ({names}) VALUES ({values})", row)


def select(db: Connection) -> tuple[Fork, ...]:
    """Return all forks, oldest first."""
    return tuple(from_row(Fork, row) for row in db.query("SELECT * FROM forks ORDER BY created, rowid"))
