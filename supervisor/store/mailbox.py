"""The mailbox: letters as rows, posted and closed together with what they lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.core.letters import Letter
from supervisor.store.codec import clean, from_row, to_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlite_utils import Database as Connection


def post(db: Connection, letter: Letter) -> None:
    """Write a letter; one that is there already stays as it is. The caller holds the transaction."""
    row = to_row(letter)
    names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    db.execute(f"INSERT INTO mailbox ({names}) VALUES ({values}) ON CONFLICT (id) DO NOTHING", row)


def close(db: Connection, letters: Sequence[str], at: float, says: str, *, refused: bool = False) -> None:
    """Note what came of letters; one that is closed already stays as it is. The caller holds the transaction."""
    for ident in letters:
        db.execute(
            "UPDATE mailbox SET closed = ?, says = ?, refused = ? WHERE id = ? AND closed IS NULL",
            [at, clean(says), int(refused), ident],
        )


def open_letters(db: Connection, ticket: str | None = None) -> tuple[Letter, ...]:
    """Return the letters that still wait to be carried out, oldest first."""
    where, values = ("AND ticket = ?", [ticket]) if ticket is not None else ("", [])
    rows = db.query(f"SELECT * FROM mailbox WHERE closed IS NULL {where} ORDER BY at, rowid", values)
    return tuple(from_row(Letter, row) for row in rows)


def letter(db: Connection, ident: str) -> Letter | None:
    """Return one letter."""
    return next((from_row(Letter, row) for row in db.query("SELECT * FROM mailbox WHERE id = ?", [ident])), None)
