"""Whatever a file holds, it loads or is refused with a ConfigError."""

from __future__ import annotations

import contextlib
import copy
import datetime
import tomllib
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from supervisor.config import ConfigError, load, notes, parse, summary
from supervisor.core.text import safe_line

PATH = Path(__file__)
FULL = (PATH.parent / "full.toml").read_text(encoding="utf-8")
WORDS = ["", " ", "001 login", "002", "send", "once", "{pr}", "{{team}}", "a | b", "../x", "\x1b[2J", "m:f", "\0", "{"]
scalars = st.one_of(
    st.none().map(lambda _: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)),
    st.booleans(),
    st.integers(),
    st.integers(10**300, 10**400),
    st.floats(),
    st.sampled_from(WORDS),
    st.text(max_size=8),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of everything inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, entry in inside for deeper in places(entry, (*path, key)))]


RAW = tomllib.loads(FULL)
PLACES = places(RAW)[1:]


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """Return the tables of a good file with a few values replaced, removed or added."""
    raw = copy.deepcopy(RAW)
    for *path, last in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3)):
        inner: Any = raw
        with contextlib.suppress(KeyError, IndexError, TypeError, AttributeError):
            for step in path:
                inner = inner[step]
            kind = draw(st.sampled_from(["replace", "remove", "add", "repeat"]))
            if kind == "replace":
                inner[last] = draw(values)
            elif kind == "remove":
                del inner[last]
            elif kind == "repeat":
                inner.append(copy.deepcopy(inner[last]))
            else:
                inner[draw(st.text(max_size=6))] = draw(values)
    return raw


@given(mutated())
def test_a_changed_file_loads_or_is_refused(raw: dict[str, Any]) -> None:
    try:
        spec = parse(raw, PATH)
    except ConfigError as error:
        assert error.faults
        assert all(safe_line(str(fault), 10_000) == str(fault) for fault in error.faults)
    else:
        assert summary(spec)
        notes(spec)


@given(st.dictionaries(st.sampled_from(["batch", "defaults", "ticket", "effects", "x"]), values))
def test_any_tables_load_or_are_refused(raw: dict[str, Any]) -> None:
    with contextlib.suppress(ConfigError):
        parse(raw, PATH)


@given(st.integers(0, len(FULL) - 1), st.integers(0, 40), st.binary(max_size=6))
def test_changed_bytes_load_or_are_refused(tmp_path_factory: Any, start: int, length: int, new: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "tickets.toml"
    data = FULL.encode()
    path.write_bytes(data[:start] + new + data[start + length :])
    with contextlib.suppress(ConfigError):
        load(path)
