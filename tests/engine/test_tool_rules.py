"""Which rules are offered for what the agent's side suggests, and inputs as they are kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from claude_agent_sdk import PermissionUpdate
from claude_agent_sdk.types import PermissionRuleValue

from supervisor.engine.tool_rules import suggested
from supervisor.engine.untrusted import kept

MODE = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")


def _rules(*values: tuple[str, str | None], behavior: Any = "allow") -> PermissionUpdate:
    rules = [PermissionRuleValue(tool, content) for tool, content in values]
    return PermissionUpdate(type="addRules", rules=rules, behavior=behavior, destination="localSettings")


def _dirs(*places: str) -> PermissionUpdate:
    return PermissionUpdate(type="addDirectories", directories=list(places), destination="session")


@pytest.mark.parametrize(
    ("tool", "suggestions", "rules"),
    [
        ("Bash", [_rules(("Bash", "touch x *"), ("Bash", "rm x *"))], ["Bash(touch x *)", "Bash(rm x *)"]),
        ("Bash", [_rules(("Bash", "touch x *")), _dirs("/w"), MODE], ["Bash(touch x *)"]),
        ("mcp__docs__search", [_rules(("mcp__docs__search", None))], ["mcp__docs__search"]),
        ("Write", [MODE], ["Edit(./**)"]),
        ("Edit", [MODE, _dirs("/tmp/out/")], ["Edit(//tmp/out/**)"]),
        ("Bash", [MODE], []),
        ("Bash", [_rules(("Bash", "ls *"), behavior="deny")], []),
        ("Bash", [_rules(("Bash", "x) Bash(*"))], []),
        ("Bash", [_rules(("Bash", "ls *"), ("Bash", "x\ny"))], []),
        ("Bash", [_rules(("Bash, Write", None))], []),
        ("Bash", [_rules(*[("Bash", f"c{n} *") for n in range(11)])], []),
        ("Write", [MODE, _dirs("/tmp/a)b")], []),
        ("Read", [], []),
        ("Bash", [SimpleNamespace(type="addRules", behavior="allow"), SimpleNamespace(), 7], []),
        ("Bash", [SimpleNamespace(type="addRules", behavior="allow", rules=[7])], []),
    ],
)
def test_rules(tool: str, suggestions: list[Any], rules: list[str]) -> None:
    assert [str(rule) for rule in suggested(tool, suggestions)] == rules


def test_an_input_is_kept_whole_where_it_is_small() -> None:
    given = {"a": "text", "b": [1, 2.5, None, True], "c": {"d": {"e": "f"}}}
    assert kept(given, lambda text: text) == given


def test_an_input_is_cut_where_it_is_large_deep_or_odd() -> None:
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"x": deep}
    given: dict[str, Any] = {
        "long": "ab" * 50_000, "many": {str(n): n for n in range(500)}, "deep": deep, "nan": float("nan"),
    }  # fmt: skip
    found = kept(given, lambda text: text.replace("b", "B"))
    assert found["long"].startswith("aBaB")
    assert len(str(found)) < 45_000
    assert found["many"]["…"] == "300 more"
    assert "…" in str(found["deep"])
    assert found["nan"] == "nan"
    assert list(kept({str(n): "x" * 30_000 for n in range(9)}, str.lower))[-1] == "…"
