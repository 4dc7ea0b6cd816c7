"""What the operator set for the whole batch, by name; it holds until they set something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database as Connection


def value(db: Connection, name: str) -> str:
    """Return a setting; empty where it was never set."""
    return next((str(row["value"]) for row in db.query("SELECT value FROM settings WHERE name = ?", [name])), "")


def put(db: Connection, name: str, text: str) -> None:
    """Set it."""
    db.execute(
        "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [name, text],
    )
