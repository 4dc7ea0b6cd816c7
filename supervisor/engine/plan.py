"""What an attempt is told to do: the planner makes it, the attempt carries it out."""

from __future__ import annotations

from dataclasses import dataclass

from supervisor.core.model import Mode, PromptKind


@dataclass(frozen=True, slots=True)
class Plan:
    """How the next attempt comes to its session, and what it says first."""

    mode: Mode
    session_id: str
    prompt_uuid: str
    kind: PromptKind
    text: str
    resumed_from: str | None = None
    instructions: str = ""
    letters: tuple[str, ...] = ()
    """The operator's messages that the first prompt delivers."""

    @property
    def resume(self) -> bool:
        """Whether the session is opened with ``resume=``; a fork's is on the disk before its first attempt."""
        return self.mode in (Mode.RESUME, Mode.FORK)
