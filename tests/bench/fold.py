"""How fast the SDK's messages become the board: translated, folded into snapshots and transcripts."""

from __future__ import annotations

import time
from typing import Any

from supervisor.core.board import Board
from supervisor.engine.translate import Translator
from tests.bench.figures import Figure
from tests.recorded.load import load

COUNT = 100_000


def rate(count: int) -> tuple[float, float]:
    """Return messages a second, translated and folded, and events a second, folded alone."""
    board, translator = Board(), Translator("001", 1, "s", lambda: 1.0)
    recorded: list[Any] = [m for name in ("success", "resume") for m in load(name).messages()]
    rounds = count // len(recorded)
    events = [event for message in recorded for event in translator.translate(message)]
    began = time.process_time()
    for _ in range(rounds):
        for message in recorded:
            for event in translator.translate(message):
                board.apply(event)
    both = time.process_time() - began
    began = time.process_time()
    for _ in range(rounds):
        for event in events:
            board.apply(event)
    return rounds * len(recorded) / both, rounds * len(events) / (time.process_time() - began)


def figures(count: int = COUNT) -> list[Figure]:
    """Measure, and return the figures."""
    translated, folded = rate(count)
    return [
        Figure("SDK messages to the board, one core", translated, "/s", ">= 50000"),
        Figure("of that, events folded alone", folded, "/s"),
    ]
