"""What the tests of EffectLog share: another system, and the results they expect."""

from __future__ import annotations

from supervisor.store.effect_log import EffectResult

KEY = "001-rounding:pr-comment"
RAN = EffectResult(True, "done", "comment 9001")
KNOWN = EffectResult(False, "done", "comment 9001")
CLAIMED = EffectResult(False, "claimed", None)


class World:
    """Another system that counts how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def comment(self) -> str:
        self.calls += 1
        return "comment 9001"

    def flaky(self) -> str:
        self.calls += 1
        raise ConnectionError("reset after the request was sent")
