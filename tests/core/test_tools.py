"""Names of tools."""

from __future__ import annotations

import pytest

from supervisor.core.spec import EffectSpec
from supervisor.core.tools import tool_words
from supervisor.engine.effect_tools import tool_names


def test_an_effect_is_told_of_by_its_own_name() -> None:
    spec = EffectSpec("deploy", "once", "Deploys.", {})
    assert [tool_words(name) for name in tool_names([spec])] == ["effect deploy"]


@pytest.mark.parametrize("name", ["Bash", "mcp__docs__search", "mcp__effects__", ""])
def test_other_tools_keep_their_names(name: str) -> None:
    assert tool_words(name) == name
