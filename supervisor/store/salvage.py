"""Reads what can be read of a damaged SQLite file, row by row. Knows nothing of what the rows mean.

A damaged page hides the rows on it and those that are found through it, and no others. So reading jumps over each
fault, in longer and longer steps, and then looks one by one for the rows it jumped over. The file is only read, and
never for longer than allowed.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from supervisor.store.driver import sqlite3

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    Row = dict[str, Any]
    Take = Callable[[tuple[Any, ...]], None]

_LONGEST_JUMP = 2**24
_LOOKED_FOR = 20_000
"""Most rows that are looked for one by one behind a fault."""
_STEPS_BETWEEN_LOOKS = 10_000
"""Steps of SQLite's machine between two looks at the clock."""


@dataclass
class Table:
    """What was read of one table."""

    name: str
    rows: list[Row] = field(default_factory=list)
    whole: bool = True
    """No fault was met: these are all its rows."""


class Salvage:
    """A damaged database, open for reading until a deadline."""

    def __init__(self, path: Path, seconds: float) -> None:
        """Open a file, which is best a copy: its write-ahead log is folded in.

        Args:
            path: the file.
            seconds: how long all reading may take together; what comes later counts as unreadable.
        """
        self._until = time.monotonic() + seconds
        self._db = sqlite3.connect(str(path))
        self._db.text_factory = lambda raw: raw.decode("utf-8", "replace")
        self._db.set_progress_handler(self._is_late, _STEPS_BETWEEN_LOOKS)

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._db.close()

    @property
    def late(self) -> bool:
        """Whether the time was used up."""
        return time.monotonic() > self._until

    def _is_late(self) -> int:
        return int(self.late)

    def read(self, name: str, columns: Sequence[str], keys: Iterable[tuple[Any, ...]] = ()) -> Table:
        """Return all rows of a table that can be read, in the order of its row numbers or its primary key.

        Args:
            name: the table.
            columns: those wanted; one that the table does not have is left out.
            keys: values of its primary key to look for where the table cannot be read in order. Needed only for a
                table without row numbers.
        """
        table = Table(name)
        known, primary = self._columns(name, columns)
        if not known:
            table.whole = False
        elif primary:
            self._by_key(table, known, primary, keys)
        else:
            self._by_number(table, known)
        return table

    def _columns(self, name: str, wanted: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the wanted columns that a table has, and its primary key if it has no row numbers."""
        try:
            info = self._db.execute(f"PRAGMA table_info({name})").fetchall()
            listed = self._db.execute(f"PRAGMA table_list({name})").fetchall()
        except sqlite3.Error:
            return [], []
        names = [row[1] for row in info]
        primary = [row[1] for row in sorted(info, key=lambda row: row[5]) if row[5]]
        is_numbered = not (listed and listed[0][4])
        return [column for column in wanted if column in names], [] if is_numbered else primary

    def _take(self, table: Table, columns: Sequence[str], rest: str, values: Sequence[Any], take: Take) -> bool:
        """Hand on rows up to the first fault, which is noted; return whether there was none."""
        listed = ", ".join(column if column == "rowid" else f'"{column}"' for column in columns)
        try:
            for row in self._db.execute(f"SELECT {listed} FROM {table.name} {rest}", values):
                take(row)
        except sqlite3.DatabaseError:
            table.whole = False
            return False
        return True

    def _by_number(self, table: Table, columns: Sequence[str]) -> None:
        """Read a table that has row numbers."""
        found: dict[int, Row] = {}

        def read(rest: str, number: int) -> bool:
            return self._take(table, ("rowid", *columns), rest, [number], take)

        def take(row: tuple[Any, ...]) -> None:
            found[row[0]] = dict(zip(columns, row[1:], strict=True))

        start, jump = 1, 1
        gaps: list[range] = []
        while not read("NOT INDEXED WHERE rowid >= ? ORDER BY rowid", start) and jump < _LONGEST_JUMP:
            reached = max(found, default=0)
            begin, jump = (reached + 1, 2) if reached >= start else (start, jump * 2)
            start = begin + jump
            gaps.append(range(begin, start))
        for number in islice(chain.from_iterable(gaps), _LOOKED_FOR):
            if number not in found:
                read("WHERE rowid = ?", number)
        table.rows = [found[number] for number in sorted(found)]

    def _by_key(
        self, table: Table, columns: Sequence[str], primary: Sequence[str], keys: Iterable[tuple[Any, ...]]
    ) -> None:
        """Read a table without row numbers: from its begin, from its end, and then the rows that somebody knows of."""
        found: dict[tuple[Any, ...], Row] = {}

        def take(row: tuple[Any, ...]) -> None:
            entry = dict(zip(columns, row, strict=True))
            found[tuple(entry[name] for name in primary)] = entry

        if not self._take(table, columns, f"ORDER BY {', '.join(primary)}", [], take):
            backwards = ", ".join(f"{name} DESC" for name in primary)
            self._take(table, columns, f"ORDER BY {backwards}", [], take)
            where = " AND ".join(f"{name} = ?" for name in primary)
            for key in keys:
                if key not in found:
                    self._take(table, columns, f"WHERE {where}", key, take)
        table.rows = [found[key] for key in sorted(found)]
