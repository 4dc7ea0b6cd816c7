"""Frozen records to rows and back, from their own field types, so that a new field cannot be forgotten.

Enums become their values, booleans 0 or 1, tuples and mappings JSON. Text loses its lone surrogates on the way: SQLite
cannot hold them, and one bad character must not stop a ticket.
"""

from __future__ import annotations

import json
import types
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from supervisor.core import events as ev

T = TypeVar("T")


def clean(text: str) -> str:
    """Return text that can be encoded: lone surrogates become U+FFFD, NUL becomes its picture."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\u2400")


def to_column(value: object) -> Any:
    """Return the value as SQLite stores it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, tuple | list | dict) or hasattr(value, "keys"):
        return clean(json.dumps(_plain(value), ensure_ascii=False))
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if hasattr(value, "items"):
        return {str(k): _plain(v) for k, v in value.items()}
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    return value


def to_row(record: Any) -> dict[str, Any]:
    """Return a record's fields as columns, without those that are true only while we live."""
    return {f.name: to_column(getattr(record, f.name)) for f in fields(record) if "live" not in f.metadata}


def from_row(kind: type[T], row: dict[str, Any]) -> T:
    """Return the record that ``to_row`` made the row of; columns it does not know are left out."""
    readers = _readers(kind)  # type: ignore[arg-type]  # a class is hashable, whatever the stub of the cache thinks
    return kind(**{name: read(row[name]) for name, read in readers.items() if name in row})


@cache
def _readers(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {f.name: _reader(hints[f.name]) for f in fields(kind)}


def _reader(hint: Any) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        inner = _reader(next(a for a in get_args(hint) if a is not type(None)))
        return lambda value: None if value is None else inner(value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if hint is bool:
        return bool
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value: from_row(hint, value)
    if get_origin(hint) is tuple:
        return lambda value: tuple(json.loads(value) if isinstance(value, str) else value)
    if get_origin(hint) is not None:
        return lambda value: json.loads(value) if isinstance(value, str) else value
    return lambda value: value


_EVENT_TYPES = {cls.__name__: cls for base in (ev.Event, ev.Lasting) for cls in base.__subclasses__()}


RETIRED = frozenset({"Wished", "BudgetChanged"})
"""Kinds of events that earlier versions wrote and nobody reads any more."""


def event_row(event: ev.Event) -> dict[str, Any]:
    """Return an event as a row of the events table."""
    written = [f.name for f in fields(event) if f.name not in ("ticket", "at") and "elsewhere" not in f.metadata]
    body = {name: _plain(getattr(event, name)) for name in written}
    return {
        "ticket": event.ticket,
        "at": event.at,
        "type": type(event).__name__,
        "body": clean(json.dumps(body, ensure_ascii=False)),
    }


def event_from_row(row: dict[str, Any]) -> ev.Event:
    """Return the event of a row. Raises KeyError for a type that a newer version wrote."""
    body = json.loads(row["body"])
    return from_row(_EVENT_TYPES[row["type"]], {"ticket": row["ticket"], "at": row["at"], **body})
