"""The names that programs import, and that importing them late costs nothing early."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import supervisor
from supervisor import api

ROOT = Path(supervisor.__file__).parents[1]
HEAVY = ("claude_agent_sdk", "textual", "rich", "sqlite_utils", "anyio")


def imported_by(code: str) -> set[str]:
    """Return the modules that some code imports in an interpreter of its own."""
    words = f"import sys; before = set(sys.modules); {code}; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", words], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_the_package_imports_nothing_else() -> None:
    assert imported_by("import supervisor; supervisor.__version__; dir(supervisor)") == {"supervisor"}


def test_importing_the_table_of_names_imports_none_of_them() -> None:
    assert imported_by("import supervisor.api") == {"supervisor", "supervisor.api"}


@pytest.mark.parametrize(
    ("name", "unwanted"),
    [
        ("run_resuming", ("claude_agent_sdk", "textual", "sqlite_utils", "anyio")),
        ("summarise", HEAVY),
        ("SessionTable", ("claude_agent_sdk", "textual", "anyio")),
    ],
)
def test_a_name_imports_only_what_it_needs(name: str, unwanted: tuple[str, ...]) -> None:
    modules = imported_by(f"from supervisor import {name}")
    assert modules.isdisjoint(unwanted)


@pytest.mark.parametrize("name", sorted(api.MODULES))
def test_every_name_is_there_in_both_places(name: str) -> None:
    found = getattr(supervisor, name)
    assert found is getattr(api, name)
    assert found.__name__ == name
    assert found.__module__ == api.MODULES[name]
    assert found.__doc__


def test_both_lists_are_the_table() -> None:
    assert sorted(api.MODULES) == sorted(api.__all__) == sorted(supervisor.__all__)
    assert set(supervisor.__all__) | {"__version__"} <= set(dir(supervisor))
    assert set(api.__all__) <= set(dir(api))


def test_a_name_that_is_not_there_is_an_ordinary_attribute_error() -> None:
    for module in (supervisor, api):
        with pytest.raises(AttributeError, match="has no attribute 'run_resumin'"):
            module.run_resumin  # noqa: B018
    with pytest.raises(ImportError, match="run_resumin"):
        exec("from supervisor import run_resumin")


def test_modules_of_the_package_are_still_found() -> None:
    from supervisor import report

    assert report.__name__ == "supervisor.report"


def test_type_checkers_see_every_name() -> None:
    """They read the statement that never runs."""
    for module in (supervisor, api):
        source = Path(module.__file__ or "").read_text("utf-8")
        seen = source.split("if TYPE_CHECKING:", 1)[1].split("__all__", 1)[0]
        assert [name for name in api.__all__ if name not in seen] == []
