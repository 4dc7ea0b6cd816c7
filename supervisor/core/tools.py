"""Names of tools as people read them."""

from __future__ import annotations

EFFECT_PREFIX = "mcp__effects__"
"""Begins the names by which the agent calls the ticket's effects; the operator knows those by their own names."""


def tool_words(name: str) -> str:
    """Return how a tool is told of: ``effect deploy`` for an effect, every other one by its name. Not made safe."""
    effect = name.removeprefix(EFFECT_PREFIX)
    return f"effect {effect}" if effect and effect != name else name
