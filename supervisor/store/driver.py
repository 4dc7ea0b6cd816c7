"""The SQLite module that sqlite-utils uses: ``pysqlite3`` where its wheel is installed, else the standard library's.

Their exceptions are not the same classes, so everybody takes the module from here.
"""

from sqlite_utils.utils import sqlite3  # type: ignore[attr-defined]  # used by it, not re-exported on paper

__all__ = ["sqlite3"]
