"""Diffs of edits: from what a tool is given and from what the CLI reports, whatever either may hold."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.core.diffs import DIFF_CHARS, EDITING_TOOLS, Diff, of_input, of_result


def edit(old: str, new: str) -> Diff | None:
    return of_input("Edit", {"file_path": "x", "old_string": old, "new_string": new})


def test_an_edit_shows_what_differs_with_two_lines_around() -> None:
    old = "\n".join("abcdefg")
    assert edit(old, old.replace("d", "D\nE")) == Diff("@@\n b\n c\n-d\n+D\n+E\n e\n f", 2, 1)


def test_places_far_apart_are_hunks_of_their_own() -> None:
    old = "\n".join(map(str, range(30)))
    made = edit(old, f"new\n{old}\nlast")
    assert made is not None
    assert made.text.count("@@") == 2
    assert (made.added, made.removed) == (2, 0)


@pytest.mark.parametrize(
    ("tool", "given_", "text"),
    [
        ("Write", {"content": "a\nb\n"}, "@@\n+a\n+b"),
        ("NotebookEdit", {"new_source": "a"}, "@@\n+a"),
        (
            "MultiEdit",
            {"edits": [{"old_string": "a", "new_string": "b"}, 7, {"new_string": "c"}]},
            "@@\n-a\n+b\n@@\n+c",
        ),
        ("Edit", {"old_string": "a\r\nb", "new_string": "a\nc"}, "@@\n a\n-b\n+c"),
    ],
)
def test_each_tool(tool: str, given_: dict[str, Any], text: str) -> None:
    made = of_input(tool, given_)
    assert made is not None
    assert made.text == text


@pytest.mark.parametrize(
    ("tool", "given_"),
    [
        ("Bash", {"content": "a"}),
        ("Write", {}),
        ("Write", "a"),
        ("Edit", {"old_string": "a", "new_string": "a"}),
        ("MultiEdit", {"edits": "a"}),
        ("Write", {"content": "a\n" * 1_000_000}),
        ("Edit", {"old_string": "a\n" * 1_000_000, "new_string": "b"}),
    ],
)
def test_no_diff(tool: str, given_: object) -> None:
    assert of_input(tool, given_) is None


HUNK = {"oldStart": 3, "oldLines": 2, "newStart": 3, "newLines": 2, "lines": [" a", "-b", "+c", "\\ No newline", 5]}


def test_what_the_cli_reports() -> None:
    told = {"filePath": "x", "structuredPatch": [HUNK, "?", {"lines": 1}, {**HUNK, "oldStart": "3"}]}
    assert of_result(told) == Diff("@@ -3,2 +3,2 @@\n a\n-b\n+c", 1, 1)
    created = {"type": "create", "filePath": "x", "content": "a\nb\n", "structuredPatch": []}
    assert of_result(created) == Diff("@@ -0,0 +1,2 @@\n+a\n+b", 2, 0)


@pytest.mark.parametrize("told", [None, "Error: no", [], {}, {"filePath": 1}, {"filePath": "x", "structuredPatch": {}}])
def test_results_that_are_no_edits(told: object) -> None:
    assert of_result(told) is None


def test_a_diff_is_bounded_and_counts_what_it_leaves_out() -> None:
    made = of_input("Write", {"content": "\n".join(["x" * 3000] * 100)})
    assert made is not None
    assert len(made.text) <= DIFF_CHARS
    assert max(map(len, made.text.split("\n"))) == 401
    assert made.added == 100
    assert made.text.count("\n") < 20


def test_big_edits_take_no_time() -> None:
    old, new = ("\n".join(f"{i * step} line" for i in range(5000)) for step in (2, 3))
    began = time.process_time()
    made = edit(old, new)
    assert time.process_time() - began < 1
    assert made is not None
    assert made.removed > 4000


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
fields = st.sampled_from(
    ["content", "edits", "filePath", "lines", "new_source", "new_string", "oldStart", "old_string", "structuredPatch"]
)


@given(
    st.sampled_from(sorted(EDITING_TOOLS)),
    st.dictionaries(fields, anything | st.lists(st.dictionaries(fields, anything))),
)
def test_nothing_makes_it_raise(tool: str, given_: dict[str, Any]) -> None:
    for made in (of_input(tool, given_), of_result(given_)):
        assert made is None or len(made.text) <= DIFF_CHARS
        assert made is None or all(line[:1] in " +-@" for line in made.text.split("\n") if line)
    json.dumps(given_)
