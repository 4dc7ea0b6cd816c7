"""Figures in what the agent's side sends: tokens and costs by model, windows of a subscription, lengths of words.

Like ``untrusted``: no function here ever raises.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from supervisor.core.limits import Window
from supervisor.engine.untrusted import bounded, number

_MOST = 100
"""Most models or windows that are looked at."""


def length(block: Any) -> int:
    """Return how many characters a block of the agent's has: what it says, thinks, or calls a tool with."""
    given = getattr(block, "input", None)
    if isinstance(given, dict):
        return sum(len(value) if isinstance(value, str) else _OTHER_CHARS for value in given.values())
    said = getattr(block, "text", None) or getattr(block, "thinking", None)
    return len(said) if isinstance(said, str) else 0


_OTHER_CHARS = 8
"""About so long is a value of a tool's input that is no text."""


def windows(told: object) -> tuple[Window, ...]:
    """Return the windows of a subscription, by the CLI's ``unifiedWindows`` (2.1.332)."""
    named = islice(told.items(), _MOST) if isinstance(told, dict) else ()
    return tuple(
        Window(
            bounded(name, 100), number(w.get("utilization")), number(w.get("resetsAt")), bounded(w.get("status"), 50)
        )
        for name, w in named
        if isinstance(w, dict)
    )


def of_models(model_usage: object) -> dict[str, dict[str, float]] | None:
    """Return the figures of each model; what is no number is left out, None stands for nothing left."""
    models = islice(model_usage.items(), _MOST) if isinstance(model_usage, dict) else ()
    found = {bounded(name, 200): _numbers(use) for name, use in models if isinstance(use, dict)}
    return found or None


def _numbers(use: dict[Any, Any]) -> dict[str, float]:
    numbers = {bounded(kind, 100): number(value) for kind, value in islice(use.items(), _MOST)}
    return {kind: found for kind, found in numbers.items() if found is not None}
