"""Effects in a rehearsal: never run, only recorded, with the ending their step names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from supervisor.core.effects import EffectState
from supervisor.engine.effects import Verdict
from supervisor.rehearsal.script import owner_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from supervisor.core.effects import EffectRecord
    from supervisor.core.spec import EffectSpec

_RECORDED = "recorded, not run: this is a rehearsal"


class Recorder:
    """Answers instead of the effects of a batch."""

    def __init__(self, scripts: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self._scripts = scripts

    def __call__(self, spec: EffectSpec, held: EffectRecord) -> Verdict:
        """Return the ending of an effect: that of the step which calls it, the n-th step for its n-th run."""
        tool = f"mcp__effects__{spec.name}"
        script = self._scripts.get(owner_of(held.ticket, self._scripts), ())
        steps = [s for s in script if s.get("tool") == tool]
        step = steps[min(held.attempt, len(steps)) - 1] if steps else {}
        state = EffectState(step.get("effect", EffectState.DONE))
        said = step.get("outcome", _RECORDED)
        return Verdict(state, said) if state is EffectState.DONE else Verdict(state, error=said)
